"""Random questions to random streams: what panes give is what the records give, or it is refused.

SQLite computes both: the site part of either over records, and what the question makes of the
stream's rows. What is between, rows by pane, merged and picked, is what a site runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import sqlglot
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from headwater.agent.asking.cube_answer import CubeAnswer, panes_of, slice_bounds
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.types import PANE_COLUMN, summary_schema
from headwater.algebra.words.site_state import FOREVER
from headwater.plan.query import Query
from headwater.sql.compile import compile_statements
from headwater.sql.questions.subsume import CUBE, subsume, why_not
from headwater.store.cube.asked.cube_slices import CubeSlice
from headwater.store.pane_segments import Stretch

SOURCE = (
    "CREATE SOURCE hits (ts TIMESTAMP, page STRING, status INT, n BIGINT, ms DOUBLE) "
    "WITH (format = 'csv', path = '*.csv', time = 'ts');"
)
BEGIN_S = 1_777_593_600
LENGTH_S = 60
PANE_S = 10
ASKED = (
    f"begin = '2026-05-01', extent = '{LENGTH_S} seconds', window = '60 seconds every 20 seconds'"
)

KEYS = {
    "page": ("page",),
    "status": ("status",),
    "upper(page)": ("page", "upper(page)"),
    "status DIV 100": ("status", "status DIV 100"),
    "coalesce(page, 'none')": ("page", "coalesce(page, 'none')"),
    "length(page) + status": ("page", "status", "length(page) + status"),
}
"""And of which columns or expressions each is one."""
CONDITIONS = {
    "page IS NOT NULL": {"page"},
    "page IN ('a', 'b')": {"page"},
    "page LIKE 'a%' OR status IS NULL": {"page", "status"},
    "NOT status = 200": {"status"},
    "status BETWEEN 400 AND 499": {"status"},
    "status DIV 100 = 4": {"status"},
    "upper(page) = 'A'": {"page"},
    "n >= 2": {"n"},
    "n > 2": {"n"},
    "ms > 1 AND n IS NOT NULL": {"ms", "n"},
    "status + n > 400": {"status", "n"},
    "CASE WHEN page = 'b' THEN status = 200 ELSE page IS NULL END": {"page", "status"},
}
"""And the columns that they are about."""
AGGREGATES = (
    *("count(*)", "count(n)", "count(page)", "sum(n)", "sum(ms)", "avg(ms)", "avg(n)"),
    *("min(n)", "max(n)", "max(page)", "sum(n * 2)", "count_if(n > 2)", "min(status)"),
)

Record = tuple[int, str | None, int | None, int | None, float | None]


class Select(msgspec.Struct, frozen=True):
    keys: tuple[str, ...]
    conditions: tuple[str, ...]
    aggregates: tuple[str, ...]

    def text(self, *, window: str = "") -> str:
        values = [f"{one} AS k{number}" for number, one in enumerate(self.keys)]
        values += [f"{one} AS v{number}" for number, one in enumerate(self.aggregates)]
        where = " AND ".join(f"({one})" for one in self.conditions)
        groups = ", ".join((*([window] if window else []), *self.keys))
        return (
            f"SELECT {', '.join(values)} FROM hits"
            + (f" WHERE {where}" if where else "")
            + (f" GROUP BY {groups}" if groups else "")
        )


def some(of: Sequence[str], *, least: int = 0, most: int = 3) -> st.SearchStrategy[tuple[str, ...]]:
    drawn = st.lists(st.sampled_from(of), unique=True, min_size=least, max_size=most)
    return drawn.map(tuple)


SELECTS = st.builds(
    Select, some(list(KEYS)), some(list(CONDITIONS), most=2), some(AGGREGATES, least=1, most=4)
)
RECORDS = st.lists(
    st.tuples(
        st.integers(0, LENGTH_S - 1),
        st.sampled_from(["a", "b", "A", "ab", "", None]),
        st.sampled_from([200, 404, 499, 500, -404, None]),
        st.sampled_from([0, 1, 2, 3, 400, -5, None]),
        st.sampled_from([0.5, 1.0, 2.5, -4.0, None]),
    ),
    min_size=1,
    max_size=40,
)


@st.composite
def narrowed(draw: st.DrawFn) -> tuple[Select, Select]:
    """A stream, and a question that is a slice and a roll-up of it."""
    stream = draw(SELECTS)
    keys = [one for one, of in KEYS.items() if set(of) & set(stream.keys) and _is_of(one, stream)]
    further = [
        one
        for one, columns in CONDITIONS.items()
        if columns <= set(stream.keys) and one not in stream.conditions
    ]
    conditions = [*stream.conditions, *draw(some(further, most=2) if further else st.just(()))]
    question = Select(
        draw(some(keys) if keys else st.just(())),
        tuple(draw(st.permutations(conditions))),
        draw(some(stream.aggregates, least=1)),
    )
    return stream, question


@st.composite
def nearly_narrowed(draw: st.DrawFn) -> tuple[Select, Select]:
    """The same with something else in it, which the stream may have all the same."""
    stream, question = draw(narrowed())
    conditions, aggregates = question.conditions, question.aggregates
    match draw(st.sampled_from(["fewer conditions", "a condition", "an aggregate", "a key"])):
        case "fewer conditions":
            conditions = conditions[1:]
        case "a condition":
            conditions = (*conditions, draw(st.sampled_from(list(CONDITIONS))))
        case "an aggregate":
            aggregates = (*aggregates[1:], draw(st.sampled_from(AGGREGATES)))
        case _:
            keys = (*question.keys, draw(st.sampled_from(list(KEYS))))
            question = msgspec.structs.replace(question, keys=tuple(dict.fromkeys(keys)))
    return stream, msgspec.structs.replace(question, conditions=conditions, aggregates=aggregates)


def _is_of(key: str, stream: Select) -> bool:
    return key in stream.keys or set(KEYS[key]) - {key} <= set(stream.keys)


def compiled(name: str, select: str, options: str = "") -> Query:
    options = f"WITH ({options})" if options else ""
    (query,) = compile_statements(
        f"{SOURCE} CREATE STREAM {name} {options} AS {select};",
        root="hub",
        installer="hub",
        next_counter=1,
        now_us=1_800_000_000_000_000,
    )
    return query


def queries(stream: Select, question: Select) -> tuple[Query, Query]:
    window = f"window(ts, '{PANE_S} seconds')"
    return compiled("pages", stream.text(window=window)), compiled("ask_1", question.text(), ASKED)


def sqlite_rows(sql: str, view: str, rows: pa.Table) -> list[tuple[Any, ...]]:
    """What SQLite makes of a text of Spark's, over rows."""
    database = sqlite3.connect(":memory:")
    database.create_function("UNIX_MICROS", 1, lambda at: at)
    names = ", ".join(f'"{name}"' for name in rows.column_names)
    database.execute(f"CREATE TABLE {view} ({names})")
    marks = ", ".join("?" * rows.num_columns)
    values = [
        tuple(int(one) if isinstance(one, Decimal) else one for one in row.values())
        for row in rows.to_pylist()
    ]
    database.executemany(f"INSERT INTO {view} VALUES ({marks})", values)
    text = sqlglot.parse_one(sql, read="spark").sql("sqlite")
    return database.execute(text).fetchall()


def records_table(records: Sequence[Record]) -> pa.Table:
    columns = list(zip(*records, strict=True))
    at_us = [(BEGIN_S + at_s) * 1_000_000 for at_s in columns[0]]
    types = [pa.int64(), pa.string(), pa.int32(), pa.int64(), pa.float64()]
    arrays = [pa.array(c, t) for c, t in zip([at_us, *columns[1:]], types, strict=True)]
    return pa.table(arrays, names=["ts", "page", "status", "n", "ms"])


def table_of(query: Query, rows: Sequence[Sequence[Any]]) -> pa.Table:
    """With their panes, in the types of a site's rows."""
    schema = summary_schema(query.program)
    schema = schema.insert(0, pa.field(PANE_COLUMN, pa.int64()))
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [
        pa.array(
            [Decimal(v) if pa.types.is_decimal(f.type) and v is not None else v for v in c], f.type
        )
        for c, f in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def by_pane(query: Query, records: Sequence[Record]) -> dict[int, pa.Table]:
    """As a site's Spark makes them of one batch."""
    rows = sqlite_rows(query.program.site_sql, "records", records_table(records))
    found = dict.fromkeys(sorted(row[0] for row in rows), pa.table({}))
    for pane in found:
        table = table_of(query, [row for row in rows if row[0] == pane])
        found[pane] = table.drop_columns([PANE_COLUMN])
    return found


def answered(stream: Query, question: Query, batches: Sequence[Sequence[Record]]) -> dict[int, Any]:
    """From panes, as a site does."""
    part = subsume(question, stream)
    stretches: dict[int, tuple[Stretch, ...]] = {}
    loads: dict[int, pa.Table] = {}
    for batch in batches:
        for pane, rows in by_pane(stream, batch).items():
            one = Stretch(len(loads), 0, rows.num_rows)
            loads[one.segment] = rows
            stretches[pane] = (*stretches.get(pane, ()), one)
    first, last = slice_bounds(question, stream, part)
    made = CubeAnswer(
        question,
        stream,
        part,
        CubeSlice("pages@hub#1", first, last, FOREVER, stretches, (), (), 0),
        load=lambda one: loads[one.segment],
        load_anew=lambda *_: None,
        merger=ArrowMerger(stream.program),
        compute=lambda sql, rows: table_of(question, sqlite_rows(sql, CUBE, rows)),
        check=lambda: None,
    ).made()
    assert (made.declined, made.damaged) == ([], [])
    return {pane: sorted_rows(rows) for pane, rows in made.rows.items() if rows.num_rows}


def of_records(question: Query, batches: Sequence[Sequence[Record]]) -> dict[int, Any]:
    records = [one for batch in batches for one in batch]
    found = by_pane(question, records)
    return {pane: sorted_rows(found[pane]) for pane in panes_of(question) if pane in found}


def sorted_rows(rows: pa.Table) -> list[tuple[str, ...]]:
    return sorted(tuple(map(repr, row.values())) for row in rows.to_pylist())


def split(records: Sequence[Record], count: int) -> list[Sequence[Record]]:
    return [part for n in range(count) if (part := records[n::count])]


SHORT = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@SHORT
@given(narrowed(), RECORDS, st.integers(1, 3))
def test_a_slice_and_roll_up_of_a_stream_is_answered_from_its_panes(
    two: tuple[Select, Select], records: list[Record], batches: int
) -> None:
    stream, question = queries(*two)
    parts = split(records, batches)
    assert answered(stream, question, parts) == of_records(question, parts)


@SHORT
@given(nearly_narrowed(), RECORDS)
def test_what_a_stream_does_not_have_is_never_taken_for_what_it_has(
    two: tuple[Select, Select], records: list[Record]
) -> None:
    stream, question = queries(*two)
    is_contained = why_not(question, stream) is None
    event("contained" if is_contained else "refused")
    if is_contained:
        assert answered(stream, question, [records]) == of_records(question, [records])
