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
    record_wait_s: float = 1.0
    """Where a record is over when the next one begins: how long its file may stay as it is until
    the last one is taken to be over. A program writes a record and its trace at once."""
    held_files_max: int = 64
    """Handles that stay open between polls."""
    linger_s: float = 60.0
    """How long a file that left its directory is still read, after it last grew."""
    compare_bytes_max: int = 64 * MEBIBYTE
    """Of files that may be copies, what one poll compares with their originals at most."""
    away_s: float = 86_400.0
    """A file that is out of sight for longer (its file system is not mounted, its directory can't
    be listed) is taken for gone: what was seen and not read of it is lost."""
    departed_keep_s: float = 7 * 86_400.0
    """How long a file that is gone is remembered, so that it is not read again if it comes back."""
    departed_files_max: int = 4_096
    """How many of them; the ones gone longest are forgotten first."""

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
    empty: int = 0
    """Of a finite input: files beside those, with nothing in them."""
    cuts: int = 0
    """How many were registered."""
    bytes: int = 0
    is_clean: bool = True
    """The end of the input was reached: all whole lines that were in matching files when they were
    listed are registered, but for what ``refused`` names as left alone. Not so where the last
    record of a file may go on."""
    stalled: str = ""
    """Why nothing more could be spooled: no room, or an error of the disk. Empty: nothing is."""
    lost_bytes: int = 0
    skipped_lines: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    """(path, reason) of what could not be read, or is not followed; the first ones."""
    refused_count: int = 0
    """How many there are of those."""
    copies: int = 0
    """Files that are not read because they are copies of others; ``refused`` names them."""
    told: tuple[tuple[str, str], ...] = ()
    """(path, what was decided about it) in this poll where it could be seen otherwise: a file that
    replaced another, begins like another, has come back, or was there before; the first ones."""
    twice_bytes: int = 0
    """Of what this poll read, that may have been read before, at most."""
    report: BatchReport | None = None
    """For the edge, when nothing waits for Spark: what is read, is counted."""
