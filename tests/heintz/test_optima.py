"""Heintz et al., section 3: the offline optima are as good as the best of all schedules, and
nothing online is better than they are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from experiments.heintz import baselines, link, optima
from experiments.heintz.optima import epe, least_error, prefixes, spef
from experiments.heintz.traces import Trace, Window, synthetic
from hypothesis import given, settings
from hypothesis import strategies as st

WINDOW = 4
"""Slots that fit into a window; times are whole slots."""


@st.composite
def windows(draw: st.DrawFn) -> Window:
    records = draw(
        st.lists(
            st.tuples(st.integers(0, WINDOW - 1), st.integers(0, 2), st.integers(1, 6)),
            min_size=1,
            max_size=7,
        )
    )
    at, keys, values = (np.array(column) for column in zip(*sorted(records), strict=True))
    return Window(at / WINDOW, keys, values.astype(float), keys)


def schedules(window: Window, *, free: int, until: int) -> list[tuple[int, float]]:
    """Every way to fill the slots: when its last slot ends, and its error. A slot that begins at t
    carries all that came until t and was not carried before."""
    found = []
    choices = [*np.unique(window.keys).tolist(), None]
    records = list(zip((window.at * WINDOW).round(), window.keys, window.values, strict=True))
    for chosen in product(choices, repeat=until - free):
        sent_until = {
            key: max((free + n for n, one in enumerate(chosen) if one == key), default=-1)
            for key in choices
        }
        left: dict[int, float] = {}
        for at, key, value in records:
            if at > sent_until[key]:
                left[key] = left.get(key, 0.0) + value
        used = [free + n + 1 for n, one in enumerate(chosen) if one is not None]
        found.append((max(used, default=free), max(left.values(), default=0.0)))
    return found


@settings(max_examples=60, deadline=None)
@given(windows(), st.integers(0, 2), st.integers(0, 12))
def test_section_3_1_nothing_is_through_earlier_than_epe(
    window: Window, free: int, bound: int
) -> None:
    of = prefixes(window, "sum")
    ends = epe(of, bound, rate=WINDOW, free=free / WINDOW) * WINDOW
    tried = schedules(window, free=free, until=max(free, WINDOW - 1) + 3)
    assert ends == pytest.approx(min(end for end, error in tried if error <= bound))


@settings(max_examples=60, deadline=None)
@given(windows(), st.integers(0, 2), st.integers(0, 2))
def test_section_3_2_nothing_reaches_a_smaller_error_than_spef_with_omissions_early_or_not(
    window: Window, free: int, staleness: int
) -> None:
    of = prefixes(window, "sum")
    deadline = (WINDOW + staleness) / WINDOW
    tried = schedules(window, free=free, until=WINDOW + staleness)
    best = min(error for _, error in tried)
    given_ = {"rate": float(WINDOW), "free": free / WINDOW}
    assert spef(of, deadline, **given_) == best
    assert spef(of, deadline, omits=True, **given_) == best
    assert least_error(of, deadline, **given_)[0] == best


@pytest.mark.parametrize("what", ["sum", "max", "distinct"])
def test_prefix_errors_are_what_is_missing_after_each_record(what: str) -> None:
    window = Window(
        np.array([0.1, 0.2, 0.3, 0.4, 0.5]),
        np.array([7, 9, 7, 7, 9]),
        np.array([3.0, 5.0, 1.0, 8.0, 2.0]),
        np.array([1, 1, 1, 2, 1]),
    )
    of = prefixes(window, what)
    wanted = {
        "sum": ([9.0, 8.0, 0.0, 2.0, 0.0], [12.0, 7.0]),
        "max": ([5.0, 5.0, 0.0, 0.0, 0.0], [8.0, 5.0]),
        "distinct": ([1.0, 1.0, 0.0, 0.0, 0.0], [2.0, 1.0]),
    }[what]
    assert (of.after.tolist(), of.initial.tolist()) == wanted


@pytest.fixture(scope="module")
def trace() -> Trace:
    return synthetic(records=400, windows=5)


@pytest.mark.parametrize("what", ["sum", "max", "distinct"])
@pytest.mark.parametrize("pick", ["lru", "gain", "random"])
def test_section_5_3_nobody_beats_the_optimum_and_every_bound_is_kept(
    trace: Trace, what: str, pick: str
) -> None:
    """In a window of its own: with a former one's flush in the way each would meet another link."""
    batches = [link.batches(window, what) for window in trace.windows]
    ofs = [prefixes(window, what) for window in trace.windows]
    bound = float(np.quantile(ofs[0].initial, 0.7))
    rate = 150.0
    for number, of in enumerate(ofs):
        only = batches[number : number + 1]
        (found,) = link.run(only, what, pick, rates=[rate], bound=bound)
        assert found.error <= bound
        best = max(1.0, epe(of, bound, rate=rate, free=0.0)) - 1.0
        assert best <= found.staleness + 1e-9
        (by_time,) = link.run(only, what, pick, rates=[rate], staleness=0.2)
        assert by_time.staleness <= 0.2 + 1e-9
        assert least_error(of, 1.2, rate=rate, free=0.0)[0] <= by_time.error + 1e-9


def test_section_5_2_streaming_and_batching_are_what_they_say(trace: Trace) -> None:
    window = trace.windows[0]
    of = prefixes(window, "sum")
    rate, bound = 100.0, float(np.quantile(of.initial, 0.5))
    assert baselines.batching_until(of, bound, rate=rate) == 1.0 + (of.initial > bound).sum() / rate
    ends = baselines.streaming_ends(window, rate=rate, free=0.0)
    late = np.empty(len(ends))
    free = 0.0
    for n, at in enumerate(window.at):
        free = max(free, at) + 1.0 / rate
        late[n] = free
    assert ends == pytest.approx(late)
    until = baselines.streaming_until(window, of, bound, rate=rate, free=0.0)
    error = baselines.streaming_error(window, "sum", until, rate=rate, free=0.0)
    assert error <= bound
    before = baselines.streaming_error(window, "sum", until - 1.5 / rate, rate=rate, free=0.0)
    assert before > bound
    assert baselines.batching_error(of, 1.0, rate=rate) == of.initial.max()


def test_both_ways_to_the_least_error_agree_on_a_trace(trace: Trace) -> None:
    of = optima.prefixes(trace.windows[1], "sum")
    slot_by_slot = spef(of, 1.1, rate=120.0, free=0.05)
    early = spef(of, 1.1, rate=120.0, free=0.05, omits=True)
    halved, _ = least_error(of, 1.1, rate=120.0, free=0.05)
    assert early == slot_by_slot
    assert halved <= slot_by_slot <= 1.2 * halved
