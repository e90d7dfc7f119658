"""When ``try`` gives up: not while Spark is at work, and not for ever."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.errors import HeadwaterError
from headwater.local.trial import try_query
from headwater.local.trial.results import Progress
from headwater.local.trial.run_spark import BytesSoFar

NOTHING = itertools.repeat(0)
QUERY: Any = SimpleNamespace(id="q@root#1", root="root")


class Federation:
    """Ends after so many looks at it, and shows nothing of what it does meanwhile."""

    def __init__(self, looks: int, troubles: dict[str, str] | None = None) -> None:
        self._looks = looks
        feeder = SimpleNamespace(
            has_read_all=False,
            found_bytes=9,
            waiting_bytes=9,
            record_count=0,
            troubles=lambda: dict(troubles or {}),
        )
        self.home = SimpleNamespace(
            ended=set(), feeder=feeder, failure="", answer_count=0, notices=()
        )
        self.roster = SimpleNamespace(sites=(1, 2))

    @property
    def runtimes(self) -> dict[str, Any]:
        self._looks -= 1
        if self._looks <= 0:
            self.home.ended.add("q@root#1")
        return {"root": self.home}


def wait(
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_at_work: bool | Callable[[], bool],
    work_s_max: float = 60.0,
    looks: int = 10,
    troubles: dict[str, str] | None = None,
    scanned: Iterator[int] = NOTHING,
) -> None:
    monkeypatch.setattr(try_query, "STALL_LOOKS_MAX", looks)
    monkeypatch.setattr(try_query, "WORK_S_MAX", work_s_max)
    monkeypatch.setattr(try_query, "LOOK_EVERY_S", 0.0)
    asked = is_at_work if callable(is_at_work) else lambda: is_at_work
    spark: Any = SimpleNamespace(
        end=lambda: None, is_at_work=asked, bytes_scanned=lambda: next(scanned)
    )
    federation: Any = Federation(looks=60, troubles=troubles)
    asyncio.run(try_query._until_ended(federation, [QUERY], spark, lambda _: None))


def test_a_long_job_of_spark_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, is_at_work=True)


def test_what_follows_a_long_job_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are committed, sent and answered after it, while Spark has nothing to do. All is
    over after 15 looks; Spark is asked from the sixth on."""
    wait(monkeypatch, is_at_work=_for_looks(6))
    with pytest.raises(HeadwaterError, match="nothing has moved"):
        wait(monkeypatch, is_at_work=_for_looks(3))


def _for_looks(count: int) -> Callable[[], bool]:
    looks = itertools.count(1)
    return lambda: next(looks) <= count


def test_where_nothing_works_it_ends_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeadwaterError, match="nothing has moved"):
        wait(monkeypatch, is_at_work=False)


def test_a_stall_names_the_site_that_is_in_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeadwaterError, match="root: source sales: no such device"):
        wait(monkeypatch, is_at_work=False, troubles={"sales": "no such device"})


def test_a_batch_that_fails_again_and_again_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark is at work each time, and reads the same bytes once more."""
    with pytest.raises(HeadwaterError, match="the disk is full"):
        wait(
            monkeypatch,
            is_at_work=True,
            troubles={"sales": "the disk is full"},
            scanned=itertools.count(step=1),
        )


def test_no_job_is_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeadwaterError, match="nothing has moved"):
        wait(monkeypatch, is_at_work=True, work_s_max=0.0)


def test_looks_that_come_late_are_no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two of them its own sites were at work for an hour."""
    hours = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 3_600.0 * next(hours))
    monkeypatch.setattr(try_query, "time", clock)  # other threads keep their own
    wait(monkeypatch, is_at_work=False, work_s_max=1e6, looks=100)


def test_what_spark_reads_is_shown_before_it_is_committed_and_never_too_much() -> None:
    scanned = iter([1_000, 1_030, 1_500, 1_600, 1_610, 9_999])
    scan = BytesSoFar(SimpleNamespace(bytes_scanned=lambda: next(scanned)))  # type: ignore[arg-type]
    said = [
        scan.added_to(Progress("reading", bytes_all=200, bytes_read=committed)).bytes_read
        for committed in (0, 0, 0, 100, 100, 100)
    ]
    assert said == [0, 30, 200, 200, 200, 200], "other files were read beside it"


def test_each_commit_begins_the_count_anew() -> None:
    scanned = iter([0, 90, 100, 140])
    scan = BytesSoFar(SimpleNamespace(bytes_scanned=lambda: next(scanned)))  # type: ignore[arg-type]
    said = [
        scan.added_to(Progress("reading", bytes_all=500, bytes_read=committed)).bytes_read
        for committed in (0, 0, 100, 100)
    ]
    assert said == [0, 90, 100, 140]
