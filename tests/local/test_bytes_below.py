"""Whether it is known to be little before anybody has read the query."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.local import bytes_below
from headwater.local.bytes_below import is_surely_little


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bytes_below, "LITTLE_BYTES_MAX", 1_000)
    monkeypatch.setattr(bytes_below, "ENTRIES_MAX", 10)
    (tmp_path / "north" / "deep").mkdir(parents=True)
    return tmp_path


def test_all_files_below_count_whatever_a_query_names(sites: Path) -> None:
    assert is_surely_little(sites)
    (sites / "north" / "a.csv").write_bytes(b"x" * 600)
    (sites / "north" / "deep" / "b.txt").write_bytes(b"x" * 400)
    assert is_surely_little(sites)
    (sites / "c").write_bytes(b"x")
    assert not is_surely_little(sites)


def test_what_is_compressed_counts_for_more(sites: Path) -> None:
    (sites / "north" / "a.csv.gz").write_bytes(b"x" * 200)
    assert not is_surely_little(sites)


def test_too_many_files_and_no_sites_at_all_are_not_known(sites: Path, tmp_path: Path) -> None:
    assert not is_surely_little(tmp_path / "nowhere")
    assert not is_surely_little(sites / "north" / "deep"), "no folders in it"
    for number in range(20):
        (sites / "north" / f"{number}.csv").touch()
    assert not is_surely_little(sites)
