"""One file of a source's past: how much of it is the past's, and how much of that was read."""

from __future__ import annotations

import msgspec

from headwater.store.follow.followed_file import Followed
from headwater.store.recognise.identity import Print

UNMEASURED = -1


class PastFile(msgspec.Struct, frozen=True):
    """A row of the manifest."""

    file: Followed
    """As it is read for the past: its print says how far. ``held``: a link of ours leads to it."""
    through: int
    """Bytes before this offset are the past's, all others the live reading's; ``UNMEASURED``: all
    that a compressed file holds, which nobody has counted yet."""
    is_torn: bool = False
    """The offset lies within a line. The live reading steps over the rest of that line, so it is
    the past's, too."""
    proof: Print | None = None
    """What the live reading knew the file by; None: it never read it."""

    @property
    def id(self) -> int:
        return self.file.id

    @property
    def is_read(self) -> bool:
        return not self.is_torn and self.file.position == self.through

    @property
    def bytes_left(self) -> int:
        """Of one that is unmeasured, what it takes on the disk."""
        if self.through == UNMEASURED:
            return self.file.packed_size
        return self.through - self.file.position

    def read_on(self, file: Followed) -> PastFile:
        return msgspec.structs.replace(self, file=file)

    def ending_at(self, through: int) -> PastFile:
        return msgspec.structs.replace(self, through=through, is_torn=False)
