"""The reference: the same question by one plain Spark over all files of all sites.

It shares with the site part what decides on records, the parser, and which files they are
(``store/input/site_files.py``), and nothing else: no panes, no partial aggregates, no cubes.
``try --compare`` and the demo hold every answer against it.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from headwater.algebra.rows.places import SITE as PLACE_SITE
from headwater.errors import GroupFailed, SparkFailed
from headwater.plan.query import Query
from headwater.reading.chunk import Chunk
from headwater.reading.form import form_of
from headwater.root.said.envelope import LeftOut
from headwater.spark.jvm.session import apply_settings
from headwater.spark.lines.lines import LARGE_BYTES, SITE, Linked, linked, read_lines, with_types
from headwater.spark.lines.malformed import kinds_of
from headwater.spark.lines.parse import Parser
from headwater.spark.lines.readable import ChunkUnreadable, whole_files
from headwater.spark.root.bad_groups import Finished
from headwater.spark.root.root_part import split_by_window
from headwater.spark.rows.collect import whole_table
from headwater.spark.site.fence import Fence
from headwater.spark.site.line_counts import LineCounts, ReadFailed, count_lines
from headwater.spark.site.own_count import OwnCount
from headwater.spark.site.scan_counts import ScanCounts, scan_counts
from headwater.spark.site.site_part import over_records
from headwater.spark.spark_message import SPARK_ERRORS, is_of_a_value, message_of
from headwater.sql.compile import question_of
from headwater.sql.read.sql_text import column, parse, parse_expression, sql_of
from headwater.sql.types.place_functions import place_of
from headwater.sql.write.judge_groups import SETTINGS, write_left_out_sql, write_tolerant_sql
from headwater.sql.write.state_records import AT, BEGIN, END

LINES = "__lines"
"""As a plain Spark reads: by as many tasks as it likes."""


def central_answers(
    session: SparkSession, query: Query, files: Sequence[Path], *, before_us: int | None = None
) -> dict[int, pa.Table]:
    """The answer's rows for each window that has any; see ``central_finished``."""
    return central_finished(session, query, files, before_us=before_us).rows


def central_finished(
    session: SparkSession,
    query: Query,
    files: Sequence[Path],
    *,
    before_us: int | None = None,
    site_of: Callable[[Path], str] = lambda file: "",
) -> Finished:
    """The answers of all windows over these files: those that the sites find.

    ``before_us`` is the fence of the sites that it is compared with: records from there on are
    refused. A finite input has none. ``site_of`` names the site that a file is of, for ``site()``;
    of regions and labels nothing is known here.

    Where one Spark would fail for a value, the rule "Overflow belongs to the group" holds here too:
    groups that fail are found over the records, and left out. Raises ``GroupFailed`` where a value
    of a single record can't be computed, and ``SparkFailed`` for anything else.
    """
    own = apply_settings(session, dict(query.program.settings))
    if not files:
        return Finished()
    with tempfile.TemporaryDirectory(prefix="headwater-central-") as place, ExitStack() as stack:
        try:
            by_site = _by_site(query, files, site_of)
            found = [
                (site, stack.enter_context(one))
                for number, (site, of_site) in enumerate(by_site.items())
                for one in _linked(Path(place) / f"{number}", query, of_site)
            ]
        except ChunkUnreadable as error:
            raise SparkFailed(f"query {query.id}, one Spark: {error}") from error
        parts = [_part(own, query, one, number, site) for number, (site, one) in enumerate(found)]
        return _finished(own, query, parts, before_us=before_us) if parts else Finished()


def over_files(
    session: SparkSession, query: Query, files: Sequence[Path], sql: str
) -> pa.Table | None:
    """What this text yields over the records of these files; None where there are no files."""
    own = apply_settings(session, dict(query.program.settings))
    with tempfile.TemporaryDirectory(prefix="headwater-files-") as place, ExitStack() as stack:
        found = [stack.enter_context(one) for one in _linked(Path(place), query, files)]
        parts = [_part(own, query, one, number) for number, one in enumerate(found)]
        return _run(own, query, _records(query, parts, None), sql) if parts else None


class _Part(msgspec.Struct, frozen=True):
    """Files that are parsed alike."""

    parser: Parser
    lines: str
    """The view of their lines."""
    site: str = ""
    """Whose files they are, where the query asks for that."""


def _by_site(
    query: Query, files: Sequence[Path], site_of: Callable[[Path], str]
) -> dict[str, list[Path]]:
    """All files together, unless the query asks where records are from, or each site counts its
    own."""
    is_apart = query.program.place_columns or query.reading_count is not None
    found: dict[str, list[Path]] = {}
    for file in files:
        found.setdefault(site_of(file) if is_apart else "", []).append(file)
    return found


def _linked(
    place: Path, query: Query, files: Sequence[Path]
) -> list[AbstractContextManager[Linked]]:
    """All files together; those with columns of their own by what these are."""
    form = form_of(query.program.source)
    groups: dict[str, list[Chunk]] = {}
    for file in whole_files(files, form):
        groups.setdefault(file.header if form.columnar else "", []).append(file)
    return [
        linked(place / f"{number}", [chunks], form=form)
        for number, chunks in enumerate(groups.values())
    ]


def _part(own: SparkSession, query: Query, found: Linked, number: int, site: str = "") -> _Part:
    is_ordered = query.reading_count is not None
    lines = read_lines(own, found, byte_count=LARGE_BYTES, is_ordered=is_ordered)
    view = f"{LINES}_{number}"
    lines.createOrReplaceTempView(view)
    parser = Parser(
        query.program.source, (frozenset(query.program.columns_used),), headers=found.headers
    )
    return _Part(with_types(parser, found, lines), view, site)


def _finished(
    own: SparkSession, query: Query, parts: Sequence[_Part], *, before_us: int | None
) -> Finished:
    records, counts = _records(query, parts, before_us), None
    if query.bounds:  # what is near the truth is held against the truth
        with _told_of(query):
            return _with_counts(own, parts, _without_failing(own, query, records), counts)
    try:
        frame = _frame(own, query, records, query.program.central_sql)
        finished = Finished(split_by_window(query, _collected(query, frame)))
        is_plain = before_us is None and len(parts) == 1 and query.reading_count is None
        counts = scan_counts(frame) if is_plain else None
        if query.sessions is not msgspec.UNSET:  # nothing fails of one that is too long
            finished = msgspec.structs.replace(finished, left_out=_left_out(own, query, records))
    except GroupFailed:
        finished = _without_failing(own, query, records)
    with _told_of(query):
        return _with_counts(own, parts, finished, counts)


def _records(query: Query, parts: Sequence[_Part], before_us: int | None) -> str:
    """Those of each site are counted for themselves, where windows go by that."""
    before = None if before_us is None else f"{before_us}L"
    count = OwnCount(query.reading_count, [0], site=AT)
    records = count.over(" UNION ALL ".join(_records_of(one, before, count) for one in parts))
    if not query.holds_states:
        return records
    begin, end = query.begin_pane, query.ends_at
    assert begin is not None, "who runs it knows where the files begin"
    assert end is not None, "and where they end"
    return f"SELECT *, {begin}L AS {BEGIN}, {end}L AS {END} FROM ({records})"


def _records_of(part: _Part, before: str | None, count: OwnCount) -> str:
    typed = f"({part.parser.typed_sql(part.lines, keep=count.columns)})"
    records = part.parser.records_sql(
        typed, 0, keep=count.columns, before_us=before, is_counted=True
    )
    if not part.site and not count.columns:
        return records
    return f"SELECT *, {sql_of(exp.Literal.string(part.site))} AS {AT} FROM ({records})"


def _with_counts(
    own: SparkSession, parts: Sequence[_Part], finished: Finished, counts: ScanCounts | None
) -> Finished:
    """Where Spark's own counters don't tell, the lines are read once more, and so they are where
    some are malformed, to say why."""
    if counts is not None:
        line_count, malformed = counts.candidates, counts.candidates - counts.records
    else:
        found = [_line_counts(own, one) for one in parts]
        line_count = sum(counts.lines for counts in found)
        malformed = sum(counts.unparsed for counts in found)
    kinds = tuple(
        kind
        for one in (parts if malformed else ())
        for kind in kinds_of(own, one.parser, one.lines, site_count=1)[0]
    )
    return msgspec.structs.replace(finished, lines=line_count, malformed=malformed, kinds=kinds)


def _line_counts(own: SparkSession, part: _Part) -> LineCounts:
    typed = f"({part.parser.typed_sql(part.lines, keep=[SITE])})"
    (counts,) = count_lines(own, part.parser, typed, fences=[Fence()])
    return counts


def _without_failing(own: SparkSession, query: Query, records: str) -> Finished:
    """Read anew from the query's text, and not from how it is split."""
    for name, value in SETTINGS:
        own.conf.set(name, value)
    rows = _run(own, query, records, write_tolerant_sql(question_of(query)))
    return Finished(split_by_window(query, rows), _left_out(own, query, records))


def _left_out(own: SparkSession, query: Query, records: str) -> dict[int, LeftOut]:
    for name, value in SETTINGS:
        own.conf.set(name, value)
    counts = _run(own, query, records, write_left_out_sql(question_of(query)))
    found = split_by_window(query, counts)
    return {window: LeftOut(count=table["left_out"][0].as_py()) for window, table in found.items()}


def _with_places(sql: str) -> str:
    """``site()`` as the column that the records have here; regions and labels as NULL."""

    def place(node: exp.Expr) -> exp.Expr:
        found = place_of(node)
        if found is None:
            return node
        return column(AT) if found == PLACE_SITE else parse_expression("CAST(NULL AS STRING)")

    return sql_of(parse(sql).transform(place))


def _run(own: SparkSession, query: Query, records: str, sql: str) -> pa.Table:
    return _collected(query, _frame(own, query, records, sql))


def _frame(own: SparkSession, query: Query, records: str, sql: str) -> DataFrame:
    has_places = bool(query.program.place_columns)
    with _told_of(query):
        return own.sql(over_records(records, sql if not has_places else _with_places(sql)))


def _collected(query: Query, frame: DataFrame) -> pa.Table:
    with _told_of(query):
        return whole_table(frame)


@contextlib.contextmanager
def _told_of(query: Query) -> Iterator[None]:
    """Spark's errors as ours."""
    where = f"query {query.id}, one Spark"
    try:
        yield
    except ReadFailed as error:
        raise SparkFailed(f"{where}: {error}") from error
    except SPARK_ERRORS as error:
        if is_of_a_value(error):
            raise GroupFailed(where, message_of(error)) from error
        raise SparkFailed(f"{where}: {message_of(error)}") from error
