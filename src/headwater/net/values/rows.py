"""Rows on the wire: an Arrow IPC stream without schema and end mark, in one zstd frame.

::

    u64 fingerprint of the schema | zstd frame of the record batches

Both ends know the query's schema, so it does not travel; with ten keys it would be more than a
quarter of the bytes. The fingerprint makes "the same schema" a comparison of eight bytes that
comes before any decoder, and the receiver reads the batches with its own schema.

Buffers are not compressed inside Arrow but once as a whole, so that there is one place at which a
decompression bomb is stopped. In bytes that is half for ten keys, a sixth more for a thousand, the
same for a hundred thousand (``benchmarks/wire.py``). Arrow reads malformed input without complaint
and may crash later, so every table goes through ``validate(full=True)`` before anyone touches it.
"""

import hashlib
import struct
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa
import zstandard

from headwater.errors import WireError
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.record_batches import read_batches

ZSTD_LEVEL = 1
FINGERPRINT_BYTES = 8
SCHEMAS_KEPT_MAX = 1024

_ARROW_REFUSES = (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, struct.error)

SchemaOf = Callable[[str], Any]
"""The Arrow schema of a query's summaries, or None while the query is not known here."""
TakerOf = Callable[[str], Callable[[Any], Any] | None]
"""What takes in rows of a query, and raises ``ValueError`` for a state that is unsound; None: they
are taken as they are."""


class RowsLimits(msgspec.Struct, frozen=True):
    """What one summary may unpack to. A site's update is cut far below; merges on the way grow."""

    unpacked_bytes_max: int = 64 * 1024 * 1024
    rows_max: int = 2_000_000
    window_bytes_max: int = 8 * 1024 * 1024
    """The memory that a zstd frame may make its reader reserve beside the output."""


DEFAULT_ROWS_LIMITS = RowsLimits()


class RowsCodec:
    """Tables to bytes and back, for the queries that ``schema_of`` knows."""

    def __init__(
        self,
        schema_of: SchemaOf,
        limits: RowsLimits = DEFAULT_ROWS_LIMITS,
        *,
        taker_of: TakerOf = lambda query: None,
    ) -> None:
        self._schema_of = schema_of
        self._taker_of = taker_of
        self._limits = limits
        self._known: dict[str, _WireSchema] = {}
        self._compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=limits.window_bytes_max)

    def knows(self, query: str) -> bool:
        return self._schema(query) is not None

    def encode(self, query: str, rows: Any) -> bytes:
        """A table of the query's schema as bytes; rows that are still bytes go on as they are.

        Raises ``WireError`` for what every receiver would refuse.
        """
        if isinstance(rows, bytes):
            return rows
        wire = self._schema(query)
        if wire is None or not rows.schema.equals(wire.schema):
            wanted = "a query that is installed here" if wire is None else str(wire.schema)
            raise WireError(f"rows of {query}: wanted {wanted}, got a table with {rows.schema}")
        # As encapsulated messages: normally one.
        found = rows.combine_chunks().to_batches()
        batches = b"".join(memoryview(batch.serialize()) for batch in found)
        if len(batches) > self._limits.unpacked_bytes_max or rows.num_rows > self._limits.rows_max:
            raise WireError(
                f"rows of {query}: wanted at most {self._limits.rows_max} rows and "
                f"{self._limits.unpacked_bytes_max} bytes, got {rows.num_rows} and {len(batches)}"
            )
        return wire.fingerprint + self._compressor.compress(batches)

    def decode(self, query: str, data: bytes) -> Any:
        """The table, checked in full; the bytes themselves while the query is not known."""
        wire = self._schema(query)
        if wire is None:
            return data
        if data[:FINGERPRINT_BYTES] != wire.fingerprint:
            raise Refused(Refusal.SCHEMA, f"rows of {query}: wanted {wire.text[:300]}")
        batches = unpack(
            data[FINGERPRINT_BYTES:], self._decompressor, self._limits.unpacked_bytes_max
        )
        return self._checked(query, wire, batches)

    def _checked(self, query: str, wire: "_WireSchema", batches: bytes) -> Any:
        try:
            table = read_batches(batches, wire.schema)
        except _ARROW_REFUSES as error:
            raise Refused(Refusal.ROWS_INVALID, f"rows of {query}: {str(error)[:200]}") from None
        if table.num_rows > self._limits.rows_max:
            raise Refused(
                Refusal.ROWS_TOO_MANY,
                f"rows of {query}: wanted at most {self._limits.rows_max}, got {table.num_rows}",
            )
        take = self._taker_of(query)
        try:
            return table if take is None else take(table)
        except ValueError as error:
            raise Refused(Refusal.ROWS_INVALID, f"rows of {query}: {str(error)[:200]}") from None

    def _schema(self, query: str) -> "_WireSchema | None":
        schema = self._schema_of(query)
        if schema is None:
            return None
        known = self._known.get(query)
        if known is None or known.schema is not schema:
            if len(self._known) >= SCHEMAS_KEPT_MAX:
                self._known.clear()
            known = self._known[query] = _WireSchema(schema)
        return known


def unpack(data: bytes, decompressor: zstandard.ZstdDecompressor, bytes_max: int) -> bytes:
    """One zstd frame that says its size, within the limit, and nothing behind it.

    The library ignores ``max_output_size`` where the frame's header states a size, so the header
    is read first and believed only as an upper bound.
    """
    try:
        size_bytes = zstandard.get_frame_parameters(data).content_size
        if size_bytes > bytes_max:
            raise Refused(Refusal.BOMB, f"wanted at most {bytes_max} bytes, got {size_bytes}")
        unpacked: bytes = decompressor.decompress(
            data, max_output_size=size_bytes, allow_extra_data=False
        )
    except zstandard.ZstdError as error:
        raise Refused(Refusal.COMPRESSION, str(error)[:200]) from None
    return unpacked


class _WireSchema:
    """A schema and its fingerprint; the schema itself stays at home."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.text = ", ".join(
            f"{field.name} {field.type}{'' if field.nullable else ' not null'}" for field in schema
        )
        digest = hashlib.blake2b(self.text.encode(), digest_size=FINGERPRINT_BYTES)
        self.fingerprint = digest.digest()
