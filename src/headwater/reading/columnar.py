"""Files that have columns of their own, Parquet, ORC and Avro: whether they are whole, and alike.

Such a file is read as a whole or not at all: what its columns are stands at its end, or at its
beginning with a mark that also ends it. Files of one batch must have the same columns in the same
types, or Spark takes those of one of them for all; so a file is known by what its schema says.
"""

from __future__ import annotations

import hashlib
import io

import msgspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from headwater.reading.expand import Damaged, Incomplete, ReadAt

COLUMNAR = ("parquet", "orc", "avro")
SCHEMA_MARK = "schema:"
"""What a chunk has in the place of a header."""
NOT_WHOLE = "has no end: it is still being written, or was cut off"
AVRO_HEADER_BYTES_MAX = 4 << 20
_AVRO_MAGIC = b"Obj\x01"
SYNC_BYTES = 16


def schema_of(read_at: ReadAt, size: int, kind: str) -> str:
    """The same text for files with the same columns. Raises ``Incomplete`` and ``Damaged``, and
    what reading the file raises."""
    try:
        schema = _avro(read_at, size) if kind == "avro" else _arrow(read_at, size, kind)
    except (pa.ArrowException, OSError, IndexError) as error:
        if isinstance(error, Incomplete | Damaged) or (isinstance(error, OSError) and error.errno):
            raise
        if not _ends_well(read_at, size, kind):
            raise Incomplete(0, NOT_WHOLE) from error
        raise Damaged(0, f"can't be read as {kind}: {error}") from error
    return f"{SCHEMA_MARK}{kind}:{hashlib.blake2b(schema, digest_size=16).hexdigest()}"


def _arrow(read_at: ReadAt, size: int, kind: str) -> bytes:
    file = pa.PythonFile(_Seekable(read_at, size), mode="r")
    found = pq.ParquetFile(file).schema_arrow if kind == "parquet" else orc.ORCFile(file).schema
    return str(found.remove_metadata()).encode()


def _ends_well(read_at: ReadAt, size: int, kind: str) -> bool:
    """Whether what stands at its end is what does in a whole one."""
    tail = read_at(min(size, 8), max(0, size - 8))
    return tail[-4:] in (b"PAR1", b"PARE") if kind == "parquet" else b"ORC" in tail


def _avro(read_at: ReadAt, size: int) -> bytes:
    """Blocks end with the mark that the header ends with; the header has a map with the schema."""
    head = read_at(min(size, AVRO_HEADER_BYTES_MAX), 0)
    if not head.startswith(_AVRO_MAGIC[: len(head)]):
        raise Damaged(0, "can't be read as avro: it does not begin like one")
    try:
        facts, at = avro_facts(head)
    except IndexError:
        raise Incomplete(0, NOT_WHOLE) from None
    schema = facts.get(b"avro.schema", b"")
    if not _is_record(schema):
        raise Damaged(0, "can't be read as avro: wanted a schema of records")
    mark = head[at : at + SYNC_BYTES]
    if len(mark) < SYNC_BYTES or read_at(SYNC_BYTES, size - SYNC_BYTES) != mark:
        raise Incomplete(0, NOT_WHOLE)
    return schema


def avro_facts(head: bytes) -> tuple[dict[bytes, bytes], int]:
    """What the header of a file says of it, by name, and where the header's mark begins. Raises
    ``IndexError`` where the header goes on beyond these bytes."""
    at, facts = len(_AVRO_MAGIC), dict[bytes, bytes]()
    while count := avro_long(head, at)[0]:
        at = avro_long(head, at)[1]
        at = at if count > 0 else avro_long(head, at)[1]
        for _ in range(abs(count)):
            key, at = avro_bytes(head, at)
            facts[key], at = avro_bytes(head, at)
    return facts, avro_long(head, at)[1]


def _is_record(schema: bytes) -> bool:
    try:
        found = msgspec.json.decode(schema)
    except msgspec.DecodeError:
        return False
    return isinstance(found, dict) and found.get("type") == "record"


def avro_long(data: bytes, at: int) -> tuple[int, int]:
    """Avro's own: seven bits in each byte, the sign in the lowest."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return (value >> 1) ^ -(value & 1), at


def avro_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    """With their number before them. Raises ``IndexError`` where there are not so many."""
    count, at = avro_long(data, at)
    if count < 0 or at + count > len(data):
        raise IndexError
    return data[at : at + count], at + count


class _Seekable(io.RawIOBase):
    """A file for pyarrow."""

    def __init__(self, read_at: ReadAt, size: int) -> None:
        self._read_at = read_at
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._read_at(len(buffer), self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
