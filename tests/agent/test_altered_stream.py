"""A stream is altered while it runs, and back: a root, a relay and two sites, over TLS and real
disks, with Python in Spark's place. One of the sites is killed in between, and comes back."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.counting_spark import in_sparks_place
from tests.recorded.derived_keys import OPERATOR, Certificates
from tests.recorded.log_lines import ORIGIN_S
from tests.recorded.small_federation import DATA, SITES, Clock, SmallFederation, sign_the_roster

from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import alter_stream, run_statements
from headwater.net.control.control_client import ControlClient
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

WRITERS = ("north", "south")
SPEED = 4.0
LAST_S = 64
FIRST_WINDOW_S = 4
WINDOW_S = 4
STREAM = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = 'access.log', time = 'ts');
CREATE STREAM rough WITH (begin = '2026-11-17 09:00:04', lateness = '20 seconds',
  disorder = '1 second', deadline = '3 seconds') AS
SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '4 seconds'), domain;
"""
A_SECOND = {"busy": 8, "calm": 1, "quiet": 1}
"""Records of each site, by domain: under an error of 20 % the small ones stay."""
RECORDS = sum(A_SECOND.values()) * len(WRITERS) * WINDOW_S
"""Of a window."""


def test_what_is_kept_back_begins_and_ends_with_the_settings_and_no_window_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with in_sparks_place() as spark:
        first, second = asyncio.run(asyncio.wait_for(_story(tmp_path, spark), 180.0))
    answers = _answers()
    windows = [round(one.start_us / 1e6 - ORIGIN_S) for one in answers]
    assert windows == list(range(FIRST_WINDOW_S, windows[-1] + 1, WINDOW_S))
    begins, ends = _second_of(first), _second_of(second)
    assert FIRST_WINDOW_S < begins < ends < windows[-1]
    assert {one.query for one in answers} == {first.id}
    for second_s, answer in zip(windows, answers, strict=True):
        number = (second_s >= begins) + (second_s >= ends)
        assert answer.settings == (number,), second_s
        assert answer.covered == answer.expected == len(WRITERS)
        (column,) = answer.withheld.columns or (None,)
        if number == 1:
            assert column is not None, second_s
            assert column.is_kept
            assert column.asked == "20 % of total"
            assert column.total == RECORDS * 0.2
        else:
            assert column is None, second_s


async def _story(directory: Path, spark: Any) -> tuple[api.Altered, api.Altered]:
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
            await run_statements(home.request, STREAM, home.signature)
            first = await _alter(home, "error = '20 % of total'")
            await federation.at(ORIGIN_S + _second_of(first) + 1)
            await federation.kill("north")
            second = await _alter(home, "error = 'none'")
            await federation.start("north")
            await federation.at(ORIGIN_S + LAST_S)
            await federation.until(lambda: len(_answers()) >= 12, within_s=60.0)
        return first, second
    finally:
        writing.cancel()
        await federation.stop()


def _client(federation: SmallFederation, certificates: Certificates) -> ControlClient:
    port = federation.ports["home"]
    return ControlClient("127.0.0.1", port, certificates.files(OPERATOR), site="home")


async def _alter(home: ControlClient, settings: str) -> api.Altered:
    (altered,) = await alter_stream(
        home.request, "rough", settings, home.signature, now_s=lambda: ORIGIN_S
    )
    return altered


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


def _answers() -> list[Envelope]:
    """The newest of each window whose records all came."""
    reader = ResultsReader(SITES / "home" / "results" / "rough")
    found = [envelope for _, envelope in reader.newest()]
    return [one for one in found if one.end_us / 1e6 <= ORIGIN_S + LAST_S - 8]


def _second_of(altered: api.Altered) -> int:
    at = datetime.strptime(altered.begins, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    return round(at.timestamp() - ORIGIN_S)
