"""All rows as files, at sites and at the root: the same answers as by one plain Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from nasty_logs import write_sites

from headwater.agent.answers import answer_runner, merge_in_shares
from headwater.local.trial.compare_results import differences
from headwater.local.trial.try_query import try_central, try_query
from headwater.spark.rows import collect
from headwater.store import image_packer
from headwater.store.cube import update_maker

TEXT = Path(__file__).with_name("queries.sql").read_text(encoding="utf-8")

pytestmark = pytest.mark.spark


@pytest.mark.timeout(600)
def test_answers_whose_rows_all_went_by_files_equal_those_of_one_spark(
    spark_house, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds so small that nothing goes through the driver, and little is merged at once."""
    for module, name in (
        (collect, "QUICK_BYTES_MAX"),
        (answer_runner, "QUICK_BYTES_MAX"),
        (answer_runner, "MERGE_BYTES_MAX"),
        (update_maker, "MERGE_BYTES_MAX"),
        (image_packer, "WAITING_BYTES_MAX"),
    ):
        monkeypatch.setattr(module, name, -1)
    monkeypatch.setattr(merge_in_shares, "MERGE_BYTES_MAX", 1_000)
    write_sites(tmp_path / "sites", seed=20260303)
    spark = spark_house.running()
    federated = try_query(TEXT, tmp_path / "sites", spark=spark)
    found = differences(federated, try_central(TEXT, tmp_path / "sites", spark=spark))
    assert set(found.values()) == {None}, found
