"""Which federation a command means, when it is not told.

In this order: the option, the environment, the working directory if it holds a federation, and the
one that ``headwater up`` brought up last, which is remembered in a file of the user's. Others that
were brought up are remembered too: where the last one is gone, those that run are named.
"""

from __future__ import annotations

import os
from pathlib import Path

from headwater.errors import ConfigurationError, HeadwaterError, Unreachable
from headwater.local.federation_files import ROSTER, ROSTER_TEXT

VARIABLE = "HEADWATER_FEDERATION"
REMEMBERED_MAX = 20
"""Federations that were brought up, to name those that run."""


def federation(given: Path | None) -> Path:
    """The directory with the federation's roster and certificates."""
    named = _named(given)
    if named is not None:
        return named
    last = next(iter(_remembered()), None)
    if last is None:
        raise ConfigurationError(
            "no federation: give --federation DIR, set HEADWATER_FEDERATION, work in its "
            "directory, or start one with: headwater up DIR"
        )
    if not _is_federation(last):
        raise ConfigurationError(
            f"no federation was named, and the one last brought up, {last}, is gone. {_running()}"
        )
    return last


def _named(given: Path | None) -> Path | None:
    """Told in some way; None: not at all."""
    if given is not None:
        return _checked(given, "as given")
    if VARIABLE in os.environ:
        return _checked(Path(os.environ[VARIABLE]), f"from {VARIABLE}")
    return Path.cwd() if _is_federation(Path()) else None


def unreachable(given: Path | None, error: Unreachable) -> HeadwaterError:
    """What to say where no agent answers: most often none of the federation runs."""
    from headwater.local.local_processes import CONFIGURATION, running

    named = _named(given)
    directory = named or federation(given)
    is_local = any(directory.glob(f"*/{CONFIGURATION}"))
    if not is_local or running(directory).pids:
        return error
    if named is not None:
        return Unreachable(
            f"{directory}: none of its agents runs here; start them with: headwater up {directory}"
        )
    return Unreachable(
        f"no federation was named, and of the one last brought up, {directory}, no agent runs; "
        f"start it with: headwater up {directory}. {_running()}"
    )


def _running() -> str:
    """Those that were brought up here and run, in a sentence."""
    from headwater.local.local_processes import running

    found = [one for one in _remembered() if _is_federation(one) and running(one).pids]
    if not found:
        return "No other that was brought up here runs; start one with: headwater up DIR"
    names = ", ".join(str(one) for one in found)
    return f"Running here: {names}; name one with --federation DIR"


def remember(directory: Path) -> None:
    """``directory`` is the one that is meant from now on; a home that can't be written is fine."""
    latest = directory.resolve()
    others = [one for one in _remembered() if one != latest]
    try:
        _memory().parent.mkdir(parents=True, exist_ok=True)
        lines = [latest, *others][:REMEMBERED_MAX]
        _memory().write_text("".join(f"{one}\n" for one in lines))
    except OSError:
        return


def _remembered() -> list[Path]:
    """Those that were brought up, the last one first."""
    try:
        return [Path(line) for line in _memory().read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        return []


def _memory() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "headwater" / "federation"


def _is_federation(directory: Path) -> bool:
    """Also one whose roster is not signed yet: whoever reads it says what to do."""
    return any((directory / name).is_file() for name in (ROSTER, ROSTER_TEXT))


def _checked(directory: Path, origin: str) -> Path:
    if not _is_federation(directory):
        raise ConfigurationError(
            f"{directory} ({origin}): no {ROSTER} there, so it is not a federation; name another "
            f"directory, or make it one with: headwater up {directory}"
        )
    return directory
