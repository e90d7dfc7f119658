"""``explain --data``: what the site parts would send of files that are there."""

from __future__ import annotations

import pytest

from headwater.local.trial.sent_bytes import SentBytes, sent_bytes

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, user STRING)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM counts AS SELECT domain, count(*) AS n FROM hits
GROUP BY window(ts, '20 seconds', '10 seconds'), domain;
CREATE STREAM users AS SELECT domain, count(DISTINCT user) AS n FROM hits
GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM rows WITH (window = '10 seconds') AS SELECT DISTINCT domain FROM hits;
CREATE STREAM nodes AS SELECT site() AS node, count(*) AS n FROM hits
GROUP BY window(ts, '10 seconds'), site();
CREATE STREAM none AS SELECT count(*) AS n FROM hits WHERE domain = 'z'
GROUP BY window(ts, '10 seconds');
CREATE STREAM levels WITH (degrade = 'coarsen(time, 30 s), sample(user, 1/2)') AS
SELECT user, count(*) AS n FROM hits GROUP BY window(ts, '10 seconds'), user;
"""
RECORDS = {
    "fra": [("00", "a", "u1"), ("01", "a", "u2"), ("02", "a", "u3"), ("03", "b", "u1")],
    "syd": [("04", "a", "u1"), ("05", "a", "u1"), ("15", "b", "u2")],
}


@pytest.fixture(scope="module")
def found(spark_house, tmp_path_factory: pytest.TempPathFactory) -> dict[str, SentBytes]:
    place = tmp_path_factory.mktemp("sent")
    for site, records in RECORDS.items():
        (place / "sites" / site).mkdir(parents=True)
        lines = [f"2026-05-04T12:00:{at}Z,{domain},{user}\n" for at, domain, user in records]
        (place / "sites" / site / "hits.csv").write_text("".join(lines))
    all_of = sent_bytes(TEXT, place / "sites", place / "scratch", spark_house.running)
    return {one.stream: one for one in all_of}


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_rows_of_each_pane_and_when_merged(found: dict[str, SentBytes]) -> None:
    counts = found["counts"]
    assert sorted(rows for rows, _ in counts.panes) == [1, 1, 2]
    assert counts.merged_rows == 3, "a and b in the first pane, b in the second"
    assert (counts.pane, counts.sites, counts.share) == ("10 seconds", 2, 1.0)


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_bytes_and_the_reduction_are_those_of_messages(found: dict[str, SentBytes]) -> None:
    counts = found["counts"]
    assert counts.raw_bytes == sum(len("2026-05-04T12:00:00Z,a,u1\n") for _ in range(7))
    assert counts.sent == sum(size for _, size in counts.panes) > 3 * 64, "each is signed"
    assert counts.reduction == counts.raw_bytes / counts.sent


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_the_largest_growing_state_is_told(found: dict[str, SentBytes]) -> None:
    assert found["users"].largest_state == 3, "three users of a in one pane of fra"
    assert found["rows"].largest_state == 2
    assert found["counts"].largest_state is None
    assert "largest growing state: 3 rows of one group in a pane" in found["users"].text()
    assert "growing" not in found["counts"].text()


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_a_key_that_each_site_fills_in_is_filled_in(found: dict[str, SentBytes]) -> None:
    assert found["nodes"].merged_rows == 3, "fra once, syd in two panes"


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_a_query_that_nothing_is_in_says_so(found: dict[str, SentBytes]) -> None:
    assert found["none"].panes == ()
    assert "no record of them is in the query" in found["none"].text()


def test_a_sample_says_which_share_it_is() -> None:
    one = SentBytes("s", 10_000_000, 2, 1_000, 0.25, ((4, 100), (6, 300)), merged_rows=7)
    assert one.reduction == 2.5
    said = one.text()
    assert "1,000 bytes of 2 sites were read, a share of 0.25" in said
    assert "rows of a pane: 5.0, at most 6" in said
    assert "bytes of a pane: 200, at most 300" in said
    assert "rows in all: 10 sent, 7 when merged" in said
    assert "source bytes for each byte sent: 2.5" in said
    assert "all of them would be reduced further" in said


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_each_level_of_a_stream_is_told_with_its_bytes(found: dict[str, SentBytes]) -> None:
    levels = found["levels"]
    names = [one.stream for one in levels.levels]
    assert names == ["levels_30_seconds", "levels_30_seconds_sample_of_user_1_in_2"]
    longer, sampled = (one.sent for one in levels.levels)
    assert levels.sent > longer > 0, "three panes, one of thirty seconds at each site"
    assert levels.sent > sampled > 0
    assert (
        f"at {levels.levels[0].operator}: {longer / levels.sent:.0%} of the bytes" in levels.text()
    )
    assert found["counts"].levels == ()
