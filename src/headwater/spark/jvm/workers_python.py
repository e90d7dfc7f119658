"""Whether the Python that Spark starts for its workers can do what a data source in Python needs.

Spark starts ``python3`` from the path unless ``PYSPARK_PYTHON`` says otherwise. Whoever calls the
Python of an environment by its path, without activating it, gets the system's for the workers, and
a traceback of many lines about a module that is not there.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

PROBE = "import sys, pyarrow; print('%d.%d' % sys.version_info[:2])"
PROBE_S_MAX = 30.0


def objection_to(python: str) -> str | None:
    """Why workers that are started with this Python fail, and what to do; None: they do not."""
    found = shutil.which(python)
    if found == sys.executable:
        return None
    why = f"{python!r} is not there" if found is None else _probed(found)
    if why is None:
        return None
    return (
        f"headwater: Spark starts its Python workers with {found or python}, and {why}; activate "
        f"the environment that this program runs in, or set PYSPARK_PYTHON={sys.executable} before "
        "Spark starts"
    )


def _probed(python: str) -> str | None:
    """What is wrong with it, as the end of a sentence."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"that can't be run ({error})"
    if done.returncode:
        return "that has no pyarrow"
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if done.stdout.strip() != ours:
        return f"that is Python {done.stdout.strip()[:20]}, while this program runs in {ours}"
    return None
