"""Three roots, each with its part: together they answer what one plain Spark does.

The whole way, on the same nasty logs: Spark at five sites, cubes, a tree set under each root, and
Spark at three roots, two of which have data of their own.
"""

from pathlib import Path

import pyarrow as pa
import pytest
from nasty_logs import write_sites

from headwater.algebra.rows.equality import difference
from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult, joined
from headwater.local.trial.try_query import try_query

SOURCE = """
CREATE SOURCE hits (
  id BIGINT, ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, latency DOUBLE,
  price DECIMAL(10,2), cached BOOLEAN
) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
STREAMS = {
    "words": "SELECT domain, count(*) AS n, sum(bytes) AS b FROM hits "
    "GROUP BY window(ts, '30 seconds', '10 seconds'), domain HAVING count(*) > 1",
    "strange": "SELECT latency, status, count(*) AS n, max(price) AS p FROM hits "
    "WHERE latency <> 1e308 OR latency IS NULL GROUP BY window(ts, '1 minute'), latency, status",
    "computed": "SELECT bytes DIV status AS each, upper(domain) AS d, count(*) AS n FROM hits "
    "WHERE status > 0 GROUP BY window(ts, '1 minute'), bytes DIV status, upper(domain)",
}
ROOTS = ("amsterdam", "bogota", "root")

pytestmark = pytest.mark.spark


def text_of(options: str) -> str:
    return SOURCE + "".join(
        f"CREATE STREAM {name}{options} AS {select};\n" for name, select in STREAMS.items()
    )


IN_PARTS = text_of(f" WITH (roots = '{', '.join(ROOTS)}')")


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("parts") / "sites"
    write_sites(directory, seed=20260302)
    return directory


@pytest.fixture(scope="module")
def parts(spark_house, sites: Path) -> dict[str, list[StreamResult]]:
    results = joined(try_query(IN_PARTS, sites, spark=spark_house.running()))
    return {found[0].query.stream: found for found in results}


@pytest.fixture(scope="module")
def whole(spark_house, sites: Path) -> dict[str, StreamResult]:
    """The reference knows nothing of roots."""
    results = try_central(text_of(""), sites, spark=spark_house.running())
    return {one.query.id.name: one for one in results}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", STREAMS)
def test_the_parts_are_together_the_whole(name, parts, whole):
    tables: dict[int, list[pa.Table]] = {}
    for part in parts[name]:
        for window in part.windows:
            tables.setdefault(window.window, []).append(window.rows)
    wanted = {window.window: window.rows for window in whole[name].windows}
    assert tables.keys() == wanted.keys()
    for window, rows in wanted.items():
        assert difference(pa.concat_tables(tables[window]), rows) is None, window


@pytest.mark.timeout(600)
def test_every_root_answers_its_own_part_exactly(parts):
    for stream, found in parts.items():
        assert tuple(one.query.root for one in found) == ROOTS
        for number, one in enumerate(found, start=1):
            assert one.windows or stream == "words", f"part {number} of {stream} has groups"
            for window in one.windows:
                assert window.envelope is not None
                assert (window.envelope.exact, window.envelope.final) == (True, True)
                assert window.envelope.part == one.query.part


def test_a_group_is_in_the_same_part_in_every_window(parts):
    domains = [
        domain
        for part in parts["words"]
        for domain in {row["domain"] for w in part.windows for row in w.rows.to_pylist()}
    ]
    assert len(domains) == len(set(domains))
    assert None in domains


def test_one_part_equals_the_reference_of_that_part(running_spark, sites, parts):
    central = try_central(IN_PARTS, sites, spark=running_spark)
    found = [one for results in parts.values() for one in results]
    assert set(differences(found, central).values()) == {None}
