"""What ``demo --keep`` leaves: agents of this machine that read the demo's logs and answer.

The demo's own sites live in one process and end with it. Two real agents take over what they wrote,
each the logs of two regions, and answer the same questions from the earliest record on; whoever
tries the commands talks to what runs in the field.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from headwater.errors import ConfigurationError
from headwater.local import up
from headwater.local.demo.asked_once import SELECT
from headwater.local.demo.demo import sql_for_all

REGIONS_OF = {"site1": ("europe", "america"), "site2": ("asia", "south")}
"""More agents would be nearer to the demo; each is a JVM, and this may be a laptop."""
QUESTIONS = "demo.sql"
_PATH = "path = 'access-*.log*'"
_WITH = "WITH (deadline"
_LEVELS = re.compile(r",\s*degrade = '[^']*', finally = 'exact'")
"""They can't be had of the past."""


def refuse_taken(directory: Path) -> None:
    """Before the demo begins: what somebody has there is not mixed with it."""
    if directory.exists() and any(directory.iterdir()):
        raise ConfigurationError(
            f"--keep: {directory} is there already; ask what it holds (headwater streams "
            f"--federation {directory}), end and remove it (headwater down {directory}; "
            f"rm -r {directory}), or name another with --into"
        )


def kept_sql() -> str:
    """The demo's questions, over a folder for each of its sites, from the earliest record on."""
    text = sql_for_all()
    assert text.count(_PATH) == 1, "the demo has one source"
    assert text.count(_WITH) == text.count("CREATE STREAM"), "each stream says when it answers"
    text = text.replace(_PATH, "path = '*/access-*.log*'")
    text = _LEVELS.sub("", text)
    return text.replace(_WITH, "WITH (begin = 'earliest', deadline")


def take_over(directory: Path, logs: Path, *, say: Callable[[str], None]) -> None:
    """Lay out agents over the logs and start them; ``logs`` has a folder for each region."""
    up.lay_out(directory, site_count=len(REGIONS_OF))
    for site, regions in REGIONS_OF.items():
        for region in regions:
            for folder in sorted((logs / region).iterdir()):
                shutil.move(folder, directory / site / "data" / folder.name)
    shutil.rmtree(logs)
    (directory / QUESTIONS).write_text(kept_sql(), encoding="utf-8")
    up.start(directory, say=say)


def what_to_ask(directory: Path) -> str:
    return f"""
A federation is left in {directory}: two agents, site1 with the logs of europe
and america, site2 with those of asia and south. They answer the same questions
({directory / QUESTIONS}) from the first record on. Ask it:

  headwater streams
  headwater watch top_domains
  headwater why quality newest
  headwater sites
  headwater ask "{SELECT}" --since 1h
  headwater budget site2 '64 kbit/s'    (what it may send; ends with: none)

End it with    headwater down {directory}
remove it with rm -r {directory}"""
