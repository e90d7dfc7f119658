"""Groups that fail are found and left out, within a limit of jobs; nothing here needs a Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pane_finisher import PaneFinisher
from spark_kit import per_domain, stream

from headwater.algebra.rows.types import summary_schema
from headwater.errors import GroupFailed, SparkFailed
from headwater.plan.query import Query
from headwater.root.said.envelope import LEFT_OUT_NAMED_MAX, LeftOut
from headwater.spark.root import bad_groups
from headwater.spark.root.bad_groups import (
    JOBS_MAX,
    REASONS_MAX,
    KnownFailures,
    Verdict,
    search_by_halving,
)

Row = dict[str, Any]


class Jobs:
    """A Spark that computes rows as they are, unless one of them is bad."""

    def __init__(
        self,
        is_bad: Callable[[Row], bool],
        *,
        is_rejected: Callable[[Row], bool] = lambda _: False,
        can_judge: bool = True,
    ) -> None:
        self.is_bad = is_bad
        self.is_rejected = is_rejected
        self.can_judge = can_judge
        self.is_gone = False
        self.finished: list[int] = []
        """Of each job how many rows it was given."""
        self.judged = 0

    @property
    def count(self) -> int:
        return len(self.finished) + self.judged

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        self.finished.append(sum(table.num_rows for table in windows.values()))
        if self.is_gone:
            raise SparkFailed("the JVM is gone")
        for table in windows.values():
            for row in table.to_pylist():
                if self.is_bad(row) and not self.is_rejected(row):
                    raise GroupFailed("query q", f"[BAD] {row['domain']}")
        return {w: table for w, table in windows.items() if table.num_rows}

    def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
        self.judged += 1
        if not self.can_judge:
            raise SparkFailed("no verdict")
        found = {}
        for window, table in windows.items():
            rows = list(enumerate(table.to_pylist()))
            rejected = tuple(n for n, row in rows if self.is_rejected(row))
            failing = tuple(n for n, row in rows if self.is_bad(row) and n not in rejected)
            found[window] = Verdict(failing, rejected)
        return found


QUERY = per_domain()


def table(*rows: tuple[str | None, int]) -> pa.Table:
    schema = summary_schema(QUERY.program)
    columns = [[d for d, _ in rows], [n for _, n in rows], [Decimal(1) for _ in rows]]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def counts(rows: pa.Table) -> dict[str | None, int]:
    return dict(zip(rows["domain"].to_pylist(), rows["count_1"].to_pylist(), strict=True))


def negative(row: Row) -> bool:
    return bool(row["count_1"] < 0)


def many(count: int, *, bad: set[int]) -> pa.Table:
    return table(*((f"d{n}", -1 if n in bad else 1) for n in range(count)))


def test_an_answer_without_bad_groups_costs_one_job() -> None:
    jobs = Jobs(negative)
    finished = PaneFinisher(jobs).finish(QUERY, {3: [(3, table(("a", 1)))], 4: [(4, table())]})
    assert jobs.count == 1
    assert finished.left_out == {}


def test_one_bad_group_is_left_out_and_all_others_of_all_windows_stand() -> None:
    jobs = Jobs(negative)
    windows = {
        3: [(3, table(("a", 1), ("b", 2))), (4, table(("a", 10)))],
        4: [(4, table(("a", 10), ("bad", -1), ("c", 5)))],
    }
    finished = PaneFinisher(jobs).finish(QUERY, windows)
    assert {w: counts(rows) for w, rows in finished.rows.items()} == {
        3: {"a": 11, "b": 2},
        4: {"a": 10, "c": 5},
    }
    assert list(finished.left_out) == [4]
    left_out = finished.left_out[4]
    assert (left_out.count, left_out.unresolved) == (1, 0)
    assert [(one.keys, one.reason) for one in left_out.named] == [({"domain": "bad"}, "[BAD] bad")]
    assert jobs.count == 4, "as ever, the verdict, its reason, the answer"


def test_thousands_of_bad_groups_take_a_few_jobs() -> None:
    jobs = Jobs(negative)
    bad = set(range(0, 5_000, 2))
    finished = PaneFinisher(jobs).finish(QUERY, {1: [(1, many(5_000, bad=bad))]})
    assert finished.rows[1].num_rows == 2_500
    assert finished.left_out[1].count == 2_500
    assert finished.left_out[1].unresolved == 0
    assert len(finished.left_out[1].named) == LEFT_OUT_NAMED_MAX
    assert jobs.count == 3 + LEFT_OUT_NAMED_MAX


def test_reasons_are_asked_of_the_first_of_each_window_within_a_limit() -> None:
    jobs = Jobs(negative)
    windows = {w: [(w, many(6, bad={1, 2, 3, 4, 5}))] for w in range(10)}
    finished = PaneFinisher(jobs).finish(QUERY, windows)
    assert jobs.count == 3 + REASONS_MAX
    for left_out in finished.left_out.values():
        assert left_out.count == 5
        assert left_out.named[0].reason == "[BAD] d1"
        assert left_out.named[-1].reason == ""


def test_a_group_that_having_rejects_is_neither_in_the_answer_nor_left_out() -> None:
    jobs = Jobs(negative, is_rejected=lambda row: row["count_1"] == -7)
    rows = table(("a", 1), ("hidden", -7), ("bad", -1))
    finished = PaneFinisher(jobs).finish(QUERY, {1: [(1, rows)]})
    assert counts(finished.rows[1]) == {"a": 1}
    assert finished.left_out[1].count == 1


def test_the_next_answer_begins_with_the_verdict_and_a_mended_group_comes_back() -> None:
    jobs = Jobs(negative)
    finisher = PaneFinisher(jobs)
    finisher.finish(QUERY, {1: [(1, table(("a", 1), ("b", -1)))]})
    before = jobs.count
    same = finisher.finish(QUERY, {1: [(1, table(("a", 2), ("b", -1)))]})
    assert same.left_out[1].count == 1
    assert same.left_out[1].named[0].reason == "[BAD] b"
    assert jobs.count - before == 2, "the verdict and the answer; the reason is known"
    mended = finisher.finish(QUERY, {1: [(1, table(("a", 2), ("b", -1))), (2, table(("b", 3)))]})
    assert counts(mended.rows[1]) == {"a": 2, "b": 2}
    assert mended.left_out == {}
    before = jobs.count
    finisher.finish(QUERY, {1: [(1, table(("a", 2)))]})
    assert jobs.count - before == 1, "no doubt is left"


def test_a_group_that_is_bad_for_another_reason_is_asked_anew() -> None:
    jobs = Jobs(negative)
    finisher = PaneFinisher(jobs)
    finisher.finish(QUERY, {1: [(1, table(("b", -1)))]})
    before = len(jobs.finished)
    finisher.finish(QUERY, {1: [(1, table(("b", -2)))]})
    assert len(jobs.finished) - before == 2, "its reason, and the answer without any group"


def test_without_a_verdict_groups_are_found_by_halving_and_remembered() -> None:
    jobs = Jobs(negative, can_judge=False)
    finisher = PaneFinisher(jobs)
    windows = {w: [(w, many(100, bad={17} if w == 2 else set()))] for w in range(8)}
    finished = finisher.finish(QUERY, windows)
    assert finished.left_out[2].named[0].keys == {"domain": "d17"}
    assert list(finished.left_out) == [2]
    assert sum(rows.num_rows for rows in finished.rows.values()) == 799
    assert jobs.count <= 2 + 2 * 10 + 1
    before = jobs.count
    finisher.finish(QUERY, windows)
    assert jobs.count - before == 3, "the verdict, the others at once, the answer"


def test_a_verdict_that_does_not_hold_is_not_believed() -> None:
    class Blind(Jobs):
        def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
            self.judged += 1
            return {}

    class Harsh(Jobs):
        def judge(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, Verdict]:
            self.judged += 1
            return {1: Verdict(failing=(0, 1))}

    for jobs in (Blind(negative), Harsh(negative)):
        finished = PaneFinisher(jobs).finish(QUERY, {1: [(1, table(("a", 1), ("b", -1)))]})
        assert counts(finished.rows[1]) == {"a": 1}
        assert finished.left_out[1].named[0].keys == {"domain": "b"}


def test_what_is_not_found_within_the_limit_is_left_out_and_said() -> None:
    jobs = Jobs(negative, can_judge=False)
    bad = set(range(0, 400, 2))
    finished = PaneFinisher(jobs).finish(QUERY, {1: [(1, many(4_000, bad=bad))]})
    assert jobs.count == 1 + JOBS_MAX, "the first try, and all that the search may take"
    left_out = finished.left_out[1]
    assert len(bad) <= left_out.count < 500
    assert left_out.unresolved > 0
    assert "because the search for those that fail has a limit" in left_out.text()
    assert finished.rows[1].num_rows + left_out.count == 4_000


def test_a_sum_that_overflows_while_panes_are_merged_is_left_out_like_any_other() -> None:
    jobs = Jobs(lambda row: False)
    finisher = PaneFinisher(jobs)
    big = table(("a", 1), ("big", 2**62))
    jobs.is_bad = lambda row: row["domain"] == "big"
    finished = finisher.finish(QUERY, {1: [(1, big), (2, big)]})
    assert counts(finished.rows[1]) == {"a": 2}
    left_out = finished.left_out[1]
    assert left_out.count == 1
    assert left_out.named[0].keys == {"domain": "big"}
    assert left_out.named[0].reason == "a sum leaves its type: count_1"


def test_trouble_that_is_no_groups_is_a_failure_of_the_answer() -> None:
    jobs = Jobs(negative)
    finisher = PaneFinisher(jobs)
    finisher.finish(QUERY, {1: [(1, table(("b", -1)))]})
    jobs.is_gone = True
    with pytest.raises(SparkFailed, match="the JVM is gone"):
        finisher.finish(QUERY, {1: [(1, table(("a", 1), ("b", -1)))]})


def test_a_query_that_fails_without_any_group_is_no_matter_of_groups() -> None:
    class Broken(Jobs):
        def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
            self.finished.append(0)
            raise GroupFailed("query q", "[BAD] whatever it is given")

    jobs = Broken(lambda row: True)
    with pytest.raises(SparkFailed, match="also without any group"):
        PaneFinisher(jobs).finish(QUERY, {1: [(1, table(("a", 1)))]})
    assert jobs.count == 4


def test_where_every_group_is_bad_the_answer_has_no_rows() -> None:
    finished = PaneFinisher(Jobs(negative)).finish(QUERY, {1: [(1, table(("a", -1), (None, -2)))]})
    assert finished.rows == {}
    assert finished.left_out[1].count == 2
    assert finished.left_out[1].named[1].keys == {"domain": None}


def test_keys_are_told_as_text_of_a_bounded_length() -> None:
    query = stream(
        "SELECT domain, cast(ts AS DATE) AS d, ts, unhex(domain) AS b, count(*) AS n FROM hits "
        "GROUP BY window(ts, '10 seconds'), domain, cast(ts AS DATE), ts, unhex(domain)"
    )
    schema = summary_schema(query.program)
    far = pa.array([2**62], pa.int64()).cast(schema.field("ts").type)
    row = [
        pa.array(["x" * 1_000]),
        pa.array([date(2026, 5, 1)]),
        far,
        pa.array([b"\x00\xff"]),
        pa.array([-1]),
    ]
    rows = pa.Table.from_arrays(row, schema=schema)
    finished = PaneFinisher(Jobs(lambda one: True, can_judge=True)).finish
    jobs = Jobs(lambda one: True)
    jobs.finish = failing  # type: ignore[method-assign]
    jobs.judge = lambda _q, windows: {w: Verdict((0,)) for w in windows}  # type: ignore[method-assign]
    finished = PaneFinisher(jobs).finish(query, {1: [(1, rows)]})
    keys = finished.left_out[1].named[0].keys
    assert len(keys["domain"] or "") == bad_groups.KEY_CHARACTERS_MAX
    assert keys["d"] == "2026-05-01"
    assert keys["ts"] == str(2**62)
    assert keys["b"] == "00ff"


def failing(query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
    if any(groups.num_rows for groups in windows.values()):
        raise GroupFailed("query q", "[BAD]")
    return {}


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bad_groups, "KNOWN_MAX", 10)
    known = KnownFailures()
    for n in range(25):
        known.remember(QUERY, n, table(("a", n)), "[BAD]")
    assert len(known) == 10
    assert known.reason(QUERY, 24, table(("a", 24))) == "[BAD]"
    assert known.reason(QUERY, 24, table(("a", 23))) is None
    assert known.reason(QUERY, 23, table(("a", 24))) is None


@given(
    st.integers(0, 60).flatmap(
        lambda size: st.tuples(st.just(size), st.sets(st.integers(0, max(0, size - 1))))
    ),
    st.integers(0, 80),
)
def test_halving_finds_exactly_those_that_fail_or_says_what_is_in_doubt(
    drawn: tuple[int, set[int]], jobs_max: int
) -> None:
    size, bad = drawn
    bad = {one for one in bad if one < size}
    ran = 0

    def fails(part: Any) -> str | None:
        nonlocal ran
        ran += 1
        assert part, "nothing is run for nobody"
        first = next((one for one in part if one in bad), None)
        return None if first is None else f"bad {first}"

    found = search_by_halving(range(size), fails, jobs_max=jobs_max)
    assert ran <= jobs_max
    assert set(found.failing) <= bad
    assert bad <= set(found.failing) | set(found.unresolved)
    assert not set(found.failing) & set(found.unresolved)
    for one, reason in found.failing.items():
        assert reason == f"bad {one}"
    if jobs_max >= 2 * size:
        assert not found.unresolved


def test_one_bad_group_of_many_is_found_in_as_many_jobs_as_the_number_has_digits() -> None:
    ran: list[int] = []

    def fails(part: Any) -> str | None:
        ran.append(len(part))
        return "bad" if 77_777 in part else None

    assert search_by_halving(range(100_000), fails, jobs_max=99).failing == {77_777: "bad"}
    assert len(ran) <= 2 * 17


def test_nothing_left_out_is_false_and_says_so() -> None:
    assert not LeftOut()
    assert LeftOut(count=1).text() == "1 group was left out"


class Ordering(Jobs):
    """A Spark that fails on a bad group only where it has to be ordered: beside another one."""

    def finish(self, query: Query, windows: Mapping[int, pa.Table]) -> dict[int, pa.Table]:
        if all(table.num_rows < 2 for table in windows.values()):
            self.finished.append(sum(table.num_rows for table in windows.values()))
            return {w: table for w, table in windows.items() if table.num_rows}
        return super().finish(query, windows)


def test_a_group_that_fails_only_beside_others_is_the_only_one_left_out() -> None:
    finished = PaneFinisher(Ordering(negative)).finish(QUERY, {0: [(0, many(8, bad={5}))]})
    assert len(counts(finished.rows[0])) == 7
    (named,) = finished.left_out[0].named
    assert (named.keys, named.reason) == ({"domain": "d5"}, "[BAD] d5")


def test_no_group_is_accused_that_passes_alone() -> None:
    """Without a verdict halving can't tell who it was: what is in doubt is left out as such."""
    jobs = Ordering(negative, can_judge=False)
    finished = PaneFinisher(jobs).finish(QUERY, {0: [(0, many(8, bad={5}))]})
    assert finished.left_out[0].named == ()
    assert finished.left_out[0].unresolved == finished.left_out[0].count > 0
