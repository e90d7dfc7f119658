"""The parts of early sending, one by one: what is put aside, remembered, and expected."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.withholding import Added
from headwater.edge.outbox.early.aside import Aside
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.gain import gain
from headwater.edge.outbox.early.key_columns import Hand, KeyColumns
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Look, Measure, Part

CONFIG = EarlyConfig(past_weight=0.25)
PANE_S = 100.0


def bounded(size: float) -> Measure:
    return Measure(Added(), ErrorBound(ErrorForm.ABSOLUTE, size), share=size)


def columns_of(*values: tuple[float, ...], at_s: float = 0.0) -> tuple[KeyColumns, Hand]:
    """Keys 1, 2 … with a value for each column, from one record each."""
    columns = KeyColumns(len(values[0]))
    hand = Hand((Added(),) * len(values[0]))
    slots = columns.add(np.arange(1, len(values) + 1, dtype=np.uint64))
    given = np.array(values, dtype=float).T
    columns.records[slots], columns.last_s[slots], columns.past_records[slots] = 1.0, at_s, -1.0
    columns.sums[:, slots], columns.squares[:, slots] = given, given * given
    hand.arrive(slots, given)
    return columns, hand


def look_at(
    columns: KeyColumns, hand: Hand, *measures: Measure, now_s: float, ahead_keys: float = 0.0
) -> Look:
    return Look(
        columns,
        hand,
        measures,
        [measure.share for measure in measures],
        KeyPast(CONFIG, column_count=len(measures)),
        CONFIG,
        now_s=now_s,
        start_s=0.0,
        pane_s=PANE_S,
        ahead_keys=ahead_keys,
    )


def test_what_is_aside_goes_where_any_of_its_columns_is_off_by_too_much() -> None:
    columns, hand = columns_of((1.0, 9.0), (1.0, 9.0))
    aside = Aside((bounded(100.0), bounded(20.0)))
    aside.put(columns, hand, np.array([0]))
    assert not aside.must_go((2.0, 18.0))
    aside.put(columns, hand, np.array([1]))
    assert aside.must_go((2.0, 18.0)), "18 is more than half of what the second may be off by"


def test_what_is_known_of_keys_goes_with_them_when_others_are_put_aside() -> None:
    columns, _ = columns_of((1.0,), (2.0,), (3.0,))
    for name in ("records", "first_s", "last_s", "sizes", "past_records"):
        getattr(columns, name)[:3] = (10, 20, 30)
    columns.keep(np.array([2, 0]))
    for name in ("records", "first_s", "last_s", "sizes", "past_records"):
        assert getattr(columns, name).tolist() == [30, 10], name
    assert columns.find(np.array([1, 2, 3], dtype=np.uint64)).tolist() == [1, -1, 0]


def learned(past: KeyPast, keys: tuple[int, ...], records: tuple[float, ...]) -> None:
    columns = KeyColumns(1)
    slots = columns.add(np.array(keys, dtype=np.uint64))
    columns.records[slots] = records
    past.learn(columns)


def known(past: KeyPast, key: int) -> float:
    columns = KeyColumns(1)
    slots = columns.add(np.array([key], dtype=np.uint64))
    past.look_up(columns, slots)
    return float(columns.past_records[slots[0]])


def test_a_new_pane_counts_for_its_share_of_what_is_known() -> None:
    past = KeyPast(CONFIG, column_count=1)
    learned(past, (1, 2), (8.0, 8.0))
    learned(past, (1,), (4.0,))
    assert known(past, 1) == pytest.approx(0.75 * 8.0 + 0.25 * 4.0)
    assert known(past, 2) == pytest.approx(0.75 * 8.0)
    assert known(past, 3) < 0.0


def test_the_rarest_keys_are_forgotten_first() -> None:
    past = KeyPast(EarlyConfig(outbox_keys_max=3), column_count=1)
    learned(past, (1, 2, 3, 4, 5), (5.0, 1.0, 4.0, 2.0, 3.0))
    assert past.key_count <= 3
    assert known(past, 1) > 0.0
    assert known(past, 3) > 0.0
    assert known(past, 2) < 0.0


def test_each_column_has_a_limit_of_its_own() -> None:
    columns, hand = columns_of((4.0, 4.0), (1.0, 16.0))
    look = look_at(columns, hand, bounded(4.0), bounded(8.0), now_s=50.0)
    slots = np.array([0, 1])
    assert (look.limit(0, slots), look.limit(1, slots)) == (4.0, 8.0)
    assert look.weights.tolist() == [1.0, 2.0]


def chosen(look: Look, count_max: int) -> list[int]:
    part = Part(np.flatnonzero(look.weights > 1.0), 1.0)
    return gain(look, part, count_max, np.random.default_rng(0)).tolist()


def active(values: tuple[float, ...], records: tuple[float, ...]) -> tuple[KeyColumns, Hand]:
    columns, hand = columns_of(*((value,) for value in values), at_s=50.0)
    columns.records[: len(values)] = records
    return columns, hand


def test_who_was_silent_is_taken_for_done_and_who_came_just_now_is_not() -> None:
    columns, hand = active((50.0, 50.0), (50.0, 50.0))
    columns.last_s[1] = 1.0
    assert chosen(look_at(columns, hand, bounded(10.0), now_s=51.0), 1) == [1]
    assert chosen(look_at(columns, hand, bounded(0.5), now_s=99.9), 2)[:1] == [1]


def test_room_that_would_stay_idle_goes_to_the_keys_that_most_probably_must_go() -> None:
    columns, hand = active((7.0, 9.0, 8.0), (3.0, 3.0, 3.0))
    columns.past_records[:3] = 4.0
    look = look_at(columns, hand, bounded(10.0), now_s=60.0, ahead_keys=2.0)
    assert chosen(look, 2) == [1, 2]
