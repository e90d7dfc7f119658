"""Alarms in the root's ledger: they outlive restarts and their query, within bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from store_kit import MERGER, query_of

from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.errors import UnreadableRow
from headwater.root.carriers.alarm_book import ALARM_KEPT_S, StandingAlarm
from headwater.root.outputs import KeepAlarm, Trim
from headwater.store.ledger import kept_alarms
from headwater.store.ledger.root_ledger import RootLedger

ID = str(query_of().id)
Open = Callable[[], RootLedger]


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def open_ledger(tmp_path: Path, now: list[float]) -> Iterator[Open]:
    opened: list[RootLedger] = []

    def open_() -> RootLedger:
        for ledger in opened:
            ledger.close()
        opened.append(
            RootLedger(tmp_path / "ledger", merger_of=lambda query: MERGER, clock=lambda: now[0])
        )
        return opened[-1]

    yield open_
    for ledger in opened:
        ledger.close()


def keep(number: int, *, pane: int = 5, count: int = 1, at_s: float = 1_000.0, query: str = ID):
    alarm = Alarm.of(AlarmKind.NEVER_CUT, query, 3, (pane, pane), "never cut", ["hub"])
    return KeepAlarm(query, StandingAlarm(number, alarm, count, at_s, at_s))


def test_they_come_back_after_a_restart_the_newest_of_each_number(open_ledger: Open) -> None:
    open_ledger().write([keep(0), keep(1), keep(0, count=7)])
    restored = open_ledger().restore(ID)
    assert restored.alarms == (keep(0, count=7).standing, keep(1).standing)


def test_a_query_that_is_removed_leaves_its_alarms(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(0), keep(0, query="other@home#2")])
    ledger.forget(ID)
    ledger = open_ledger()
    assert {one.alarm.query for one in ledger.alarms()} == {ID, "other@home#2"}
    assert ledger.queries() == ("other@home#2",)


def test_one_that_can_not_be_read_hides_no_other(open_ledger: Open) -> None:
    ledger = open_ledger()
    ledger.write([keep(0), keep(1, pane=7, at_s=1_001.0), keep(2, at_s=1_002.0)])
    with ledger._manifest.transaction():
        ledger._manifest.run("UPDATE alarms SET content = x'c1' WHERE number = 1")
    first, unread, last = ledger.alarms()
    assert (first, last) == (keep(0).standing, keep(2, at_s=1_002.0).standing)
    assert (unread.alarm.kind, unread.alarm.last, unread.last_s) == (AlarmKind.UNNAMED, 7, 1_001.0)
    assert f"alarm 1 of {ID}" in unread.alarm.text
    assert "can't be read" in unread.alarm.text
    with pytest.raises(UnreadableRow, match="an alarm of"):
        ledger.restore(ID)


def test_of_those_of_removed_queries_the_newest_stay(
    open_ledger: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_alarms, "ENDED_ALARMS_MAX", 2)
    ledger = open_ledger()
    ledger.write([keep(number, at_s=1_000.0 + number) for number in range(5)])
    ledger.write([keep(number, query="live@home#2") for number in range(5)])
    ledger.forget(ID)
    left = [one for one in ledger.alarms() if one.alarm.query == ID]
    assert [one.number for one in left] == [3, 4]
    assert len(ledger.alarms()) == 7


def test_they_go_when_they_are_old_and_their_windows_are_over(
    open_ledger: Open, now: list[float]
) -> None:
    ledger = open_ledger()
    ledger.write([keep(0, pane=5), keep(1, pane=50), Trim(ID, 10)])
    assert len(ledger.alarms()) == 2
    now[0] += ALARM_KEPT_S + 1.0
    ledger.write([Trim(ID, 11)])
    assert [one.alarm.first for one in ledger.alarms()] == [50]


def test_they_go_when_they_are_old_and_their_query_is_removed(
    open_ledger: Open, now: list[float]
) -> None:
    ledger = open_ledger()
    ledger.write([keep(0)])
    now[0] += ALARM_KEPT_S + 1.0
    ledger.forget(ID)
    assert ledger.alarms() == ()
