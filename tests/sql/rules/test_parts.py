"""Several roots: a stream becomes one query for each, and a site lets in no other division."""

from typing import Any

import msgspec
import pytest
import query_kit

from headwater.errors import QueryRefused
from headwater.plan.part import PARTS_MAX, Part
from headwater.plan.query import Query
from headwater.sql.admit.admit import Policy, check_query
from headwater.sql.compile import compile_statements

SOURCE = """\
CREATE SOURCE access (ts TIMESTAMP, domain STRING, status INT, bytes BIGINT)
WITH (format = 'csv', path = 'access/*.log', time = 'ts');
"""
SITES = ("hub", "oslo", "paris", "rome")
GROUPED = "GROUP BY window(ts, '10s'), domain"
SELECT = f"SELECT domain, count(*) AS n FROM access {GROUPED}"


def compiled(text: str, *, known: tuple[str, ...] = SITES, next_counter: int = 4) -> list[Query]:
    return compile_statements(
        SOURCE + text, root="hub", installer="hub", next_counter=next_counter, known_sites=known
    )


def parts(select: str = SELECT, *, roots: str = "oslo, paris, rome") -> list[Query]:
    return compiled(f"CREATE STREAM requests WITH (roots = '{roots}') AS {select};")


def refused(text: str, *, known: tuple[str, ...] = SITES) -> str:
    with pytest.raises(QueryRefused) as caught:
        compiled(text, known=known)
    return str(caught.value)


def test_a_stream_with_three_roots_is_three_queries() -> None:
    queries = parts()
    assert [query.id.name for query in queries] == [
        "requests_part_1",
        "requests_part_2",
        "requests_part_3",
    ]
    assert [query.root for query in queries] == ["oslo", "paris", "rome"]
    assert [query.part for query in queries] == [Part("requests", n, 3) for n in (1, 2, 3)]
    assert {query.stream for query in queries} == {"requests"}


def test_parts_differ_in_who_answers_and_in_which_groups_and_in_nothing_else() -> None:
    queries = parts()
    alike = {"id": None, "root": "", "part": None, "site_sql": "", "central_sql": ""}
    (same,) = {msgspec.json.encode(query_kit.changed(q, **alike)) for q in queries}
    assert same
    assert len({query.program.site_sql for query in queries}) == 3


def test_all_of_a_file_are_one_unit_whatever_the_number_of_roots() -> None:
    queries = compiled(
        f"CREATE STREAM one AS {SELECT}; "
        f"CREATE STREAM two WITH (roots = 'oslo, paris') AS {SELECT}; "
        f"CREATE STREAM three AS {SELECT};"
    )
    assert [str(query.id) for query in queries] == [
        "one@hub#4",
        "two_part_1@hub#5",
        "two_part_2@hub#6",
        "three@hub#7",
    ]
    assert {query.unit_last for query in queries} == {7}
    assert len({query.unit for query in queries}) == 1


def test_one_name_in_roots_is_a_root() -> None:
    (query,) = parts(roots="paris")
    assert (query.id.name, query.root, query.part) == ("requests", "paris", None)


def test_a_site_keeps_the_groups_of_the_part_and_the_reference_the_same_ones() -> None:
    belongs = "PMOD(XXHASH64(domain), 3) = 1"
    query = parts()[1]
    assert f"WHERE NOT ts IS NULL AND {belongs} GROUP BY 1, 2" in query.program.site_sql
    assert f"AS access WHERE {belongs} GROUP BY" in query.program.central_sql


def test_computed_keys_are_hashed_as_they_are_grouped_and_after_where() -> None:
    query = parts(
        "SELECT lower(domain) AS d, bytes DIV status AS each, count(*) AS n FROM access a "
        "WHERE a.status > 0 OR a.bytes = 0 GROUP BY window(ts, '10s'), d, 2 HAVING n > 1",
        roots="oslo, paris",
    )[0]
    keys = "CAST(LOWER(domain) AS STRING), CAST(bytes DIV status AS BIGINT)"
    belongs = f"AND PMOD(XXHASH64({keys}), 2) = 0 GROUP BY"
    own = "WHERE NOT ts IS NULL AND (status > 0 OR bytes = 0)"
    assert f"{own} {belongs} 1, 2, 3" in query.program.site_sql
    assert f"WHERE (a.status > 0 OR a.bytes = 0) {belongs}" in query.program.central_sql
    assert "WHERE count_1 > 1" in query.program.root_sql
    assert f"{keys.split(', ', maxsplit=1)[0]} AS d" in query.program.site_sql


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("roots = 'oslo, paris', root = 'oslo'", "wanted `root` or `roots`, got both"),
        ("roots = 'oslo, paris, oslo'", "root `oslo` is named twice"),
        ("roots = 'oslo, pariss'", "no site `pariss`; did you mean `paris`? sites: hub, oslo"),
        ("roots = ' , '", f"wanted 1 to {PARTS_MAX} sites that answer, got 0"),
    ],
)
def test_roots_that_make_no_sense_are_refused_at_their_place(options: str, message: str) -> None:
    text = refused(f"CREATE STREAM s WITH ({options}) AS\n{SELECT};")
    assert text.startswith("line 3:31: ")
    assert message in text


def test_there_is_a_limit_to_roots() -> None:
    sites = tuple(f"s{n}" for n in range(PARTS_MAX + 1))
    text = f"CREATE STREAM s WITH (roots = '{{}}') AS {SELECT};"
    assert len(compiled(text.format(", ".join(sites[1:])), known=sites)) == PARTS_MAX
    assert f"got {PARTS_MAX + 1}" in refused(text.format(", ".join(sites)), known=sites)


@pytest.mark.parametrize(
    ("select", "place", "message"),
    [
        (
            "SELECT count(*) FROM access GROUP BY window(ts, '10s')",
            "3:31",
            "2 roots deal out the groups of an answer among them",
        ),
        (f"{SELECT} ORDER BY n DESC", "4:86", "ORDER BY with 2 roots: each sees its own groups"),
        (f"{SELECT} LIMIT 3", "4:83", "LIMIT with 2 roots: each sees its own groups alone"),
    ],
)
def test_what_needs_all_groups_in_one_place_is_refused(
    select: str, place: str, message: str
) -> None:
    text = refused(f"CREATE STREAM s WITH (roots = 'oslo, paris') AS\n{select};")
    assert text.startswith(f"line {place}: ")
    assert message in text
    assert "name one root" in text


def test_what_a_part_is_called_must_be_free() -> None:
    several = f"CREATE STREAM s WITH (roots = 'oslo, paris') AS {SELECT};"
    message = "part 2 of 2 of s is called `s_part_2`, and so is `S_Part_2`"
    assert message in refused(f"CREATE STREAM S_Part_2 AS {SELECT};\n{several}")
    assert message in refused(f"{several}\nCREATE STREAM S_Part_2 AS {SELECT};")
    source = SOURCE.replace("access", "s_part_1")
    assert "and so is `s_part_1`" in refused(f"{source}{several}")
    long = "s" * 95
    assert "give the stream a shorter one" in refused(several.replace("STREAM s", f"STREAM {long}"))


PART = parts(
    "SELECT domain, status, sum(bytes) AS total FROM access WHERE bytes > 0 "
    "GROUP BY window(ts, '10s'), domain, status"
)[1]
BELONGS = " AND PMOD(XXHASH64(domain, status), 3) = 1"


def changed(**changes: Any) -> Query:
    return query_kit.changed(PART, **changes)


def divided(by: str) -> Query:
    """The site part with another division of the groups."""
    assert BELONGS in PART.program.site_sql
    return changed(site_sql=PART.program.site_sql.replace(BELONGS, by))


def test_a_part_is_admitted_also_after_a_journey() -> None:
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(PART), type=Query)
    assert again == PART
    check_query(again, Policy())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (divided(""), "wanted WHERE … AND PMOD(XXHASH64(domain, status), 3) = 1 last"),
        (divided(" AND PMOD(XXHASH64(domain), 3) = 1"), "wanted WHERE … AND PMOD"),
        (divided(" AND PMOD(XXHASH64(status, domain), 3) = 1"), "wanted WHERE … AND PMOD"),
        (divided(" AND PMOD(XXHASH64(domain, status), 4) = 1"), "wanted WHERE … AND PMOD"),
        (divided(" AND PMOD(XXHASH64(domain, status), 3) = 0"), "wanted WHERE … AND PMOD"),
        (divided(" AND PMOD(HASH(domain, status), 3) = 1"), "wanted WHERE … AND PMOD"),
        (divided(BELONGS.replace("AND", "OR")), "wanted WHERE … AND PMOD"),
        (divided(f"{BELONGS} AND status > 1"), "wanted WHERE … AND PMOD"),
        (divided(" AND RAND() < 0.3"), "wanted WHERE … AND PMOD"),
        (changed(part=None), "wanted WHERE NOT ts IS NULL first"),
        (changed(part=Part("requests", 2, 4)), "wanted WHERE … AND PMOD"),
        (changed(part=Part("requests", 3, 3)), "part: wanted one of 2 to"),
        (changed(part=Part("other", 2, 3)), "called 'other_part_2'; got part 2 of 3 of other"),
        (changed(part=Part("requests", 2, 1)), "part: wanted one of 2 to"),
        (changed(part=Part("requests", 2, PARTS_MAX + 1)), "part: wanted one of 2 to"),
    ],
)
def test_no_other_division_of_the_groups_gets_in(query: Query, message: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        check_query(query, Policy())
    assert message in str(caught.value)


def test_a_hash_in_the_text_of_a_user_stays_a_condition_like_any_other() -> None:
    (query,) = compiled(
        f"CREATE STREAM s AS SELECT domain, count(*) AS n FROM access "
        f"WHERE pmod(xxhash64(domain), 3) = 1 {GROUPED};"
    )
    assert query.part is None
    check_query(query, Policy())
