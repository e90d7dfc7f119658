"""The federated answer equals plain Spark's, for every query of ``queries.sql``.

One run of the whole way answers all of them: Spark at five sites, cubes, the tree, Spark at the
root. A second one sends all rows by files. The reference of both is computed by one Spark over all
files with the users' own SELECTs.
"""

import re
from pathlib import Path

import pytest
from nasty_logs import write_sites

from headwater.agent.answers import answer_runner, merge_in_shares, window_groups
from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query
from headwater.spark.rows import collect
from headwater.sql.compile import parse_script
from headwater.store import image_packer
from headwater.store.cube.early import part_reader

TEXT = Path(__file__).with_name("queries.sql").read_text(encoding="utf-8")
NAMES = [stream.name for stream in parse_script(TEXT).streams]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("conformance") / "sites"
    write_sites(directory, seed=20260301)
    return directory


@pytest.fixture(scope="module")
def federated(spark_house, sites: Path) -> list[StreamResult]:
    return try_query(TEXT, sites, spark=spark_house.running())


@pytest.fixture(scope="module")
def central(spark_house, sites: Path) -> list[StreamResult]:
    return try_central(TEXT, sites, spark=spark_house.running())


@pytest.fixture(scope="module")
def unlike(federated: list[StreamResult], central: list[StreamResult]) -> dict[str, str | None]:
    """For each stream where the two differ."""
    return differences(federated, central)


def test_there_are_at_least_thirty_queries():
    assert len(NAMES) >= 30


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", NAMES)
def test_the_federated_answer_equals_one_spark_over_all_records(name, unlike):
    assert unlike[name] is None


def test_the_reference_is_not_empty(central):
    empty = [one.query.id.name for one in central if not one.windows]
    assert empty == ["q33"], "only the query that nothing satisfies has no rows"


def test_every_answer_is_exact_or_bounded_and_final(federated):
    for stream in federated:
        for window in stream.windows:
            assert window.envelope is not None
            bounded = window.envelope.bounded
            assert window.envelope.exact != bool(bounded)
            assert window.envelope.exact or bounded.exact_otherwise
            assert window.envelope.final
            assert window.envelope.covered == window.envelope.expected == 5


def test_a_changed_value_is_a_difference(federated, central):
    """The comparison itself can fail."""
    first = next(one for one in central if one.query.id.name == "q02")
    fewer = StreamResult(first.query, first.windows[1:])
    mine = next(one for one in federated if one.query.id.name == "q02")
    assert differences([mine], [fewer])["q02"] is not None


@pytest.mark.timeout(1_200)
def test_answers_whose_rows_all_went_by_files_equal_those_of_one_spark(
    spark_house, sites: Path, central: list[StreamResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds so small that nothing goes through the driver, and little is merged at once. Asked
    of every other query: what goes by files are rows, whatever they mean."""
    for module, name in (
        (collect, "QUICK_BYTES_MAX"),
        (answer_runner, "QUICK_BYTES_MAX"),
        (window_groups, "MERGE_BYTES_MAX"),
        (part_reader, "MERGE_BYTES_MAX"),
        (image_packer, "WAITING_BYTES_MAX"),
    ):
        monkeypatch.setattr(module, name, -1)
    monkeypatch.setattr(merge_in_shares, "MERGE_BYTES_MAX", 1_000)
    sources, *streams = re.split(r"(?=^CREATE STREAM )", TEXT, flags=re.M)
    found = try_query("".join([sources, *streams[::2]]), sites, spark=spark_house.running())
    unlike = differences(found, central)
    assert set(unlike.values()) == {None}, unlike
