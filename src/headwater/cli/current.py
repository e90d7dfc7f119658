"""Which federation a command means, when it is not told.

In this order: the option, the environment, the working directory if it holds a federation, and the
one that ``headwater up`` brought up last, which is remembered in a file of the user's.
"""

from __future__ import annotations

import os
from pathlib import Path

from headwater.errors import ConfigurationError

VARIABLE = "HEADWATER_FEDERATION"
ROSTER = "roster.signed"
ROSTER_TEXT = "roster.toml"


def federation(given: Path | None) -> Path:
    """The directory with the federation's roster and certificates."""
    if given is not None:
        return _checked(given, "as given")
    if VARIABLE in os.environ:
        return _checked(Path(os.environ[VARIABLE]), f"from {VARIABLE}")
    if _is_federation(Path()):
        return Path.cwd()
    try:
        return _checked(Path(_memory().read_text().strip()), f"from {_memory()}")
    except OSError:
        raise ConfigurationError(
            "no federation: give --federation DIR, set HEADWATER_FEDERATION, work in its "
            "directory, or start one with: headwater up DIR"
        ) from None


def remember(directory: Path) -> None:
    """``directory`` is the one that is meant from now on; a home that can't be written is fine."""
    try:
        _memory().parent.mkdir(parents=True, exist_ok=True)
        _memory().write_text(f"{directory.resolve()}\n")
    except OSError:
        return


def _memory() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "headwater" / "federation"


def _is_federation(directory: Path) -> bool:
    """Also one whose roster is not signed yet: whoever reads it says what to do."""
    return any((directory / name).is_file() for name in (ROSTER, ROSTER_TEXT))


def _checked(directory: Path, origin: str) -> Path:
    if not _is_federation(directory):
        raise ConfigurationError(f"{directory} ({origin}): no {ROSTER} there; not a federation")
    return directory
