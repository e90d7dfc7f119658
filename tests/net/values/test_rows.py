"""Rows on the wire: the same table comes back, and nothing else gets in."""

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from headwater.errors import WireError
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.record_batches import read_batches
from headwater.net.values.rows import FINGERPRINT_BYTES, RowsCodec, RowsLimits

QUERY = "hits@alpha#1"
SCHEMA = pa.schema(
    [
        ("domain", pa.string()),
        ("hits", pa.int64()),
        ("mean", pa.float64()),
        ("money", pa.decimal128(20, 2)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("sketch", pa.binary()),
        ("seen", pa.bool_()),
    ]
)


def _table(count: int) -> Any:
    return pa.table(
        {
            "domain": [None if n % 7 == 3 else f"d{n}.exämple" for n in range(count)],
            "hits": [None if n % 5 == 4 else n - 3 for n in range(count)],
            "mean": [n / 3 if n else float("inf") for n in range(count)],
            "money": [Decimal(n) / 4 for n in range(count)],
            "at": list(range(count)),
            "sketch": [bytes([n % 256]) * (n % 9) for n in range(count)],
            "seen": [n % 2 == 0 for n in range(count)],
        },
        schema=SCHEMA,
    )


def _codec(**limits: Any) -> RowsCodec:
    return RowsCodec({QUERY: SCHEMA}.get, RowsLimits(**limits))


def _reason(data: bytes, **limits: Any) -> Refusal:
    with pytest.raises(Refused) as refused:
        _codec(**limits).decode(QUERY, data)
    return refused.value.reason


def _packed(stream: bytes) -> bytes:
    """Any bytes under the right fingerprint."""
    fingerprint = _codec().encode(QUERY, _table(1))[:FINGERPRINT_BYTES]
    return fingerprint + zstandard.compress(stream)


def _stream(table: Any, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())[table.schema.serialize().size :]


@pytest.mark.parametrize("count", [0, 1, 10, 5000])
def test_a_table_comes_back_equal(count: int) -> None:
    codec = _codec()
    came = codec.decode(QUERY, codec.encode(QUERY, _table(count)))
    assert came.equals(_table(count))
    assert came.schema.equals(SCHEMA)


def test_a_slice_and_a_table_of_many_chunks_come_back_equal() -> None:
    codec = _codec()
    sliced = _table(100).slice(13, 50)
    chunked = pa.concat_tables([_table(10), _table(0), _table(20)])
    assert codec.decode(QUERY, codec.encode(QUERY, sliced)).equals(sliced)
    assert codec.decode(QUERY, codec.encode(QUERY, chunked)).equals(chunked)


def test_ten_keys_cost_few_bytes_because_the_schema_stays_at_home() -> None:
    schema = pa.schema([("domain", pa.string()), ("hits", pa.int64())])
    codec = RowsCodec(lambda query: schema)
    table = pa.table({"domain": [f"d{n}" for n in range(10)], "hits": range(10)}, schema=schema)
    with_schema = zstandard.compress(bytes(schema.serialize()) + _stream(table))
    assert len(codec.encode(QUERY, table)) < 0.75 * len(with_schema)


def test_rows_of_an_unknown_query_stay_bytes_both_ways() -> None:
    data = _codec().encode(QUERY, _table(5))
    relay = RowsCodec(lambda query: None)
    assert relay.decode(QUERY, data) == data
    assert relay.encode(QUERY, data) == data
    assert _codec().decode(QUERY, data).equals(_table(5))


def test_a_table_of_another_schema_is_our_own_mistake_and_says_so() -> None:
    with pytest.raises(WireError, match="wanted"):
        _codec().encode(QUERY, pa.table({"domain": ["a"]}))


def test_rows_of_another_schema_are_refused_before_any_decoder() -> None:
    other = pa.schema([("domain", pa.string()), ("hits", pa.float64())])
    table = pa.table({"domain": ["a"], "hits": [1.0]}, schema=other)
    data = RowsCodec(lambda query: other).encode(QUERY, table)
    assert _reason(data) is Refusal.SCHEMA


def test_a_type_that_only_looks_alike_is_another_schema() -> None:
    """Naive and zoned timestamps have the same bytes and another meaning."""
    naive = pa.schema([("at", pa.timestamp("us"))])
    zoned = pa.schema([("at", pa.timestamp("us", tz="UTC"))])
    data = RowsCodec(lambda query: naive).encode(QUERY, pa.table({"at": [1]}, schema=naive))
    with pytest.raises(Refused, match="wrong schema"):
        RowsCodec(lambda query: zoned).decode(QUERY, data)


def test_a_frame_that_would_unpack_too_large_is_refused_unpacked() -> None:
    assert _reason(_packed(bytes(2_000_000)), unpacked_bytes_max=1_000_000) is Refusal.BOMB


def test_a_frame_that_does_not_say_its_size_is_refused() -> None:
    fingerprint = _packed(b"")[:FINGERPRINT_BYTES]
    packer = zstandard.ZstdCompressor(write_content_size=False)
    assert _reason(fingerprint + packer.compress(b"x" * 100)) is Refusal.BOMB


def test_a_batch_that_is_compressed_inside_arrow_is_refused_unread() -> None:
    assert _reason(_packed(_stream(_table(1000), compression="zstd"))) is Refusal.BOMB
    assert _reason(_packed(_stream(_table(1000), compression="lz4"))) is Refusal.BOMB


def test_a_second_zstd_frame_behind_the_first_is_refused() -> None:
    data = _codec().encode(QUERY, _table(3))
    assert _reason(data + zstandard.compress(b"more")) is Refusal.COMPRESSION


def test_more_rows_than_allowed_are_refused() -> None:
    data = _codec().encode(QUERY, _table(101))
    assert _reason(data, rows_max=100) is Refusal.ROWS_TOO_MANY


def test_more_rows_than_a_receiver_would_take_are_not_sent() -> None:
    with pytest.raises(WireError, match="at most 100 rows"):
        _codec(rows_max=100).encode(QUERY, _table(101))
    with pytest.raises(WireError, match="1000 bytes"):
        _codec(unpacked_bytes_max=1000).encode(QUERY, _table(101))


def test_buffers_that_are_not_aligned_are_refused() -> None:
    shifted = memoryview(b"\0" + _stream(_table(20)))[1:]
    with pytest.raises(Refused, match="not aligned"):
        read_batches(shifted, SCHEMA)
    assert read_batches(_stream(_table(20)), SCHEMA).equals(_table(20))


def test_many_tiny_batches_are_refused() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for _ in range(100):
            writer.write_table(_table(1))
    stream = bytes(sink.getvalue())[SCHEMA.serialize().size :]
    assert _reason(_packed(stream)) is Refusal.ROWS_INVALID


def _broken_utf8() -> bytes:
    stream = bytearray(_stream(_table(20)))
    stream[stream.index("ä".encode())] = 0xFF
    return bytes(stream)


def _wild_offsets() -> bytes:
    """Arrow writes and reads such a string column without complaint; looking at it crashes."""
    offsets = struct.pack("<3i", 0, 1 << 30, 3)
    wild = pa.Array.from_buffers(pa.string(), 2, [None, *map(pa.py_buffer, (offsets, b"abc"))])
    columns = [wild, *_table(2).combine_chunks().columns[1:]]
    return _stream(pa.table(columns, schema=SCHEMA))


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(_broken_utf8, id="text that is not text"),
        pytest.param(_wild_offsets, id="offsets beyond the data"),
        pytest.param(lambda: _stream(_table(20))[:500], id="cut short"),
        pytest.param(lambda: bytes(SCHEMA.serialize()) + _stream(_table(1)), id="a schema inside"),
        pytest.param(lambda: b"\xff\xff\xff\xff\x10\0\0\0" + bytes(range(64)), id="garbage"),
    ],
)
def test_rows_that_would_harm_whoever_looks_at_them_are_refused(
    stream: Callable[[], bytes],
) -> None:
    assert _reason(_packed(stream())) is Refusal.ROWS_INVALID
