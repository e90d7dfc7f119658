"""What rows take on the wire: as an Arrow record batch, compressed as frames are.

Whoever decides what fits needs this, and not what they take in memory: of keys that are alike a
tenth may be left. It costs what compressing once costs, so it is asked only where somebody goes by
it.
"""

from __future__ import annotations

import pyarrow as pa

LEVEL = 1
"""Of zstd: sizes are within some percent of those of higher ones, at a part of the work."""


def packed_size(rows: pa.Table) -> int:
    """In bytes; beside it go what a summary says of itself, signatures and headers."""
    codec = pa.Codec("zstd", compression_level=LEVEL)
    packed = (
        codec.compress(batch.serialize(), asbytes=False).size
        for batch in rows.combine_chunks().to_batches()
        if batch.num_rows
    )
    return sum(packed)
