"""Two hundred sites in one process, through Spark at both ends: what one plain Spark says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.try_query import try_query

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

SITES = 200
SQL = """
CREATE SOURCE hits (ts TIMESTAMP, url STRING, bytes BIGINT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM by_url AS
SELECT url, count(*) AS n, sum(bytes) AS bytes, max(bytes) AS most
FROM hits GROUP BY window(ts, '1 day'), url;
"""


@pytest.mark.timeout(280)
def test_two_hundred_sites_answer_as_one_spark_does(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    for number in range(SITES):
        folder = tmp_path / "sites" / f"s{number}"
        folder.mkdir(parents=True)
        days = [f"2001-01-0{1 + k % 2} 10:00:00" for k in range(6)]
        lines = [f"{day},u{(number + k) % 7},{number * k}" for k, day in enumerate(days)]
        (folder / "a.csv").write_text("\n".join(lines))
    found = try_query(SQL, tmp_path / "sites", spark=running_spark)
    central = try_central(SQL, tmp_path / "sites", spark=running_spark)
    assert differences(found, central) == {"by_url": None}
    (result,) = found
    for window in result.windows:
        assert window.envelope is not None
        assert window.envelope.final
        assert window.envelope.covered == SITES
