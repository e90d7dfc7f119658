"""What a site admits is read off the registry of aggregates: all that is there, and no more."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.aggregates import AGGREGATES, ALL, RULES, SITE_FUNCTIONS, comoments
from headwater.algebra.aggregates.aggregate import UnfitArguments
from headwater.errors import QueryRefused
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.sql.admit.admit import check_query
from headwater.sql.admit.column_levels import MANY_TO_ONE

COLUMNS = {
    "yes": "boolean",
    "small": "tinyint",
    "whole": "int",
    "big": "bigint",
    "single": "float",
    "twice": "double",
    "money": "decimal(10,2)",
    "word": "string",
    "raw": "binary",
    "day_": "date",
    "ts": "timestamp",
}
SOURCE = (
    f"CREATE SOURCE r ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())}) "
    "WITH (format = 'json', path = 'r.json', time = 'ts');"
)


OTHERS = {name for name, rule in RULES.items() if rule.take is None} | {
    "hll_4",
    "hll_12",
    "kll_bigint_200",
    "kll_double_200",
    "theta_12",
}
"""Of sketches that differ in size alone, two stand for all."""


def calls() -> Iterator[str]:
    for name, aggregate in AGGREGATES.items():
        if aggregate.takes_star:
            yield f"{name}(*)"
        for columns in [*((column,) for column in COLUMNS), ("whole", "twice")]:
            try:
                aggregate.split(tuple(COLUMNS[column] for column in columns))
            except UnfitArguments:
                continue
            yield f"{name}({', '.join(columns)})"


def asking(call: str) -> Query:
    select = f"SELECT {call} FILTER (WHERE yes) AS a, {call} AS b FROM r"
    (query,) = queries_in(
        f"{SOURCE} CREATE STREAM s AS {select} GROUP BY window(ts, '10 seconds');"
    )
    return query


@pytest.mark.parametrize("call", list(calls()))
def test_what_is_compiled_of_an_aggregate_is_admitted_by_its_rule_and_by_no_other(
    call: str,
) -> None:
    query = asking(call)
    check_query(query)
    (own,) = {partial.merge for partial in query.program.partials}
    assert own in {rule.name for rule in AGGREGATES[call.partition("(")[0]].rules}
    for other in OTHERS - {own}:
        refused = f"does not merge by {other}|wanted columns side by side|wanted a count"
        with pytest.raises(QueryRefused, match=refused):
            check_query(merging_by(other, query))


def merging_by(rule: str, query: Query) -> Query:
    partials = [msgspec.structs.replace(one, merge=rule) for one in query.program.partials]
    program = msgspec.structs.replace(query.program, partials=tuple(partials))
    return msgspec.structs.replace(query, program=program)


def test_every_function_that_is_admitted_is_one_that_an_aggregate_computes() -> None:
    """A site admits a function by its type as well, so it must be known what it yields."""
    made = {
        (function.lower(), rule.name)
        for aggregate in ALL
        for rule in aggregate.rules
        for kinds in [(), *((kind,) for kind in COLUMNS.values()), ("int", "double")]
        for function in functions_of(aggregate.name, kinds)
    }
    assert made == SITE_FUNCTIONS
    assert {function for function, _ in SITE_FUNCTIONS} <= {one.name for one in ALL}


def functions_of(name: str, kinds: tuple[str, ...]) -> Iterator[str]:
    try:
        split = AGGREGATES[name].split(kinds)
    except UnfitArguments:
        return
    for partial in split.partials:
        outer, _, inner = partial.site.partition("(")
        yield inner.partition("(")[0] if outer == "CAST" else outer


def test_a_rule_that_nobody_has_is_refused_for_the_query_alone() -> None:
    forged = merging_by("median", asking("sum(whole)"))
    word = msgspec.msgpack.encode(FlatQuery.of(forged))
    other = msgspec.msgpack.decode(word, type=FlatQuery).query()
    with pytest.raises(QueryRefused, match="sum does not merge by median"):
        check_query(other)


def test_the_guide_names_every_aggregate() -> None:
    said = (Path(__file__).resolve().parents[3] / "docs" / "guide" / "sql.md").read_text("utf-8")
    row = said.partition("\n| aggregates | ")[2].partition("\n")[0]
    assert set(re.findall(r"`(\w+)(?:\([*x]\))?`", row)) == set(AGGREGATES)


def test_columns_of_which_no_value_may_leave_are_open_to_counts_sums_and_moments_alone() -> None:
    moments = {"avg", "var_pop", "skewness", "kurtosis", *comoments.FUNCTIONS}
    assert {"count", "count_if", "sum", "hll_sketch_agg", *moments} == MANY_TO_ONE
