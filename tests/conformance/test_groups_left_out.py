"""Overflow belongs to the group, through the whole way: groups that fail are left out by the root
and by the reference, each by itself, and everything else is equal.

Sites ``oslo`` and ``lima`` have records in three windows of ten seconds. In the second one the
domain ``big`` passes its types when both sites are merged, and ``zero`` has nothing to divide by.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query
from headwater.store.results.results import ResultsReader

pytestmark = pytest.mark.spark

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT, flag INT, price DECIMAL(38,0))
WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
STREAMS = """
CREATE STREAM fine AS SELECT domain, count(*) AS n FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM long_sum AS SELECT domain, sum(bytes) AS b, count(*) AS n FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM sliding AS SELECT domain, sum(bytes) AS b FROM hits
  GROUP BY window(ts, '20 seconds', '10 seconds'), domain;
CREATE STREAM decimal_sum AS SELECT domain, sum(price) AS p FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM division AS SELECT domain, 10 / sum(flag) AS x FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM two_of_them AS SELECT domain, 10 / sum(flag) AS x, sum(bytes) AS b FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM having_fails AS SELECT domain, count(*) AS n FROM hits
  GROUP BY window(ts, '10 seconds'), domain HAVING 10 / sum(flag) < 6;
CREATE STREAM having_guards AS SELECT domain, 10 / sum(flag) AS x FROM hits
  GROUP BY window(ts, '10 seconds'), domain HAVING sum(flag) > 0;
CREATE STREAM ranked AS SELECT domain, max(bytes) AS m FROM hits
  GROUP BY window(ts, '10 seconds'), domain ORDER BY 10 / sum(flag) DESC LIMIT 2;
CREATE STREAM no_keys AS SELECT 10 / (sum(flag) - 5) AS x FROM hits
  GROUP BY window(ts, '10 seconds');
CREATE STREAM bad_cast AS SELECT domain, cast(substr(max(domain), 1, 1) AS INT) AS i FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM of_sets AS SELECT domain, grouping_id() AS level, sum(bytes) AS b FROM hits
  GROUP BY window(ts, '10 seconds'), ROLLUP (domain) HAVING grouping(domain) = 0 OR count(*) > 4;
CREATE STREAM long_sessions WITH (session_max = '15 seconds') AS
  SELECT domain, count(*) AS n FROM hits GROUP BY session_window(ts, '11 seconds'), domain
  HAVING count(*) > 1 OR domain = 'zero';
CREATE STREAM divided WITH (roots = 'oslo, lima') AS SELECT domain, sum(bytes) AS b FROM hits
  GROUP BY window(ts, '10 seconds'), domain;
"""
BIG, HUGE = 2**62, 10**38 - 1
LEFT_OUT = {
    "fine": {},
    "long_sum": {1: 1},
    "sliding": {0: 1, 1: 1},
    "decimal_sum": {1: 1},
    "division": {1: 1},
    "two_of_them": {1: 2},
    "having_fails": {1: 1},
    "having_guards": {},
    "ranked": {1: 1},
    "no_keys": {0: 1, 2: 1},
    "bad_cast": {0: 2, 1: 4, 2: 2},
    "of_sets": {1: 2},
}


def lines(site: int) -> list[str]:
    def line(second: int, domain: str, bytes_: int, flag: int, price: int) -> str:
        return f"2026-05-01T12:00:{second:02d}Z,{domain},{bytes_},{flag},{price}"

    found = []
    for window in range(3):
        found += [line(10 * window, "a", 5, 1, 7), line(10 * window + 3, "b", 6, 1 + site, 8)]
    found += [line(14, "big", BIG, 2, HUGE), line(15, "zero", 1, 0, 1)]
    return found


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("left_out") / "sites"
    for number, name in enumerate(("oslo", "lima")):
        (directory / name).mkdir(parents=True)
        (directory / name / "hits.csv").write_text("\n".join(lines(number)) + "\n")
    return directory


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("left_out_work")


@pytest.fixture(scope="module")
def federated(spark_house, sites: Path, work: Path) -> dict[str, StreamResult]:
    found = try_query(SOURCE + STREAMS, sites, spark=spark_house.running(), work=work)
    return {one.query.id.name: one for one in found}


@pytest.fixture(scope="module")
def central(spark_house, sites: Path) -> dict[str, StreamResult]:
    found = try_central(SOURCE + STREAMS, sites, spark=spark_house.running())
    return {one.query.id.name: one for one in found}


NAMES = [*LEFT_OUT, "long_sessions", "divided_part_1", "divided_part_2"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_the_answer_equals_that_of_one_spark_under_the_same_rule(name, federated, central):
    assert differences([federated[name]], [central[name]])[name] is None


@pytest.mark.parametrize("name", list(LEFT_OUT))
def test_the_groups_that_fail_are_counted_and_the_others_stand(name, federated, central):
    for results in (federated, central):
        result = results[name]
        first = min(window.window for window in federated["fine"].windows)
        if name == "sliding":
            first = min(window.window for window in federated["sliding"].windows) + 1
        counts = {window - first: one.count for window, one in result.left_out.items()}
        assert counts == LEFT_OUT[name]


def test_sessions_that_are_too_long_are_counted_by_both(federated, central):
    """``a`` and ``b`` go on for twenty seconds."""
    for results in (federated, central):
        counts = [one.count for one in results["long_sessions"].left_out.values()]
        assert sum(counts) == 2


def test_windows_and_groups_beside_them_have_their_rows(federated):
    rows = {
        name: [sorted(window.rows[0].to_pylist(), key=str) for window in result.windows]
        for name, result in federated.items()
        if name in ("long_sum", "division", "ranked", "having_guards", "having_fails")
    }
    assert rows["long_sum"] == [["a", "b"], ["a", "b", "zero"], ["a", "b"]]
    assert rows["division"] == [["a", "b"], ["a", "b", "big"], ["a", "b"]]
    assert rows["ranked"] == [["a", "b"], ["a", "b"], ["a", "b"]]
    assert rows["having_guards"] == [["a", "b"], ["a", "b", "big"], ["a", "b"]]
    assert rows["having_fails"] == [["a", "b"], ["a", "b", "big"], ["a", "b"]]


def test_an_answer_that_lacks_a_group_is_final_and_not_exact_and_the_others_are_exact(federated):
    for name, result in federated.items():
        for window in result.windows:
            assert window.envelope is not None
            assert window.envelope.final
            assert window.envelope.exact == (window.window not in result.left_out), name
            assert window.envelope.left_out.exact_otherwise != window.envelope.exact


def test_the_header_names_the_groups_with_sparks_words(federated):
    (window,) = federated["two_of_them"].left_out.values()
    named = {one.keys["domain"]: one.reason for one in window.named}
    assert named["big"].startswith("[CAST_OVERFLOW]")
    assert named["zero"].startswith("[DIVIDE_BY_ZERO]")
    (window,) = federated["decimal_sum"].left_out.values()
    assert window.text() == "1 group was left out: domain = big: a sum leaves its type: sum_1"


def test_each_part_of_a_stream_with_several_roots_names_its_own(federated):
    parts = [federated[f"divided_part_{n}"] for n in (1, 2)]
    named = [g.keys["domain"] for p in parts for one in p.left_out.values() for g in one.named]
    assert named == ["big"]


def test_the_published_headers_have_columns_for_it(federated, work):
    reader = ResultsReader(next(work.glob("**/results/division")))
    headers = [reader.headers(seq) for seq in reader.publications()]
    counts = [count for table in headers for count in table["left_out"].to_pylist()]
    assert max(counts) == 1
    groups = [text for table in headers for one in table["left_out_groups"] for text in one.as_py()]
    assert groups[0].startswith("domain = zero: [DIVIDE_BY_ZERO]")
    assert pq.read_schema(next(reader.directory.glob("headers-*.parquet"))).names[-1] == "envelope"
