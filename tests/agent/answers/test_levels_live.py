"""A site goes to a level and back, over TLS and real disks, with Python in Spark's place: coarse
windows have every record once, and the fine ones are exact when all has followed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.recorded.counting_spark import in_sparks_place
from tests.recorded.derived_keys import OPERATOR, Certificates
from tests.recorded.log_lines import ORIGIN_S
from tests.recorded.small_federation import DATA, SITES, Clock, SmallFederation, sign_the_roster

from headwater.agent.control.operator_client import run_statements
from headwater.net.control.control_client import ControlClient
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

WRITERS = ("north", "south")
SPEED = 4.0
LAST_S = 50
COARSE_S = (20, 35)
"""Between these seconds the north is at its level."""
COARSE_PANE_S = 5
A_SECOND = {"busy": 3, "calm": 1}


class Told(NamedTuple):
    """One stream, and what its level is."""

    degrade: str
    level: str
    pane_s: int
    a_second: Mapping[str, int]
    """Of the level."""

    @property
    def text(self) -> str:
        return f"""
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = 'access.log', time = 'ts');
CREATE STREAM counts WITH (begin = '2026-11-17 09:00:05', lateness = '15 seconds',
  disorder = '1 second', deadline = '4 seconds', degrade = '{self.degrade}', finally = 'exact')
AS SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '{self.pane_s} seconds'), domain;
"""


TOLD = {
    "time": Told("coarsen(time, 5 s)", "counts_5_seconds", 1, A_SECOND),
    "key": Told(
        "coarsen(domain, left(domain, 1))", "counts_by_coarser_domain", 5, {"b": 3, "c": 1}
    ),
    "sample": Told("sample(domain, 1/2)", "counts_sample_of_domain_1_in_2", 5, {"busy": 3}),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_site_that_goes_to_a_level_loses_no_record_and_counts_none_twice(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = TOLD[name]
    monkeypatch.chdir(tmp_path)
    with in_sparks_place() as spark:
        asyncio.run(asyncio.wait_for(_story(tmp_path, spark, told), 180.0))
    coarse = _answers(told.level)
    assert [_second(one) for one in coarse] == [20, 25, 30]
    for one in coarse:
        assert (one.covered, one.expected) == (2, 2)
    first = _first_with_all(told.level)
    for one in first:
        # What follows may be in before a late window of the level is answered.
        if _second(one) == COARSE_S[0] or one.degraded:
            assert one.levels == (0, 1)
            assert {site.site for site in one.degraded} == {"north"}
        else:
            assert one.levels == (0,)
    levels = ((told.level, COARSE_PANE_S, told.a_second), ("counts", told.pane_s, A_SECOND))
    for stream, seconds, a_second in levels:
        for window, rows in _rows(stream).items():
            if COARSE_S[0] <= window < COARSE_S[1]:
                wanted = {domain: 2 * count * seconds for domain, count in a_second.items()}
                assert rows == wanted, (stream, window)
    fine = [one for one in _answers("counts") if _second(one) < LAST_S - 10]
    assert {_second(one) for one in fine} >= set(range(10, LAST_S - 12, told.pane_s))
    assert all(one.exact for one in fine), [_second(one) for one in fine if not one.exact]
    for one in coarse:
        _check_sample(one, is_sample=name == "sample")


def _check_sample(envelope: Envelope, *, is_sample: bool) -> None:
    sample = envelope.sampled
    assert (sample is not None) == is_sample
    if sample is not None:
        sampled = 2 * A_SECOND["busy"] * COARSE_PANE_S
        assert (sample.key, sample.share) == ("domain", 0.5)
        ((column, total, error),) = ((e.column, e.total, e.error) for e in sample.estimates)
        assert (column, total) == ("n", 2 * sampled)
        assert error == pytest.approx(2 * 0.5**0.5 * sampled)


async def _story(directory: Path, spark: Any, told: Told) -> None:
    keys = directory / "keys"
    keys.mkdir()
    certificates = Certificates(keys)
    for site in WRITERS:
        (DATA / site).mkdir(parents=True)
        (DATA / site / "access.log").touch()
    sign_the_roster(certificates, OPERATOR)
    federation = SmallFederation(certificates, Clock(ORIGIN_S, speed=SPEED), spark=spark)
    writing = asyncio.create_task(_write_logs(federation))
    try:
        for name in ("home", "hub", *WRITERS):
            await federation.start(name)
        async with _client(federation, certificates) as home:
            await run_statements(home.request, told.text, home.signature)
        await federation.at(ORIGIN_S + COARSE_S[0] - 3)
        _go_to(federation, "north", 1)
        await federation.at(ORIGIN_S + COARSE_S[1] - 3)
        _go_to(federation, "north", 0)
        await federation.at(ORIGIN_S + LAST_S)
        await federation.until(partial(_has_followed, told.pane_s), within_s=60.0)
    finally:
        writing.cancel()
        await federation.stop()


def _go_to(federation: SmallFederation, site: str, step: int) -> None:
    node = federation.runtimes[site].node
    for query_id, install in node.peer.live_queries().items():
        if install.query.stands_for is None:
            node.edge.set_step(query_id, step)


def _has_followed(pane_s: int) -> bool:
    fine = [one for one in _answers("counts") if COARSE_S[0] <= _second(one) < COARSE_S[1]]
    windows = (COARSE_S[1] - COARSE_S[0]) // pane_s
    return len(fine) == windows and all(one.exact for one in fine)


def _client(federation: SmallFederation, certificates: Certificates) -> ControlClient:
    port = federation.ports["home"]
    return ControlClient("127.0.0.1", port, certificates.files(OPERATOR), site="home")


async def _write_logs(federation: SmallFederation) -> None:
    for second in range(LAST_S):
        await federation.at(ORIGIN_S + second + 1)
        at = datetime.fromtimestamp(ORIGIN_S + second, UTC)
        lines = [
            f"{at:%Y-%m-%d %H:%M:%S.%f},{domain},1\n"
            for domain, count in A_SECOND.items()
            for _ in range(count)
        ]
        for site in WRITERS:
            with (DATA / site / "access.log").open("a") as log:
                log.write("".join(lines))


def _reader(stream: str) -> ResultsReader:
    return ResultsReader(SITES / "home" / "results" / stream)


def _answers(stream: str) -> list[Envelope]:
    """The newest of each window."""
    return [envelope for _, envelope in _reader(stream).newest()]


def _first_with_all(stream: str) -> list[Envelope]:
    """Of each window the first answer that covers both: on a busy machine one is late before."""
    reader, found = _reader(stream), dict[int, Envelope]()
    for seq in reader.publications():
        for one in reader.envelopes(seq):
            if one.covered == len(WRITERS):
                found.setdefault(one.start_us, one)
    return list(found.values())


def _rows(stream: str) -> dict[int, dict[str, int]]:
    """By second and domain."""
    reader, found = _reader(stream), dict[int, dict[str, int]]()
    for seq, envelope in reader.newest():
        rows = reader.answer(seq, envelope)
        assert rows is not None
        pairs = zip(rows["domain"].to_pylist(), rows["n"].to_pylist(), strict=True)
        found[_second(envelope)] = dict(pairs)
    return found


def _second(envelope: Envelope) -> int:
    return round(envelope.start_us / 1e6 - ORIGIN_S)
