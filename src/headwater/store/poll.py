"""What a poll finds, and the tuning of polls."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from headwater.edge.report import BatchReport
from headwater.errors import ConfigurationError

MEBIBYTE = 1 << 20
REFUSED_SHOWN_MAX = 100


class Start(StrEnum):
    """Where the files are begun that are there when a source is followed for the first time."""

    BEGINNING = "beginning"
    END = "end"


class FollowConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checked when made."""

    cut_bytes_max: int = 8 * MEBIBYTE
    """A chunk is not larger, so that a batch can be bounded and a bad chunk costs little."""
    line_bytes_max: int = MEBIBYTE
    """A longer line is stepped over and counted as unparsed."""
    poll_bytes_max: int = 256 * MEBIBYTE
    """What one poll spools at most; the next one goes on."""
    held_files_max: int = 64
    """Handles that stay open between polls."""
    linger_s: float = 60.0
    """How long a file that left its directory is still read, after it last grew."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"follow: wanted {name} > 0, got {getattr(self, name)}")
        if self.cut_bytes_max <= self.line_bytes_max:
            raise ConfigurationError(
                f"follow: wanted cut_bytes_max > line_bytes_max ({self.line_bytes_max}), so that "
                f"a line fits a cut; got {self.cut_bytes_max}"
            )


class Poll(msgspec.Struct, frozen=True):
    """One look at a source."""

    started_s: float
    files: int
    """How many are followed."""
    cuts: int = 0
    """How many were registered."""
    bytes: int = 0
    is_clean: bool = True
    """The end of the input was reached: all whole lines that were there are registered."""
    stalled: str = ""
    """Why nothing more could be spooled: no room, or an error of the disk. Empty: nothing is."""
    pending_bytes: int = 0
    """Of last lines that are not finished."""
    lost_bytes: int = 0
    skipped_lines: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    """(path, reason) of what could not be read, or is not followed; the first ones."""
    report: BatchReport | None = None
    """For the edge, when nothing waits for Spark: what is read, is counted."""
