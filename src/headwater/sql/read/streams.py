"""CREATE STREAM: its options, as the timing and the places of a query."""

from collections.abc import Collection

import msgspec

from headwater.algebra.panes import WindowSpec
from headwater.errors import ConfigurationError
from headwater.plan.part import PARTS_MAX, Part
from headwater.plan.query import TimeKind, Timing
from headwater.plan.timestamps import EXAMPLES, timestamp_us
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices
from headwater.sql.read.statements import NAME_LENGTH_MAX, StreamStatement

STREAM_OPTIONS = {
    "deadline": "a window is answered at the latest so long after its end",
    "disorder": "how much later than its time a record may appear and be on time",
    "lateness": "after which nothing more can come for a pane",
    "revise_every": "how often an answer is revised at most",
    "revise_for": "how long answers are revised",
    "begin": "the first window: earliest, now, or a point in time",
    "time": "what places a record: its timestamp (event), or its age (age)",
    "root": "the site that answers",
    "roots": "several sites that answer, each its part of the groups, with commas between them",
    "sites": "the sites that are asked, with commas between them",
}
BEGIN_KEYWORDS = ("earliest", "now")
INSTALL_SLACK_US = 15_000_000
"""What begins now begins with the first window this much later: it must reach the sites first."""


class Places(msgspec.Struct, frozen=True):
    roots: tuple[str, ...]
    """Who answers; with several of them, each has a part."""
    sites: tuple[str, ...]


def stream_options(statement: StreamStatement, text: str) -> Options:
    return Options(text, statement.options, known=STREAM_OPTIONS, offset=statement.offset)


def read_timing(options: Options) -> Timing:
    """Raises ``QueryRefused``."""
    default = Timing()
    lateness = options.duration_s("lateness", -1.0)
    timing = Timing(
        deadline_s=options.duration_s("deadline", default.deadline_s),
        disorder_s=options.duration_s("disorder", default.disorder_s),
        lateness_s=lateness if lateness >= 0 else None,
        revise_every_s=options.duration_s("revise_every", default.revise_every_s),
        revise_for_s=options.duration_s("revise_for", default.revise_for_s),
    )
    if timing.lateness_s is not None and timing.lateness_s < timing.disorder_s:
        raise options.refused(
            "lateness",
            "lateness is shorter than disorder, so nothing could be late; raise lateness",
        )
    return timing


def read_time(options: Options) -> TimeKind:
    """Raises ``QueryRefused``."""
    word = (options.text("time") or TimeKind.EVENT).strip().lower()
    if word not in set(TimeKind):
        raise options.refused("time", f"wanted 'event' or 'age', got '{word[:60]}'")
    return TimeKind(word)


def read_places(options: Options, *, root: str, known: Collection[str]) -> Places:
    """``known`` are the sites of the roster; empty where there is no roster to check against."""
    places = Places(_roots(options, root), tuple(dict.fromkeys(_listed(options, "sites"))))
    of_roots = "roots" if "roots" in options.names() else "root"
    for option, names in ((of_roots, places.roots), ("sites", places.sites)):
        for name in names:
            if known and name not in known:
                raise options.refused(
                    option, f"no site `{name[:60]}`{choices('sites', known, near=name)}"
                )
    return places


def _roots(options: Options, default: str) -> tuple[str, ...]:
    if "roots" not in options.names():
        return (options.text("root") or default,)
    if "root" in options.names():
        raise options.refused(
            "roots", "wanted `root` or `roots`, got both; write all sites that answer in `roots`"
        )
    roots = _listed(options, "roots")
    twice = next((name for name in roots if roots.count(name) > 1), None)
    if twice is not None:
        raise options.refused(
            "roots",
            f"root `{twice[:60]}` is named twice, and a site answers one part of a stream; name it "
            "once",
        )
    if not 1 <= len(roots) <= PARTS_MAX:
        raise options.refused(
            "roots",
            f"wanted 1 to {PARTS_MAX} sites that answer, got {len(roots)}; "
            "write roots = 'paris, oslo'",
        )
    return tuple(roots)


def _listed(options: Options, name: str) -> list[str]:
    named = options.text(name, "") or ""
    return [one.strip() for one in named.split(",") if one.strip()]


def read_parts(options: Options, stream: str, roots: tuple[str, ...]) -> tuple[Part | None, ...]:
    """The part of each root; None for the only one. Raises ``QueryRefused``."""
    if len(roots) == 1:
        return (None,)
    parts = tuple(Part(stream, number, len(roots)) for number in range(1, len(roots) + 1))
    if len(parts[-1].query_name) > NAME_LENGTH_MAX:
        raise options.refused(
            "roots",
            f"the parts of `{stream}` would be called `{parts[-1].query_name}`, and a name has at "
            f"most {NAME_LENGTH_MAX} signs; give the stream a shorter one",
        )
    return parts


def read_begin_pane(
    options: Options,
    window: WindowSpec,
    *,
    default: str,
    now_us: int,
    slack_us: int = INSTALL_SLACK_US,
) -> int | None:
    """The first pane of the first window; None: from the earliest record on."""
    word = (options.text("begin") or default).strip().lower()
    if word == "earliest":
        return None
    if word == "now":
        begin_us = now_us + slack_us
    elif "begin" in options.names():
        begin_us = options.moment_us("begin")
    else:
        begin_us = _default_us(default)
    return window.panes_of(window.first_window_from(begin_us)).start


def _default_us(default: str) -> int:
    us = timestamp_us(default)
    if us is None:
        raise ConfigurationError(
            f"begin: wanted {' or '.join(BEGIN_KEYWORDS)} or a point in time, got {default!r}; "
            f"write {EXAMPLES}"
        )
    return us
