"""Rows say where they were made by the word of their site, and name nobody they do not cover."""

from __future__ import annotations

import pyarrow as pa
import pytest
from query_kit import queries_in

from headwater.algebra.rows.places import PlaceColumn, problem_with_places, with_places
from headwater.errors import QueryRefused
from headwater.overlay.roster_index import RosterIndex
from headwater.plan.roster import Roster, Site

ROSTER = Roster(
    1,
    (
        Site(0, "oslo", region="north", labels={"tier": "core"}),
        Site(1, "rome", region="south"),
        Site(2, "bari", region="south", labels={"tier": "edge"}),
    ),
    "oslo",
)
INDEX = RosterIndex(ROSTER)
COLUMNS = (
    PlaceColumn("node", "site"),
    PlaceColumn("area", "region"),
    PlaceColumn("tier", "label:tier"),
)
SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, d STRING) WITH (format = 'csv', path = '*', time = 'ts');
"""


def rows_of(name: str) -> pa.Table:
    site = ROSTER.site(name)
    here = {column.what: site.place(column.what) for column in COLUMNS}
    nothing = pa.nulls(2, pa.string())
    empty = pa.table([nothing, nothing, nothing, pa.array([1, 2])], ["node", "area", "tier", "n"])
    return with_places(empty, COLUMNS, here)


def problem(rows: pa.Table, sites: int) -> str | None:
    return problem_with_places(rows, COLUMNS, INDEX.sites_of, sites=sites)


def test_a_site_fills_in_what_the_roster_says_of_it() -> None:
    assert rows_of("bari").to_pylist()[1] == {
        "node": "bari",
        "area": "south",
        "tier": "edge",
        "n": 2,
    }
    assert rows_of("rome").to_pylist()[0]["tier"] is None


def test_rows_that_name_a_site_outside_their_coverage_are_refused() -> None:
    both = pa.concat_tables([rows_of("rome"), rows_of("bari")])
    assert problem(both, 0b110) is None
    assert "node is 'bari'" in str(problem(both, 0b010))
    assert "node is 'oslo'" in str(problem(rows_of("oslo"), 0b110))


@pytest.mark.parametrize(("column", "value"), [("area", "north"), ("tier", "core"), ("node", None)])
def test_a_site_cannot_speak_for_a_region_or_a_label_of_others(column: str, value: str) -> None:
    rows = rows_of("rome")
    forged = pa.array([value, value], pa.string())
    rows = rows.set_column(rows.schema.get_field_index(column), column, forged)
    assert column in str(problem(rows, 0b010))


def compiled(select: str):
    (query,) = queries_in(f"{SOURCE} CREATE STREAM n AS {select}", at="oslo")
    return query


def test_the_site_part_leaves_the_place_open() -> None:
    query = compiled(
        "SELECT upper(site()) AS node, label('tier') AS t, count(*) AS n FROM hits "
        "GROUP BY window(ts, '1 minute'), site(), label('tier') HAVING site() <> 'x'"
    )
    program = query.program
    assert [place.what for place in program.place_columns] == ["site", "label:tier"]
    assert program.site_sql.count("CAST(NULL AS STRING)") == 2
    assert "SITE" not in program.site_sql
    assert "SITE" not in program.root_sql
    assert {"function label", "function site"} <= set(query.needs)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT site(), count(*) FROM hits GROUP BY window(ts, '1 minute')",
        "SELECT max(site()) AS m FROM hits GROUP BY window(ts, '1 minute')",
        "SELECT count(*) FROM hits WHERE site() = 'a' GROUP BY window(ts, '1 minute')",
        "SELECT count(*) FROM hits GROUP BY window(ts, '1 minute'), upper(site())",
        "SELECT count(*) FROM hits GROUP BY window(ts, '1 minute'), label(d)",
    ],
)
def test_a_place_is_a_key_and_nothing_else(select: str) -> None:
    with pytest.raises(QueryRefused, match=r"GROUP BY"):
        compiled(select)
