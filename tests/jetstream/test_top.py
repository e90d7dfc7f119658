"""The global threshold of JetStream's sections 4 and 5, in the model of the figure."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.heintz.sites import Sited
from experiments.heintz.traces import WARM_UP, Window
from experiments.jetstream_top import FAILS, Row, Search, is_untrue, joined, row_of, sites_of

GROUPS, SITES, PER_RELAY = 400, 8, 2


def made(*, windows: int = WARM_UP + 4) -> Sited:
    """Few groups have most, and each site has its own favourites."""
    chance = np.random.default_rng(3)

    def window(site: int) -> Window:
        keys = (chance.zipf(1.3, 600) + (site * chance.integers(0, 2, 600))) % GROUPS
        count = len(keys)
        return Window(np.zeros(count), keys.astype(np.int64), np.ones(count), np.zeros(count, int))

    return Sited("made", tuple(tuple(window(n) for _ in range(windows)) for n in range(SITES)))


def row(k: int, fails: str) -> Row:
    of = made()
    return row_of(of, joined(of, 1), PER_RELAY, k, join=1, fails=fails)


def test_section_5_without_failures_the_first_k_are_exact_and_few_rows_travel() -> None:
    found = row(10, "none")
    assert (found.exact_rows, found.untrue) == (1.0, 0)
    sent = sum(map(int, found.steps.split()))
    assert sent < found.groups * SITES / 2


@pytest.mark.parametrize("fails", FAILS)
def test_no_row_is_called_exact_that_is_not_when_sites_and_a_relay_fail(fails: str) -> None:
    assert row(10, fails).untrue == 0


def test_a_row_that_is_called_exact_and_is_not_would_be_found() -> None:
    of = made()
    search = Search(sites_of(joined(of, 1)[0]), per_relay=PER_RELAY, count=10)
    search.step(set())
    assert not is_untrue(search)
    search.rests = {n: (1 << n, 0.0, 0) for n in search.rests}
    assert is_untrue(search), "nobody says what was kept back"
