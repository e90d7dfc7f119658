"""How a query and its program travel and are kept: the one value that knows both shapes."""

from pathlib import Path

import msgspec
import pytest
from pane_kit import make_query

import headwater
from headwater.algebra.rows.columns import Column
from headwater.plan.flat_query import FlatQuery
from headwater.plan.part import Part
from headwater.plan.program import Program
from headwater.plan.query import Query, TimeKind


def test_what_travels_is_all_of_a_query_and_of_its_program() -> None:
    own = {*Query.__struct_fields__} - {"program"}
    assert not own & {*Program.__struct_fields__}
    assert {*FlatQuery.__struct_fields__} == own | {*Program.__struct_fields__}


def test_a_query_comes_back_as_it_was() -> None:
    query = make_query(begin_pane=3, sites=("s1",), deadline_s=4.0)
    program = msgspec.structs.replace(
        query.program, text="x", keys=(Column("k", "int"),), settings=(("zone", "UTC"),)
    )
    query = msgspec.structs.replace(
        query, program=program, part=Part("a", 1, 2), time=TimeKind.AGE, unit_last=4
    )
    for one in (query, msgspec.structs.replace(query, part=None, time=TimeKind.EVENT, last_n=7)):
        word = msgspec.msgpack.encode(FlatQuery.of(one))
        assert msgspec.msgpack.decode(word, type=FlatQuery).query() == one


@pytest.mark.parametrize("machine", ["edge", "overlay", "root", "node"])
def test_no_machine_looks_into_a_program(machine: str) -> None:
    files = list((Path(headwater.__file__).parent / machine).rglob("*.py"))
    assert files
    assert [str(file) for file in files if ".program" in file.read_text()] == []
