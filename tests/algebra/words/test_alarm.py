"""Alarms: what is found again and again is one, within its limits."""

from __future__ import annotations

import pytest

from headwater.algebra.words.alarm import ALARM_CHARACTERS_MAX, CARRIERS_NAMED_MAX, Alarm, AlarmKind


def alarm(panes=(5, 6), *, kind=AlarmKind.NEVER_CUT, ordinal=3, text="never cut", carriers=()):
    return Alarm.of(kind, "q@a#1", ordinal, panes, text, carriers)


def test_its_sentence_and_its_carriers_are_bounded_and_each_is_named_once():
    made = alarm(text="x" * 1_000, carriers=[f"s{n // 2}" for n in range(100)])
    assert len(made.text) == ALARM_CHARACTERS_MAX
    assert made.text.endswith("…")
    assert made.carriers == tuple(f"s{n}" for n in range(CARRIERS_NAMED_MAX))


@pytest.mark.parametrize(
    ("panes", "touches"),
    [((7, 9), True), ((6, 6), True), ((1, 4), True), ((8, 9), False), ((1, 3), False)],
)
def test_alarms_whose_panes_touch_are_one(panes, touches):
    assert alarm().touches(alarm(panes)) is touches


def test_those_of_other_sites_or_kinds_are_others():
    assert not alarm().touches(alarm(ordinal=4))
    assert not alarm().touches(alarm(kind=AlarmKind.DISPUTED))


def test_both_as_one_have_the_panes_and_carriers_of_both_in_the_newer_words():
    both = alarm(carriers=["hub"]).joined(alarm((7, 9), text="again", carriers=["lhr", "hub"]))
    assert both == alarm((5, 9), text="again", carriers=["hub", "lhr"])


def test_what_of_it_is_about_some_panes():
    assert alarm((5, 9)).within(7, 20) == alarm((7, 9))
    assert alarm((5, 9)).within(10, 20) is None
