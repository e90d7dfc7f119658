"""What a site that is short of CPU skips: iMR (Logothetis et al., 2011), sections 3.4, 4.2.2,
5.2."""

from __future__ import annotations

import pytest

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.edge.batches.reading_pace import ReadingPace
from headwater.edge.shedding.choose_skip import (
    Ahead,
    Found,
    PaneTimes,
    Skip,
    _skip_before,
    choose_skip,
)
from headwater.edge.shedding.pane_estimate import PaneEstimate
from headwater.sim.shedding.busy_reader import BusyReader

PANES = range(10, 110)
TIMES = PaneTimes(WindowSpec(10 * MICROS, 10 * MICROS), 1.0, 4.0, 0.0)


def read(share: float, **options: float) -> BusyReader:
    reader = BusyReader(share, **options)
    reader.run(1_120.0)
    return reader


def test_a_site_that_keeps_up_skips_nothing() -> None:
    reader = read(1.0, s_per_mb=0.5)
    assert reader.shed == set()
    assert reader.fidelity(PANES) == 1.0


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
def test_of_a_share_of_the_cpu_about_that_share_of_the_panes_is_made_in_time(share: float) -> None:
    reader = read(share, s_per_mb=0.9, panes=20)
    assert reader.fidelity(PANES) >= share - 0.1


def test_in_order_nothing_is_in_time_after_a_while() -> None:
    reader = read(0.6, s_per_mb=0.9, panes=20, sheds=False)
    assert reader.fidelity(range(60, 110)) == 0.0


def test_when_the_load_is_gone_nothing_more_is_skipped() -> None:
    reader = read(0.4, s_per_mb=0.5)
    assert reader.shed
    reader.share = 1.0
    reader.run(1_300.0)
    assert not [pane for pane in reader.shed if pane > 118]


def skip(
    found: tuple[Found, ...], *, pane: int, now_s: float, s_per_mb: float = 3.0, high_s: float = 0.0
) -> Skip | None:
    pace = ReadingPace()
    for _ in range(20):
        pace.took(1_000_000, s_per_mb)
        pace.took(2_000_000, 2.0 * s_per_mb)
    return choose_skip(
        TIMES,
        Ahead(found, float(found[0].bytes)),
        pace,
        PaneEstimate(),
        pane=pane,
        is_wanted=lambda _: True,
        high_s=high_s,
        now_s=now_s,
    )


def polls(first_s: int, last_s: int, *, byte_count: int = 1_000_000) -> tuple[Found, ...]:
    return tuple(Found(n, byte_count, float(n)) for n in range(first_s, last_s + 1))


def test_input_is_skipped_up_to_where_the_next_pane_can_not_have_begun() -> None:
    found = skip(polls(1, 30, byte_count=300_000), pane=0, now_s=30.0)
    assert found == Skip(through_cut=29, first=0, last=2), "disorder 1 s before 30 s"


def test_the_highest_time_seen_widens_what_may_be_in_it() -> None:
    found = skip(polls(1, 30, byte_count=300_000), pane=0, now_s=30.0, high_s=55.0)
    assert found == Skip(through_cut=29, first=0, last=5)


def test_a_record_may_be_ahead_of_when_it_was_found_by_the_disorder() -> None:
    found = (*polls(1, 18), Found(19, 1, 19.5), Found(20, 1, 29.5))
    assert _skip_before(TIMES, Ahead(found), 3, first=0, high_s=None) == Skip(19, 0, 2)


def test_nothing_is_skipped_before_a_third_of_the_pane_was_read() -> None:
    assert skip(polls(1, 8), pane=0, now_s=8.0) is None


def test_an_estimate_leans_to_what_is_newest_and_is_made_every_two_seconds() -> None:
    estimate = PaneEstimate()
    heard = [
        estimate.hear(7, done_s, read_bytes=read, left_bytes=100.0 - read, now_s=now_s)
        for done_s, read, now_s in (
            (50.0, 0, 0.0),
            (50.0, 29, 1.0),
            (50.0, 30, 2.0),
            (60.0, 40, 3.0),
            (60.0, 50, 4.0),
        )
    ]
    assert heard == [None, None, 50.0, 50.0, pytest.approx(58.0)]
    assert estimate.hear(8, 70.0, read_bytes=60, left_bytes=100.0, now_s=5.0) is None


def test_a_stretch_names_a_pane_that_an_earlier_one_touches_too() -> None:
    pace = ReadingPace()
    pace.took(1_000_000, 3.0)
    found = choose_skip(
        TIMES,
        Ahead(polls(11, 30, byte_count=300_000), 300_000.0, 10_000_000),
        pace,
        PaneEstimate(),
        pane=1,
        is_wanted=lambda pane: pane > 1,
        high_s=10.0,
        now_s=35.0,
    )
    assert found is not None
    assert found.first == 1, "its records may be in both"
