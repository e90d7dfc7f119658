"""The made CDN logs: repeatable, skewed as real ones, with the troubles that real ones have."""

import re
from collections import Counter
from datetime import datetime
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from headwater.errors import ConfigurationError
from headwater.local.demo.cdn_catalogue import zipf_steps
from headwater.local.demo.workload import LineMaker, SiteProfile, SiteWriter, Traffic, write_bulk

START_S = 1_767_225_600.0
PROFILE = SiteProfile("fra", lines_per_s=400.0)
TRAFFIC = Traffic(seed=11)


def fields_of(data: bytes) -> list[list[str]]:
    return [line.split(",") for line in data.decode().splitlines()]


def bulk(traffic: Traffic, profile: SiteProfile = PROFILE, *, lines: int = 20_000) -> bytes:
    maker = LineMaker(profile, traffic)
    return b"".join(maker.bulk(line_count=lines, from_s=START_S, to_s=START_S + traffic.day_s))


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def time_s(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_what_is_written_does_not_depend_on_how_often_the_writer_is_called(tmp_path: Path) -> None:
    often = SiteWriter(tmp_path / "often", PROFILE, TRAFFIC, start_s=START_S)
    seldom = SiteWriter(tmp_path / "seldom", PROFILE, TRAFFIC, start_s=START_S)
    for step in range(1, 301):
        often.advance(START_S + step * 0.1)
    seldom.advance(START_S + 7.7)
    seldom.advance(START_S + 30.0)
    often.close()
    seldom.close()
    assert content(tmp_path / "often") == content(tmp_path / "seldom")
    assert often.lines_bytes == sum(map(len, content(tmp_path / "often").values()))


def test_another_seed_or_another_site_writes_other_lines() -> None:
    one = LineMaker(PROFILE, TRAFFIC).tick(START_S, 3)
    assert one == LineMaker(PROFILE, TRAFFIC).tick(START_S, 3)
    assert one != LineMaker(PROFILE, Traffic(seed=12)).tick(START_S, 3)
    assert one != LineMaker(SiteProfile("lhr", 400.0), TRAFFIC).tick(START_S, 3)


def test_files_rotate_by_renaming_and_servers_take_turns(tmp_path: Path) -> None:
    writer = SiteWriter(tmp_path, PROFILE, Traffic(seed=1, rotate_s=10.0), start_s=START_S)
    writer.advance(START_S + 22.0)
    writer.close()
    names = set(content(tmp_path))
    assert {"access-1.log", "access-1.log.000040", "access-1.log.000080"} <= names
    assert {"access-2.log", "access-2.log.000020", "access-2.log.000060"} <= names


def test_domains_follow_zipf_with_local_favourites() -> None:
    traffic = Traffic(seed=5, malformed_share=0.0)
    shares = {}
    for site in ("fra", "lhr"):
        rows = fields_of(bulk(traffic, SiteProfile(site, 400.0), lines=60_000))
        counted = Counter(row[1] for row in rows).most_common()
        shares[site] = [domain for domain, _ in counted[:10]]
        expected = zipf_steps(traffic.domain_count, traffic.zipf_exponent)[9]
        assert sum(count for _, count in counted[:10]) / 60_000 == pytest.approx(expected, rel=0.1)
    assert set(shares["fra"]) & set(shares["lhr"])
    assert shares["fra"] != shares["lhr"]


def test_the_load_follows_the_day_in_the_sites_own_zone() -> None:
    hours = START_S + np.arange(0, 24, 0.25) * 3600.0
    london = LineMaker(SiteProfile("lhr", 1.0), TRAFFIC).load_at(hours)
    tokyo = LineMaker(SiteProfile("nrt", 1.0, zone_h=9.0), TRAFFIC).load_at(hours)
    assert london.mean() == pytest.approx(1.0)
    assert london.min() > 0
    assert (hours[london.argmax()] - START_S) / 3600 == pytest.approx(20.0, abs=0.5)
    assert (hours[tokyo.argmax()] - START_S) / 3600 == pytest.approx(11.0, abs=0.5)


def test_bulk_lines_are_denser_in_the_evening() -> None:
    rows = fields_of(bulk(Traffic(seed=2, malformed_share=0.0)))
    hour = Counter(int((time_s(row[0]) - START_S) // 3600) for row in rows)
    assert hour[20] > 2 * hour[8]


def test_a_line_carries_the_time_its_request_began_and_a_few_are_much_later() -> None:
    traffic = Traffic(seed=3, late_share=0.02, malformed_share=0.0)
    rows = [
        row
        for n in range(100)
        for f in LineMaker(PROFILE, traffic).tick(START_S, n)
        for row in fields_of(f)
    ]
    times = [time_s(row[0]) for row in rows]
    assert any(later < earlier for earlier, later in pairwise(times))
    longest = [START_S + 25.0 - t for t in times]
    assert max(longest) <= 25.0 + traffic.late_s_max + 30.0
    assert min(times) < START_S


def test_a_few_lines_do_not_parse_and_the_others_have_eight_fields() -> None:
    share = 0.01
    rows = fields_of(bulk(Traffic(seed=4, malformed_share=share)))
    good = [row for row in rows if len(row) == 8 and row[0].endswith("Z")]
    assert 0.5 * share < 1 - len(good) / len(rows) < 1.5 * share
    for row in good[:500]:
        assert int(row[3]) in (200, 206, 301, 304, 403, 404, 500, 502, 503)
        assert int(row[4]) >= 0
        assert float(row[5]) > 0
        assert row[6].startswith("10.")
        assert row[7] in ("HIT", "MISS", "EXPIRED", "BYPASS")


def test_misses_and_errors_are_slower_and_popular_things_are_cached() -> None:
    rows = fields_of(bulk(Traffic(seed=6, malformed_share=0.0)))
    latency = {
        kind: np.median([float(r[5]) for r in rows if r[7] == kind and r[3] == "200"])
        for kind in ("HIT", "MISS")
    }
    assert latency["MISS"] > 3 * latency["HIT"]
    assert sum(row[7] == "HIT" for row in rows) > 0.5 * len(rows)


def test_bulk_mode_writes_the_number_of_lines_asked_for(tmp_path: Path) -> None:
    written = write_bulk(
        tmp_path,
        PROFILE,
        Traffic(seed=9, delimiter="\t"),
        line_count=3_000,
        from_s=START_S,
        to_s=START_S + 60.0,
    )
    data = content(tmp_path)
    assert sum(map(len, data.values())) == written
    assert sum(text.count(b"\n") for text in data.values()) == 3_000
    assert all(text.endswith(b"\n") for text in data.values())
    assert data["access-1.log"].splitlines()[0].count(b"\t") == 7


def test_a_workload_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="swing"):
        Traffic(seed=1, swing=1.5)
    with pytest.raises(ConfigurationError, match="rotate_s"):
        Traffic(seed=1, rotate_s=0.0)


def test_the_demos_statements_name_the_fields_that_are_written() -> None:
    text = (files("headwater.local.demo") / "demo.sql").read_text()
    for field in ("ts", "domain", "url", "status", "bytes", "latency_ms", "client", "cache"):
        assert re.search(rf"^  {field} +[A-Z]+", text, re.M)
