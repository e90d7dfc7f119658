"""Rows of every state that a query can have, with whatever numbers a member likes to put in.

An input is a seed: it draws a query and some tables in its schema, with nulls, extremes, days that
Python has no date for, and keys that meet. What is taken in must merge, move, fold and be left out
without an error: *a merge never fails for what is in the rows*.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa

from fuzz import sketches
from headwater.agent.answers.bag_groups import unfolded_bytes
from headwater.agent.answers.window_groups import groups_maker
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Folding
from headwater.algebra.rows.taken_rows import taker
from headwater.algebra.rows.types import summary_schema
from headwater.algebra.windows.counted_rows import CountedRows
from headwater.algebra.windows.running_window import RunningWindow
from headwater.algebra.windows.sessions import SessionMerger, Sessions
from headwater.algebra.windows.sliding_window import can_move
from headwater.plan.query import Query
from headwater.sql.compile import compile_statements

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, day DATE, name STRING, id BIGINT, ms DOUBLE, price DECIMAL(10,2))
WITH (format = 'json', path = '*.json', time = 'ts');
"""
BY = "FROM hits GROUP BY window(ts, '100 seconds', '10 seconds')"
ASKED = (
    f"SELECT day, name, count(*) AS n, sum(id) AS s, sum(price) AS p, avg(ms) AS m {BY}, day, name",
    f"SELECT day, count(DISTINCT name) AS n, sum(DISTINCT id) AS s, count(*) AS c {BY}, day",
    f"SELECT name, collect_list(id) AS l, collect_set(day) AS d, mode(name) AS m {BY}, name",
    f"SELECT day, name, sum(id) AS s, count(DISTINCT id) AS d {BY}, CUBE(day, name)",
    f"SELECT name, percentile_approx(ms, 0.5) AS p, percentile_approx(price, 0.9) AS q {BY}, name",
    f"SELECT max_by(name, day, 3) AS a, min_by(id, ms) AS b, any_value(ts) AS c {BY}",
    f"SELECT name, kurtosis(ms) AS k, corr(ms, id) AS c, var_samp(price) AS v {BY}, name",
    f"SELECT name, approx_count_distinct(id) AS d, bit_xor(id) AS b, max(ms) AS m {BY}, name",
    "SELECT name, count(*) AS n, sum(id) AS s FROM hits GROUP BY session_window(ts, '10 s'), name",
    "SELECT day, name FROM hits",
    "SELECT day, ms FROM hits ORDER BY ms DESC LIMIT 3",
)
NUMBERS = (0, 1, -1, 2, 10_001, (1 << 31) - 1, 1 << 62, -(1 << 62), (1 << 63) - 1, -(1 << 63))
DOUBLES = (0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324)
DAYS = (0, 1, 5_000_000, (1 << 31) - 1, -(1 << 31))
ROWS_MAX = 12
_EXACT = Context(prec=76)
CELLS = sketches.good()


@cache
def _queries() -> list[Query]:
    return [
        compile_statements(
            f"{SOURCE}CREATE STREAM s{_window(text)} AS {text};",
            root="r",
            installer="r",
            next_counter=1,
        )[0]
        for text in ASKED
    ]


def _window(text: str) -> str:
    return "" if "GROUP BY" in text else " WITH (window = '10 seconds')"


def good() -> list[bytes]:
    return [seed for seed in (bytes([n]) * 8 for n in range(64)) if run(seed)]


def run(data: bytes) -> bool:
    random = Random(data)
    query = random.choice(_queries())
    take, found = taker(query.program), []
    for _ in range(random.randint(1, 4)):
        rows = _drawn(query, random)
        try:
            found.append(rows if take is None else take(rows))
        except ValueError:
            continue
    if not found:
        return False
    ArrowMerger(query.program).merge(found)
    unfolded_bytes(query, groups_maker(query, 0).groups(found).merged)
    if isinstance(query.sessions, Sessions):
        SessionMerger(query.program, query.sessions).merge(found)
    elif can_move(query.window, query.program):
        counted = CountedRows(query.program)
        stamps = dict(enumerate(found))
        window = RunningWindow(counted)
        window.begun([counted.counted(one) for one in found], dict.fromkeys(stamps, 1))
        window.moved(dict.fromkeys(list(stamps)[1:], 1), _Panes(stamps))
    return True


class _Panes:
    def __init__(self, tables: dict[int, pa.Table]) -> None:
        self._tables = tables

    def stamps(self, panes: range) -> dict[int, int]:
        return dict.fromkeys((pane for pane in panes if pane in self._tables), 1)

    def rows(self, pane: int) -> pa.Table:
        return self._tables[pane]


def _drawn(query: Query, random: Random) -> pa.Table:
    schema, count = summary_schema(query.program), random.randint(0, ROWS_MAX)
    columns = [_column(field.type, count, random) for field in schema]
    folding = query.program.folding
    if isinstance(folding, Folding) and folding.is_numbered and random.random() < 0.9:
        numbers = sorted({one.number for one in folding.columns})
        place = len(query.program.keys) - 1
        columns[place] = pa.array([random.choice(numbers) for _ in range(count)], pa.int64())
    return pa.Table.from_arrays(columns, schema=schema)


def _column(type_: pa.DataType, count: int, random: Random) -> pa.Array:
    values = [None if random.random() < 0.1 else _cell(type_, random) for _ in range(count)]
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_date(type_):
        return pa.array(values, pa.int32()).cast(type_)
    return pa.array(values, type_)


def _cell(type_: pa.DataType, random: Random) -> Any:
    if pa.types.is_date(type_):
        return random.choice(DAYS)
    if pa.types.is_floating(type_):
        return random.choice(DOUBLES)
    if pa.types.is_binary(type_):
        return random.choice(CELLS)
    if pa.types.is_string(type_):
        return random.choice(("", "a", "日本"))
    if pa.types.is_decimal(type_):
        most = 10**type_.precision - 1
        return Decimal(random.choice((0, 1, most, -most))).scaleb(-type_.scale, _EXACT)
    bits = 64 if pa.types.is_timestamp(type_) else type_.bit_width
    return random.choice([n for n in NUMBERS if -(1 << bits - 1) <= n < 1 << bits - 1])
