"""Published answers read back through Spark: the same windows, revision by revision.

publication  1        2          3          4        5
window 0     a=1 b=2  a=1 b=3    (no rows)           a=9
window 1              c=5                   c=5 *

* the same rows; the revision says that the answer is now exact.
"""

from __future__ import annotations

import datetime
import decimal
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from headwater.plan.part import Part
from headwater.root.said.envelope import Envelope, Trigger
from headwater.spark.results.results_layout import ResultsUnreadable, StreamDirectory
from headwater.spark.results.results_source import HeadwaterResults, register
from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MINUTE_US = 60_000_000
PAGES = pa.schema([("page", pa.string()), ("n", pa.int64())])


def answer(
    window: int, revision: int, rows: pa.Table | None, *, is_exact: bool = False
) -> Published:
    start_us = window * MINUTE_US
    return Published(
        Envelope(
            stream="hits",
            query="hits@home#1",
            window=window,
            start_us=start_us,
            end_us=start_us + MINUTE_US,
            revision=revision,
            roster_version=1,
            expected=3,
            covered=3 if is_exact else 2,
            missing=(),
            missing_count=0 if is_exact else 1,
            exact=is_exact,
            final=False,
            staleness_s=1.0,
            answered_at_s=100.0,
            trigger=Trigger.REVISION if revision > 1 else Trigger.DEADLINE,
        ),
        rows,
    )


def pages(*rows: tuple[str, int]) -> pa.Table:
    return pa.Table.from_pylist([{"page": page, "n": n} for page, n in rows], schema=PAGES)


def publish_the_first_three(results: Path) -> ResultsWriter:
    writer = ResultsWriter(results / "hits")
    writer.publish([answer(0, 1, pages(("a", 1), ("b", 2)))])
    writer.publish([answer(0, 2, pages(("a", 1), ("b", 3))), answer(1, 1, pages(("c", 5)))])
    writer.publish([answer(0, 3, None)])
    return writer


def publish_the_rest(writer: ResultsWriter) -> ResultsWriter:
    writer.publish([answer(1, 2, pages(("c", 5)), is_exact=True)])
    writer.publish([answer(0, 4, pages(("a", 9)))])
    return writer


CHANGES = [
    (1, "insert", 0, "a", 1),
    (1, "insert", 0, "b", 2),
    (2, "delete", 0, "b", 2),
    (2, "insert", 0, "b", 3),
    (2, "insert", 1, "c", 5),
    (3, "delete", 0, "a", 1),
    (3, "delete", 0, "b", 3),
    (5, "insert", 0, "a", 9),
]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    path.mkdir()
    return path


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark's workers have to be this Python, which has pyarrow, not the first on the path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark.sparkContext, "pythonExec", sys.executable)
        register(spark)
        yield spark


def load(session: SparkSession, results: Path, mode: str, *, stream: str = "hits") -> DataFrame:
    reader = session.read.format("headwater").option("stream", stream).option("mode", mode)
    return reader.load(str(results))


def window_of(row: Any) -> int:
    return round(row.window_start.timestamp() * 1_000_000) // MINUTE_US


def changes_of(frame: DataFrame) -> list[tuple[int, str, int, str, int]]:
    rows = frame.collect()
    return sorted((r.publication, r.change, window_of(r), r.page, r.n) for r in rows)


@pytest.mark.spark
def test_snapshots_are_every_revision_as_published(session: SparkSession, results: Path) -> None:
    publish_the_rest(publish_the_first_three(results))
    frame = load(session, results, "snapshots")
    assert frame.columns == [
        *("window_start", "window_end", "revision", "exact", "final", "expected", "covered"),
        *("page", "n"),
    ]
    found = sorted(
        (window_of(r), r.revision, r.exact, r.covered, r.page, r.n) for r in frame.collect()
    )
    assert found == [
        (0, 1, False, 2, "a", 1),
        (0, 1, False, 2, "b", 2),
        (0, 2, False, 2, "a", 1),
        (0, 2, False, 2, "b", 3),
        (0, 4, False, 2, "a", 9),
        (1, 1, False, 2, "c", 5),
        (1, 2, True, 3, "c", 5),
    ]


@pytest.mark.spark
def test_newest_is_the_default_and_leaves_out_what_was_replaced(
    session: SparkSession, results: Path
) -> None:
    writer = publish_the_first_three(results)
    frame = session.read.format("headwater").option("stream", "hits").load(f"file:{results}")
    assert [(r.page, r.revision) for r in frame.collect()] == [("c", 1)], "window 0 is empty now"
    publish_the_rest(writer)
    newest = load(session, results, "newest").collect()
    assert sorted((r.page, r.n, r.revision) for r in newest) == [("a", 9, 4), ("c", 5, 2)]


@pytest.mark.spark
def test_changes_take_back_what_is_gone_and_add_what_is_new(
    session: SparkSession, results: Path
) -> None:
    publish_the_rest(publish_the_first_three(results))
    frame = load(session, results, "changes")
    assert changes_of(frame) == CHANGES
    revisions = {(r.publication, r.revision) for r in frame.collect() if window_of(r) == 0}
    assert revisions == {(1, 1), (2, 2), (3, 3), (5, 4)}, "deletes name the revision that deleted"
    named = {(r.revision, r.revises, r.form) for r in frame.collect() if window_of(r) == 0}
    first, *later = sorted(named, key=lambda one: one[0])
    assert first == (1, None, "replacement")
    assert later == [(n, n - 1, "delta") for n in (2, 3, 4)], "and the one that is changed"


@pytest.mark.spark
def test_headers_tell_of_windows_without_rows(session: SparkSession, results: Path) -> None:
    ResultsWriter(results / "hits").publish([answer(0, 1, None), answer(1, 1, pages(("c", 5)))])
    frame = load(session, results, "headers")
    found = frame.select("seq", "window", "rows", "missing_sites").orderBy("window").collect()
    assert [tuple(row) for row in found] == [(1, 0, 0, []), (1, 1, 1, [])]
    assert '"trigger":"deadline"' in frame.first().envelope


@pytest.mark.spark
def test_a_stream_that_is_restarted_sees_each_publication_once(
    session: SparkSession, results: Path, tmp_path: Path
) -> None:
    writer = publish_the_first_three(results)
    assert run_stream(session, results, tmp_path) == [(7, {"publication": 3})]
    publish_the_rest(writer)
    assert run_stream(session, results, tmp_path) == [(1, {"publication": 5})]
    assert changes_of(session.read.parquet(str(tmp_path / "out"))) == CHANGES


def run_stream(
    session: SparkSession, results: Path, tmp_path: Path
) -> list[tuple[int, dict[str, int]]]:
    """All that is available, into parquet; returns the rows and the end of each batch."""
    reader = session.readStream.format("headwater").option("stream", "hits")
    frame = reader.option("mode", "changes").load(str(results))
    writer = frame.writeStream.format("parquet").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start(str(tmp_path / "out"))
    assert query.awaitTermination(120)
    batches = [one for one in query.recentProgress if one.numInputRows]
    return [(one.numInputRows, json.loads(one.sources[0].endOffset)) for one in batches]


@pytest.mark.spark
def test_every_type_of_an_answer_comes_through(session: SparkSession, results: Path) -> None:
    values: dict[str, tuple[pa.DataType, Any]] = {
        "tags": (pa.list_(pa.string()), ["x", None]),
        "span": (pa.struct([("low", pa.float64()), ("high", pa.float64())]), (0.5, None)),
        "counts": (pa.map_(pa.string(), pa.int32()), {"k": 3}),
        "money": (pa.decimal128(20, 2), decimal.Decimal("12.30")),
        "day": (pa.date32(), datetime.date(2024, 2, 29)),
        "local": (pa.timestamp("us"), datetime.datetime(2024, 2, 29, 12)),
        "raw": (pa.binary(), b"\x00\xff"),
        "nothing": (pa.int8(), None),
    }
    rows = pa.table({name: pa.array([value], kind) for name, (kind, value) in values.items()})
    ResultsWriter(results / "hits").publish([answer(0, 1, rows)])
    row = load(session, results, "changes").first()
    assert {name: row[name] for name in values} == {n: v for n, (_, v) in values.items()}


@pytest.mark.spark
def test_an_answers_own_columns_keep_their_names(session: SparkSession, results: Path) -> None:
    rows = pa.table({"revision": ["mine"], "change": [0.5]})
    ResultsWriter(results / "hits").publish([answer(0, 1, rows)])
    row = load(session, results, "changes").first()
    assert (row.revision, row.change, row._revision, row._change) == ("mine", 0.5, 1, "insert")


@pytest.mark.spark
def test_a_stream_in_parts_is_read_part_by_part(session: SparkSession, results: Path) -> None:
    """With a schema too: an empty frame would be a wrong answer."""
    name = Part("hits", 2, 3).query_name
    ResultsWriter(results / name).publish([answer(0, 1, pages(("a", 1)))])
    ResultsWriter(results / "hits_part_of")
    with pytest.raises(Exception, match=rf"answered in parts.* there is {name}\. Read each"):
        load(session, results, "newest")
    reader = session.read.format("headwater").option("stream", "hits").schema("n bigint")
    with pytest.raises(Exception, match="answered in parts"):
        reader.load(str(results)).collect()
    assert [row.page for row in load(session, results, "newest", stream=name).collect()] == ["a"]


@pytest.mark.spark
def test_a_stream_that_is_not_there_yet_is_read_with_a_schema(
    session: SparkSession, results: Path
) -> None:
    ResultsWriter(results / "visits")
    with pytest.raises(Exception, match=r"no stream 'hits'.*streams there: visits\."):
        load(session, results, "newest")
    with pytest.raises(Exception, match="awaits a publication with rows"):
        load(session, results, "newest", stream="visits")
    reader = (
        session.read.format("headwater").option("stream", "hits").schema("n bigint, page string")
    )
    assert reader.load(str(results)).collect() == []
    publish_the_first_three(results)
    assert [tuple(row) for row in reader.load(str(results)).collect()] == [(5, "c")]


@pytest.mark.spark
def test_a_stream_of_the_newest_is_refused_in_words(session: SparkSession, results: Path) -> None:
    publish_the_first_three(results)
    stream = session.readStream.format("headwater").option("stream", "hits")
    query = stream.load(str(results)).writeStream.format("noop").start()
    with pytest.raises(Exception, match=r"'newest' is for batch reads.*'snapshots', 'changes'"):
        query.awaitTermination(120)


def source(results: Path, **options: str) -> HeadwaterResults:
    return HeadwaterResults({"path": str(results), "stream": "hits", **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": ""}, "'path' is missing"),
        ({"stream": "../hits"}, "has to name a stream.*streams there: hits"),
        ({"mode": "latest"}, "no mode 'latest'; modes: newest, snapshots, changes, headers"),
        ({"failOnDataLoss": "maybe"}, "true or false, got 'maybe'"),
    ],
)
def test_options_are_refused_with_what_would_do(
    results: Path, options: dict[str, str], message: str
) -> None:
    publish_the_first_three(results)
    with pytest.raises(ResultsUnreadable, match=message):
        source(results, **options).schema()


def test_a_schema_may_choose_columns_but_not_invent_them(results: Path) -> None:
    publish_the_first_three(results)
    schema = source(results).schema()
    schema.add("pagee", "string")
    with pytest.raises(ResultsUnreadable, match=r"no columns \['pagee'\].*'page', 'n'"):
        source(results).reader(schema)


def offset(number: int) -> dict[str, int]:
    return {"publication": number}


def remove_publications(directory: Path, *numbers: int) -> None:
    for number in numbers:
        for kind in ("headers", "rows"):
            (directory / f"{kind}-{number:012d}.parquet").unlink(missing_ok=True)


def test_publications_removed_before_they_were_read_end_a_stream(results: Path) -> None:
    publish_the_rest(publish_the_first_three(results))
    remove_publications(results / "hits", 1, 2, 3)
    assert StreamDirectory(results / "hits").publications() == [4, 5]
    source_ = source(results, mode="snapshots")
    stream = source_.streamReader(source_.schema())
    assert len(stream.partitions(offset(0), offset(5))) == 1, "from the beginning there is no loss"
    with pytest.raises(ResultsUnreadable, match="2 of the publications 2 to 5 were removed"):
        stream.partitions(offset(1), offset(5))
    lenient = source(results, mode="snapshots", failOnDataLoss="false")
    (part,) = lenient.streamReader(source_.schema()).partitions(offset(1), offset(5))
    assert part.value == [4, 5]


def test_changes_end_where_the_replaced_revision_is_unknown(results: Path) -> None:
    publish_the_rest(publish_the_first_three(results))
    remove_publications(results / "hits", 1, 2, 3)
    directory = StreamDirectory(results / "hits")
    with pytest.raises(ResultsUnreadable, match=r"revision 3 of window 0 .* was removed"):
        directory.changes(after=4, through=5, is_loss_fatal=True)
    (change,) = directory.changes(after=4, through=5, is_loss_fatal=False)
    assert change.former is None


def test_a_results_directory_that_was_replaced_is_noticed(results: Path) -> None:
    publish_the_first_three(results)
    source_ = source(results, mode="headers")
    stream = source_.streamReader(source_.schema())
    assert stream.latestOffset(offset(1), None) == offset(3)
    with pytest.raises(ResultsUnreadable, match="through publication 7, but the newest there is 3"):
        stream.latestOffset(offset(7), None)


def test_rows_that_do_not_fit_their_headers_are_not_given_out(results: Path) -> None:
    publish_the_first_three(results)
    stream = results / "hits"
    (stream / "rows-000000000001.parquet").rename(stream / "rows-000000000002.parquet")
    with pytest.raises(ResultsUnreadable, match="has 2 rows, its headers say 3"):
        StreamDirectory(stream).rows(2)
    with pytest.raises(ResultsUnreadable, match="removed while it was read"):
        StreamDirectory(stream).rows(1)


@pytest.mark.parametrize("seed", range(3))
def test_changes_add_up_to_the_newest_however_they_are_cut(results: Path, seed: int) -> None:
    """Random revisions with repeated rows; a reader that restarts anywhere sees the same."""
    last = publish_at_random(results, random.Random(seed))
    directory = StreamDirectory(results / "hits")
    whole = list(changed(directory, 0, last))
    held = Counter[tuple[Any, ...]]()
    for middle in range(1, last + 1):
        now = list(changed(directory, middle - 1, middle))
        held.update(row for row, change in now if change == "insert")
        held.subtract(row for row, change in now if change == "delete")
        assert min(held.values(), default=0) >= 0, "nothing is taken back that was not given"
        parts = [*changed(directory, 0, middle), *changed(directory, middle, last)]
        assert parts == whole
    newest = [row for one in directory.newest() for row in rows_in(directory.answer_rows(one))]
    assert +held == Counter(newest)


def publish_at_random(results: Path, rng: random.Random) -> int:
    writer = ResultsWriter(results / "hits")
    revisions = Counter[int]()
    for _ in range(8):
        answers = []
        for window in rng.sample(range(4), rng.randint(1, 3)):
            revisions[window] += 1
            rows = [(rng.choice("ab"), rng.randint(0, 1)) for _ in range(rng.randint(0, 5))]
            answers.append(answer(window, revisions[window], pages(*rows) if rows else None))
        writer.publish(answers)
    return writer.last_seq


def changed(
    directory: StreamDirectory, after: int, through: int
) -> Iterator[tuple[tuple[Any, ...], str]]:
    for change in directory.changes(after=after, through=through, is_loss_fatal=True):
        for table in directory.changed_rows(change):
            yield from zip(rows_in(iter([table])), table["change"].to_pylist(), strict=True)


def rows_in(tables: Iterator[pa.Table]) -> list[tuple[Any, ...]]:
    return [
        (row["window_start"], row["page"], row["n"])
        for table in tables
        for row in table.to_pylist()
    ]


READ_ELSEWHERE = """
import pickle, sys
sys.modules["headwater"] = None
source = pickle.loads(sys.stdin.buffer.read())({"path": sys.argv[1], "stream": "hits"})
reader = source.reader(source.schema())
batches = [batch for part in reader.partitions() for batch in reader.read(part)]
print([row["page"] for batch in batches for row in batch.to_pylist()])
"""


def test_executors_need_nothing_of_headwater(results: Path) -> None:
    publish_the_first_three(results)
    sent: list[bytes] = []
    registry = SimpleNamespace(register=lambda cls: sent.append(cloudpickle.dumps(cls)))
    here = SimpleNamespace(pythonExec=sys.executable)
    register(SimpleNamespace(dataSource=registry, sparkContext=here))  # type: ignore[arg-type]
    command = [sys.executable, "-c", READ_ELSEWHERE, str(results)]
    done = subprocess.run(command, input=sent[0], capture_output=True, check=True)
    assert done.stdout.decode().strip() == "['c']"
    again = cloudpickle.loads(cloudpickle.dumps(HeadwaterResults))
    assert again is HeadwaterResults, "the code is sent along only while registering"
