"""A cut's bytes as a file, before it has a number."""

from __future__ import annotations

import msgspec


class NewCut(msgspec.Struct, frozen=True):
    """Bytes that are safe and shall be numbered."""

    origin: str
    first_byte: int
    end_byte: int
    chunk: str
    """A name in the spool, or an absolute path that is not ours to remove."""
    bytes: int
    spooled_bytes: int
    """What it takes of the spool's bound; 0 for a link or a path."""
    is_doubtful: bool = False
    header: str = ""
    """See ``Chunk``, as of ``is_doubtful``."""

    def row(self, poll_s: float) -> tuple[object, ...]:
        """What the manifest keeps of it, but for its number."""
        extent = (self.origin, self.first_byte, self.end_byte)
        spooled = (self.chunk, self.bytes, self.spooled_bytes, self.is_doubtful)
        return (*extent, poll_s, *spooled, self.header)
