"""A sample is whole lines, the same for the same seed, about as many as were asked for."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from query_kit import queries_in

from headwater.errors import ConfigurationError
from headwater.local.trial.sampled_sites import BLOCK_BYTES, Sample, sample_sites
from headwater.local.trial.site_folders import site_folders
from headwater.plan.query import Query

LINES = [f"2026-05-04T09:{n % 60:02d}:00Z,thing{n},{n}\n" for n in range(40_000)]


def queries(*, path: str = "*.csv*", header: bool = False, encoding: str = "") -> list[Query]:
    options = "header = 'true', " if header else ""
    options += f"encoding = '{encoding}', " if encoding else ""
    text = (
        "CREATE SOURCE sales (at TIMESTAMP, product STRING, n INT) "
        f"WITH (format = 'csv', {options}path = '{path}', time = 'at'); "
        "CREATE STREAM one AS SELECT count(*) AS n FROM sales GROUP BY window(at, '1 hour');"
    )
    return queries_in(text, at="root")


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    for site in ("north", "south"):
        folder = tmp_path / "sites" / site
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("".join(LINES))
    return tmp_path / "sites"


def taken(sites: Path, into: Path, sample: Sample, found: list[Query] | None = None) -> list[str]:
    """The lines of all files of the sample, the sites in order."""
    sample_sites(found or queries(), site_folders(sites), into, sample)
    return [
        line
        for path in sorted(into.rglob("*"))
        if path.is_file()
        for line in path.read_text().splitlines(keepends=True)
    ]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_about_the_share_is_taken_in_whole_lines_none_twice(
    share: float, sites: Path, tmp_path: Path
) -> None:
    counts = []
    for seed in range(20):
        lines = taken(sites, tmp_path / str(seed), Sample(share, seed))
        assert set(lines) <= set(LINES)
        for site in ("north", "south"):
            of_site = (tmp_path / str(seed) / site / "a.csv").read_text().splitlines()
            assert len(of_site) == len(set(of_site))
        counts.append(len(lines))
    assert sum(counts) / len(counts) == pytest.approx(2 * len(LINES) * share, rel=0.1)


def test_all_is_taken_where_all_is_asked_for(sites: Path, tmp_path: Path) -> None:
    assert taken(sites, tmp_path / "all", Sample(1.0)) == LINES + LINES


def test_the_same_seed_takes_the_same_and_another_takes_others(sites: Path, tmp_path: Path) -> None:
    one = taken(sites, tmp_path / "1", Sample(0.05, seed=7))
    assert taken(sites, tmp_path / "2", Sample(0.05, seed=7)) == one
    assert taken(sites, tmp_path / "3", Sample(0.05, seed=8)) != one


def test_each_line_is_as_likely_as_any_other(sites: Path, tmp_path: Path) -> None:
    """The first and the last ones, too."""
    size = sum(map(len, LINES))
    (sites / "south" / "a.csv").unlink()
    ends = {LINES[0]: 0, LINES[-1]: 0, LINES[len(LINES) // 2]: 0}
    for seed in range(200):
        lines = set(taken(sites, tmp_path / str(seed), Sample(0.25, seed)))
        for line in ends:
            ends[line] += line in lines
    assert size > 40 * BLOCK_BYTES
    assert all(30 <= count <= 70 for count in ends.values()), ends


def test_a_header_is_in_front_of_what_is_taken_once(tmp_path: Path) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("at,product,n\n" + "".join(LINES))
    for seed in range(10):
        found = queries(header=True)
        lines = taken(tmp_path / "sites", tmp_path / str(seed), Sample(0.3, seed), found)
        assert lines[0] == "at,product,n\n"
        assert set(lines[1:]) <= set(LINES)


def test_every_site_is_heard_also_where_its_files_are_small(tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / "sites" / f"site{number}"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text(LINES[number])
    (tmp_path / "sites" / "empty").mkdir()
    lines = taken(tmp_path / "sites", tmp_path / "sample", Sample(0.001))
    assert lines == LINES[:8]
    assert (tmp_path / "sample" / "empty").is_dir()


def test_a_site_that_would_be_silent_is_heard_by_its_smallest_file(tmp_path: Path) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    for number, count in enumerate((9, 3, 7)):
        (folder / f"{number}.csv").write_text("".join(LINES[:count]))
    assert taken(tmp_path / "sites", tmp_path / "sample", Sample(1e-9)) == LINES[:3]


def test_sites_with_the_same_files_give_other_lines(sites: Path, tmp_path: Path) -> None:
    taken(sites, tmp_path / "s", Sample(0.05))
    north, south = ((tmp_path / "s" / site / "a.csv").read_text() for site in ("north", "south"))
    assert north != south


def test_a_file_that_two_sources_name_is_cut_only_as_both_allow(tmp_path: Path) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("".join(LINES))
    lines, records = (
        (
            "CREATE SOURCE {0} (at TIMESTAMP, product STRING, n INT) "
            "WITH (format = 'csv', path = '*.csv', time = 'at'{1}); "
            "CREATE STREAM of_{0} AS SELECT count(*) AS n FROM {0} GROUP BY window(at, '1 hour');"
        ).format("a", ""),
        (
            "CREATE SOURCE b (at TIMESTAMP, product STRING, n INT) "
            "WITH (format = 'csv', path = '*.csv', time = 'at', multiline = 'true'); "
            "CREATE STREAM of_b AS SELECT count(*) AS n FROM b GROUP BY window(at, '1 hour');"
        ),
    )
    for number, text in enumerate((lines + records, records + lines)):
        found = queries_in(text, at="root")
        into = tmp_path / str(number)
        assert taken(tmp_path / "sites", into, Sample(0.001), found) == LINES


def test_records_that_begin_as_the_source_says_are_not_cut(tmp_path: Path) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("".join(LINES))
    found = queries_in(
        "CREATE SOURCE a (at TIMESTAMP, rest STRING) WITH (format = 'regex', path = '*.csv', "
        r"time = 'at', pattern = r'([^,]*)(.*)', record_start = r'\d'); "
        "CREATE STREAM of_a AS SELECT count(*) AS n FROM a GROUP BY window(at, '1 hour');",
        at="root",
    )
    assert taken(tmp_path / "sites", tmp_path / "s", Sample(0.001), found) == LINES


def test_what_can_not_be_cut_is_in_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    packed = gzip.compress("".join(LINES).encode(), mtime=0)
    for number in range(40):
        (folder / f"{number}.csv.gz").write_bytes(packed)
    found = sample_sites(
        queries(), site_folders(tmp_path / "sites"), tmp_path / "sample", Sample(0.25)
    )
    files = list((tmp_path / "sample" / "north").iterdir())
    assert 2 <= len(files) <= 20
    assert all(path.read_bytes() == packed for path in files)
    assert (found.file_count, found.files_taken) == (40, len(files))
    assert found.bytes_taken == len(files) * len(packed)
    assert found.bytes_all == 40 * len(packed)


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("utf-16le", "utf-16-le"),
        ("utf-32", "utf-32-le"),
        ("utf-32be", "utf-32-be"),
        ("", "utf-16"),
        ("", "utf-32"),
    ],
)
def test_text_whose_lines_end_in_several_bytes_is_not_cut(
    declared: str, written: str, tmp_path: Path
) -> None:
    """Without a declaration the mark that Python writes says it."""
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    data = "".join(LINES[:4_000]).encode(written)
    (folder / "a.csv").write_bytes(data)
    found = queries(encoding=declared)
    sample_sites(found, site_folders(tmp_path / "sites"), tmp_path / "sample", Sample(0.1))
    assert (tmp_path / "sample" / "north" / "a.csv").read_bytes() == data


@pytest.mark.parametrize("before", ["\n", "\ufeff\r\n\r\n"], ids=["an empty line", "a mark"])
def test_a_header_below_empty_lines_is_in_front_of_what_is_taken(
    before: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text(f"{before}at,product,n\n" + "".join(LINES), newline="")
    for seed in range(5):
        found = queries(header=True)
        lines = taken(tmp_path / "sites", tmp_path / str(seed), Sample(0.1, seed), found)
        named = [line for line in lines if line.strip("\n\ufeff")]
        assert named[0] == "at,product,n\n"
        assert set(named[1:]) <= set(LINES)


def test_a_last_line_without_its_end_does_not_run_into_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "sites" / "north"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("".join(LINES).rstrip("\n"))
    assert taken(tmp_path / "sites", tmp_path / "all", Sample(1.0)) == LINES


def test_a_path_that_is_not_below_the_sites_can_not_be_sampled(sites: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="leave --sample away"):
        taken(sites, tmp_path / "s", Sample(0.5), queries(path="/var/log/*.csv"))
