"""The grid of panes and windows.

range 30 s, slide 20 s, start 5 s, so panes of 10 s::

    time     5    15    25    35    45    55    65
    panes    |  0  |  1  |  2  |  3  |  4  |  5  |
    window 0 |-----------------|
    window 1             |-----------------|
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.panes import MICROS, WindowSpec

DRAWN = WindowSpec(30 * MICROS, 20 * MICROS, 5 * MICROS)


@st.composite
def specs(draw: st.DrawFn) -> WindowSpec:
    slide = draw(st.integers(1, 40))
    return WindowSpec(draw(st.integers(slide, 100)), slide, draw(st.integers(0, slide - 1)))


times = st.integers(-500, 500)


def test_the_drawing_above_is_right() -> None:
    assert DRAWN.pane_us == 10 * MICROS
    assert (DRAWN.panes_per_window, DRAWN.panes_per_slide) == (3, 2)
    assert list(DRAWN.panes_of(1)) == [2, 3, 4]
    assert list(DRAWN.windows_of(2)) == [0, 1]
    assert list(DRAWN.windows_of(3)) == [1]
    assert DRAWN.pane_at(5 * MICROS) == 0
    assert DRAWN.pane_at(5 * MICROS - 1) == -1
    assert DRAWN.window_start_us(1) == 25 * MICROS
    assert DRAWN.window_end_us(1) == 55 * MICROS


@given(specs(), times)
def test_every_time_lies_in_exactly_one_pane(spec: WindowSpec, time: int) -> None:
    pane = spec.pane_at(time)
    assert spec.pane_start_us(pane) <= time < spec.pane_end_us(pane)
    assert spec.pane_end_us(pane) == spec.pane_start_us(pane + 1)


@given(specs(), times)
def test_a_window_contains_a_time_when_it_contains_its_pane(spec: WindowSpec, time: int) -> None:
    pane = spec.pane_at(time)
    around = range(-600, 601)
    by_time = [w for w in around if spec.window_start_us(w) <= time < spec.window_end_us(w)]
    assert list(spec.windows_of(pane)) == by_time


@given(specs(), st.integers(-50, 50))
def test_a_window_is_a_run_of_whole_panes(spec: WindowSpec, window: int) -> None:
    panes = spec.panes_of(window)
    assert spec.pane_start_us(panes.start) == spec.window_start_us(window)
    assert spec.pane_end_us(panes[-1]) == spec.window_end_us(window)
    assert all(window in spec.windows_of(pane) for pane in panes)


@given(specs(), times)
def test_the_first_window_from_a_time_starts_at_or_after_it(spec: WindowSpec, time: int) -> None:
    window = spec.first_window_from(time)
    assert spec.window_start_us(window - 1) < time <= spec.window_start_us(window)


@pytest.mark.parametrize(
    ("range_us", "slide_us", "start_us"),
    [(0, 1, 0), (10, 0, 0), (10, 20, 0), (10, 5, 5), (10, 5, -1)],
)
def test_a_grid_that_is_none_is_refused(range_us: int, slide_us: int, start_us: int) -> None:
    with pytest.raises(ValueError, match="window: wanted"):
        WindowSpec(range_us, slide_us, start_us)
