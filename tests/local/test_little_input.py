"""How much there is to read decides how Java compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.local import little_input
from headwater.local.trial.site_folders import is_brief

SQL = """
CREATE SOURCE sales (at TIMESTAMP, product STRING)
WITH (format = 'csv', path = '*.csv*', time = 'at');
CREATE STREAM one AS SELECT count(*) AS n FROM sales GROUP BY window(at, '1 hour');
CREATE STREAM two AS SELECT product, count(*) AS n FROM sales
GROUP BY window(at, '1 hour'), product;
"""


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(little_input, "LITTLE_BYTES_MAX", 1_000)
    for name in ("north", "south"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_the_files_of_all_sites_count_once_however_many_queries_read_them(sites: Path) -> None:
    assert is_brief(SQL, sites), "nothing at all is little"
    (sites / "north" / "a.csv").write_bytes(b"x" * 600)
    (sites / "south" / "b.csv").write_bytes(b"x" * 400)
    assert is_brief(SQL, sites)
    (sites / "south" / "c.csv").write_bytes(b"x")
    assert not is_brief(SQL, sites)


def test_what_is_not_read_does_not_count_and_what_expands_counts_for_more(sites: Path) -> None:
    (sites / "north" / "a.txt").write_bytes(b"x" * 2_000)
    (sites / "north" / "a.csv.zip").write_bytes(b"x" * 2_000)
    assert is_brief(SQL, sites)
    (sites / "north" / "a.csv.gz").write_bytes(b"x" * 126)
    assert not is_brief(SQL, sites)
