"""The proof that a summary is one site's own update of a pane, carried beside it.

What was merged on the way is its carriers' word. What was not is its site's: the site signs the
query, the panes, the coverage (which names incarnation, updates and close) and a digest of the rows
as they travel. The word itself stands in the summary already, so it does not travel twice; only the
rows do not come out of a decoder and an encoder as the bytes that went in, whatever library writes
them. So whoever hands an update on unmerged hands on these bytes, and need not encode them anew.
"""

from __future__ import annotations

import msgspec


class UpdateProof(msgspec.Struct, frozen=True):
    """Of a summary with one site in it; merging drops it."""

    signature: bytes
    key: bytes
    """Which key: a few bytes that stand for the signer's certificate."""
    pane: int
    more: int
    """The panes that it was signed for. Of a state that was split on the way the summary stands for
    some of them, and the site has said the same of each."""
    packed: bytes | None = None
    """The rows as they travel; None: there are none."""

    def holds_for(self, pane: int, last: int) -> bool:
        """Whether the site has said it of these panes."""
        return self.pane <= pane <= last <= self.pane + self.more

    @property
    def size_bytes(self) -> int:
        return 0 if self.packed is None else len(self.packed)
