"""Record batches from bytes of a peer, with the one door shut that Arrow leaves open.

A record batch may say that its buffers are compressed and how large they are unpacked, and Arrow
reserves that much on the sender's word. Headwater never compresses inside Arrow, so a batch that
claims it is refused by looking at the message's metadata, a FlatBuffer that Arrow has verified by
then: a table's fields are found through its vtable, and an absent field has offset 0.
"""

import struct
from typing import Any

import pyarrow as pa

from headwater.net.refusal import Refusal, Refused

BATCHES_MAX = 64
"""A sender writes one; a few more are accepted, a million tiny ones are an attack."""

ALIGNMENT_BYTES = 8

_HEADER_FIELD = 2
"""``Message.header`` in Arrow's Message.fbs: the RecordBatch table of a record batch message."""
_COMPRESSION_FIELD = 3
"""``RecordBatch.compression``."""


def read_batches(data: bytes | memoryview, schema: Any) -> Any:
    """The table that the encapsulated messages in ``data`` make, validated in full."""
    batches: list[Any] = []
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(data)):
        if message.type != "record batch" or len(batches) == BATCHES_MAX:
            raise Refused(
                Refusal.ROWS_INVALID,
                f"wanted up to {BATCHES_MAX} record batches, got a further {message.type}",
            )
        if _is_compressed(message.metadata.to_pybytes()):
            raise Refused(Refusal.BOMB, "a record batch with buffers compressed inside Arrow")
        batches.append(pa.ipc.read_record_batch(message, schema))
    table = pa.Table.from_batches(batches, schema=schema)
    table.validate(full=True)
    if not all(map(_is_aligned, table.columns)):
        raise Refused(Refusal.ROWS_INVALID, "a record batch with buffers that are not aligned")
    return table


def _is_aligned(column: Any) -> bool:
    """Arrow's kernels count on it and every writer keeps it; only some processors forgive it."""
    buffers = (buffer for chunk in column.chunks for buffer in chunk.buffers())
    return all(buffer is None or buffer.address % ALIGNMENT_BYTES == 0 for buffer in buffers)


def _is_compressed(metadata: bytes) -> bool:
    message = struct.unpack_from("<I", metadata)[0]
    header = _field(metadata, message, _HEADER_FIELD)
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, batch, _COMPRESSION_FIELD) != 0


def _field(metadata: bytes, table: int, slot: int) -> int:
    """Where the field of this slot lies, 0 when the table has none."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    entry = 4 + 2 * slot
    if entry >= struct.unpack_from("<H", metadata, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", metadata, vtable + entry)[0]
    return table + int(offset) if offset else 0
