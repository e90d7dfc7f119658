"""Coarser groups are made of those by all keys: of merged rows, growing states among them."""

from collections.abc import Sequence
from itertools import combinations

import msgspec
import pyarrow as pa
import pytest
from query_kit import queries_in

from headwater.algebra.rows.arrow_rows import ArrowMerger, Groups
from headwater.algebra.rows.columns import SETS_MAX, Folding
from headwater.algebra.rows.fold_groups import GroupMaker
from headwater.algebra.rows.types import group_schema, summary_schema
from headwater.plan.program import Program

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, id BIGINT, status INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM asked AS SELECT {} FROM hits GROUP BY window(ts, '10 seconds'), {};
"""


def program_of(items: str, groups: str) -> Program:
    text = SOURCE.format(items, groups)
    (query,) = queries_in(text, at="r")
    return query.program


def groups_of(program: Program, *parts: list[tuple[object, ...]]) -> Groups:
    schema = summary_schema(program)
    tables = [
        pa.table([list(one) for one in zip(*rows, strict=True)], schema=schema) for rows in parts
    ]
    found = GroupMaker(program).groups(tables)
    assert found.merged.schema == group_schema(program)
    return found


def rows_of(groups: Groups) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in groups.merged.to_pylist()}


def test_a_null_of_the_data_and_one_of_the_roll_up_are_two_groups() -> None:
    program = program_of("domain, status, count(*) AS n", "ROLLUP (domain, status)")
    found = groups_of(program, [("a", 200, 2), (None, 200, 1)], [("a", 200, 1), ("a", None, 4)])
    assert rows_of(found) == {
        ("a", 200, 0, 3),
        ("a", None, 0, 4),
        (None, 200, 0, 1),
        ("a", None, 1, 7),
        (None, None, 1, 1),
        (None, None, 3, 8),
    }


def test_a_value_that_two_groups_have_counts_once_in_the_coarser_one() -> None:
    items = "domain, count(DISTINCT id) AS ids, count(*) AS n"
    program = program_of(items, "GROUPING SETS ((domain), ())")
    found = groups_of(program, [("a", 1, 2), ("a", 2, 1), ("b", 1, 5)], [("b", None, 1)])
    assert rows_of(found) == {("a", 0, 3, 2), ("b", 0, 6, 1), (None, 1, 9, 2)}


def test_sites_send_what_the_finest_grouping_has_and_no_more() -> None:
    rolled = program_of("domain, status, count(*) AS n", "CUBE (domain, status)")
    plain = program_of("domain, status, count(*) AS n", "domain, status")
    assert rolled.site_sql == plain.site_sql
    assert (rolled.keys, rolled.partials) == (plain.keys, plain.partials)


def test_where_a_group_overflows_so_do_those_that_it_is_part_of() -> None:
    program = program_of("domain, count(*) AS n", "ROLLUP (domain)")
    most = (1 << 63) - 1
    found = groups_of(program, [("a", most), ("b", 1)], [("a", most)])
    assert rows_of(found) == {("b", 0, 1)}
    assert {tuple(row.values()) for row in found.overflowing.to_pylist()} == {("a", 0), (None, 1)}
    assert found.overflowing_count == 2


def test_a_coarser_group_overflows_alone() -> None:
    program = program_of("domain, count(*) AS n", "ROLLUP (domain)")
    most = (1 << 63) - 1
    found = groups_of(program, [("a", most), ("b", 1)])
    assert rows_of(found) == {("a", 0, most), ("b", 0, 1)}
    assert found.overflowing.to_pylist() == [{"domain": None, "grouping_set": 1}]


def test_no_more_is_merged_at_a_time_than_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty-four sets side by side took sixty-four times the memory."""
    program = program_of("domain, status, count(*) AS n", "CUBE (domain, status)")
    merged: list[int] = []
    groups = ArrowMerger.groups

    def counted(self: ArrowMerger, parts: Sequence[pa.Table]) -> Groups:
        merged.append(sum(part.num_rows for part in parts))
        return groups(self, parts)

    monkeypatch.setattr(ArrowMerger, "groups", counted)
    groups_of(program, [("a", 1, 1), ("a", 2, 1), ("b", 1, 1)])
    assert merged == [3] * 5


def test_large_answers_are_divided_by_the_keys_that_are_in_every_set() -> None:
    assert GroupMaker(program_of("count(*) AS n", "domain, ROLLUP (status)")).key_names == [
        "domain"
    ]
    assert GroupMaker(program_of("count(*) AS n", "CUBE (domain, status)")).key_names == []


def test_more_sets_than_there_may_be_are_refused_though_no_two_are_alike() -> None:
    keys = ", ".join(["domain", "status", *(f"id + {n}" for n in range(5))])
    program = program_of("count(*) AS n", f"GROUPING SETS (({keys}), ())")
    assert isinstance(program.folding, Folding)
    unlike = [one for size in range(8) for one in combinations(range(7), size)]
    for count in (SETS_MAX, SETS_MAX + 1):
        folding = msgspec.structs.replace(program.folding, sets=tuple(unlike[-count:]))
        asked = msgspec.structs.replace(program, folding=folding)
        if count == SETS_MAX:
            GroupMaker(asked)
            continue
        with pytest.raises(ValueError, match="grouping sets: wanted 1 to 64 unlike ones"):
            GroupMaker(asked)


def test_an_overflow_names_the_columns_of_the_finest_groups() -> None:
    program = program_of("domain, count(*) AS n", "ROLLUP (domain)")
    most = (1 << 63) - 1
    found = groups_of(program, [("a", most), ("b", 1)], [("a", most)])
    assert "count_1" in found.columns


@pytest.mark.parametrize(
    "sets", [((0,), (0,)), ((0, 1), (0, 1)), ((0,), (1, 0)), ((0,), (2,)), ((0, 1),) * 65]
)
def test_sets_that_there_can_t_be_are_refused(sets: tuple[tuple[int, ...], ...]) -> None:
    program = program_of("count(*) AS n", "CUBE (domain, status)")
    assert isinstance(program.folding, Folding)
    folding = msgspec.structs.replace(program.folding, sets=sets)
    with pytest.raises(ValueError, match="grouping sets: wanted 1 to 64 unlike ones"):
        GroupMaker(msgspec.structs.replace(program, folding=folding))
