"""The answer is never off by more than it states: random sites, panes, late records, repairs.

Sites send early, close with a remainder and keep the rest; relays merge what they send into pieces;
late records follow whole; some sites send their rest. The root adds up what it has and what it was
told, and the truth is what all records come to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.remainder import Adding, Owed, Remainder, still_owed
from headwater.algebra.remainders.share_table import even_shares
from headwater.algebra.remainders.withholding import Added, Largest, Withholding, average_error
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_book import KeyBook
from headwater.edge.outbox.early.key_columns import Keys
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Measure

PANE_S = 10.0
TICKS = 5


class Case(NamedTuple):
    rule: Withholding
    bound: ErrorBound
    lowest: int = 0
    """Of the values that are drawn."""
    sign: int = 1
    """-1: a minimum, whose values are handed in negated."""


CASES = {
    "sum of total": Case(Added(), ErrorBound(ErrorForm.TOTAL, 0.05)),
    "sum of each": Case(Added(), ErrorBound(ErrorForm.VALUE, 0.3)),
    "sum absolute": Case(Added(), ErrorBound(ErrorForm.ABSOLUTE, 60.0)),
    "sum of both signs": Case(Added(), ErrorBound(ErrorForm.ABSOLUTE, 60.0), lowest=-20),
    "max with floor": Case(Largest(floor=0.0), ErrorBound(ErrorForm.ABSOLUTE, 8.0)),
    "max": Case(Largest(), ErrorBound(ErrorForm.ABSOLUTE, 8.0), lowest=-20),
    "max of each": Case(Largest(floor=0.0), ErrorBound(ErrorForm.VALUE, 0.3)),
    "min": Case(Largest(), ErrorBound(ErrorForm.ABSOLUTE, 8.0), sign=-1),
    "min with ceiling": Case(Largest(floor=-20.0), ErrorBound(ErrorForm.ABSOLUTE, 8.0), sign=-1),
}


class Rows:
    """A value for each key, merged by a rule: what a root, a relay or a test has."""

    def __init__(self, rule: Withholding) -> None:
        self._rule = rule
        self.values: dict[int, float] = {}

    def put(self, key: int, value: float) -> None:
        old = np.array([self.values.get(key, self._rule.nothing)])
        self.values[key] = float(self._rule.merge(old, np.array([value]))[0])

    def take(self, key: int) -> float:
        return self.values.pop(key)


class SitePane(NamedTuple):
    sent: list[tuple[int, float]]
    late: list[tuple[int, float]]
    rest: dict[int, float]
    remainder: Remainder


def site_pane(
    case: Case, past: KeyPast, config: EarlyConfig, random: np.random.Generator, *, share: float
) -> SitePane:
    """One pane at one site, as the driver of the book sees it."""
    measure = Measure(case.rule, case.bound, share=share)
    book = KeyBook([measure], past, config, start_s=0.0, pane_s=PANE_S, chance=random)
    rest, sent = Rows(case.rule), []
    arrived = 0.0

    def leave(keys: Keys) -> None:
        sent.extend((int(key), rest.take(int(key))) for key in keys)

    for tick in range(TICKS):
        keys = random.permutation(12)[: random.integers(0, 12)].astype(np.uint64)
        values = case.sign * random.integers(case.lowest, 20, len(keys)).astype(float)
        records = np.ones(len(keys))
        now_s = PANE_S * (tick + 1) / TICKS
        book.add(keys, values[None, :], records=records, row_bytes=7, now_s=now_s)
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            rest.put(key, value)
        arrived += float(values.sum())
        leave(book.take(int(random.integers(0, 30)), now_s=now_s))
    book.close()
    leave(book.take(1_000_000, now_s=PANE_S))
    found = book.end(totals_sent=np.array([sum(value for _, value in sent)]))
    if found.is_aside_sent:
        gone = set(rest.values) - set(found.keys.tolist())
        sent += [(key, rest.take(key)) for key in gone]
        left = arrived - sum(value for _, value in sent)
        found_total = left if case.rule.adds else 0.0
        remainder = Remainder(found.remainders[0].largest, found_total, len(rest.values))
    else:
        remainder = found.remainders[0]
    late = [
        (int(random.integers(0, 14)), float(case.sign * random.integers(case.lowest, 20)))
        for _ in range(random.integers(0, 3))
    ]
    return SitePane(sent, late, rest.values, remainder)


def off_by(case: Case, truth: Rows, answer: Rows) -> Iterator[float]:
    for key, true in truth.values.items():
        error = abs(true - answer.values.get(key, 0.0))
        if case.bound.form is ErrorForm.VALUE:
            error = error / abs(true) if true else error
        yield error


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    sites=st.integers(1, 4),
    panes=st.integers(1, 3),
    pick=st.sampled_from(["gain", "lru", "random"]),
    keys_max=st.sampled_from([4, 8, 1_000]),
)
def test_an_answer_is_never_off_by_more_than_it_states_and_states_no_more_than_asked(
    name: str, seed: int, sites: int, panes: int, pick: str, keys_max: int
) -> None:
    case, random = CASES[name], np.random.default_rng(seed)
    config = EarlyConfig(pick=pick, outbox_keys_max=keys_max)
    shares = even_shares(range(sites), bound=case.bound.size, panes=panes)
    adding = Adding(case.bound, case.rule)
    truth, answer = Rows(case.rule), Rows(case.rule)
    pieces: list[Owed] = []
    total_in = 0.0
    sent_rest = {site for site in range(sites) if random.random() < 0.3}
    pasts = [KeyPast(config, column_count=1) for _ in range(sites)]
    for _ in range(panes):
        groups: dict[int, dict[int, Remainder]] = {}
        for site in range(sites):
            made = site_pane(case, pasts[site], config, random, share=shares[site])
            came = [*made.sent, *made.late, *(made.rest.items() if site in sent_rest else ())]
            for key, value in came:
                answer.put(key, value)
                total_in += value
            for key, value in (*made.sent, *made.late, *made.rest.items()):
                truth.put(key, value)
            groups.setdefault(int(random.integers(0, 2)), {})[site] = made.remainder
        pieces += [  # as relays have merged them
            Owed(frozenset(group), adding.merge(group.values())) for group in groups.values()
        ]
    stated = adding.merge(still_owed(pieces, sent_rest=sent_rest))
    reached = adding.reached(stated, total_in=total_in)
    if case.bound.form is ErrorForm.TOTAL:
        total = sum(truth.values.values())
        assert all(error <= stated.largest + 1e-9 for error in off_by(case, truth, answer))
        assert stated.largest <= case.bound.size * total * (1.0 + 1e-9)
        if not sent_rest and stated:
            assert total_in + stated.total == pytest.approx(total)
            assert adding.is_kept(stated, total_in=total_in)
    else:
        assert all(error <= reached + 1e-9 for error in off_by(case, truth, answer))
        assert reached <= case.bound.size * (1.0 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), sites=st.integers(1, 4))
def test_an_average_is_off_by_no_more_than_the_share_of_records_withheld(
    seed: int, sites: int
) -> None:
    random, config = np.random.default_rng(seed), EarlyConfig(pick="lru")
    bound = ErrorBound(ErrorForm.VALUE, 0.25)
    sent, kept = {}, {}
    for _ in range(sites):
        past = KeyPast(config, column_count=1)
        book = KeyBook(
            [Measure(Added(), bound)], past, config, start_s=0.0, pane_s=PANE_S, chance=random
        )
        waiting: dict[int, list[float]] = {}

        def leave(keys: Keys, waiting: dict[int, list[float]] = waiting) -> None:
            for key in keys.tolist():
                sent.setdefault(key, []).extend(waiting.pop(key))

        for tick in range(1, TICKS + 1):
            counts = random.integers(1, 4, 5)
            for key, count in enumerate(counts.tolist()):
                waiting.setdefault(key, []).extend(random.integers(0, 100, count).tolist())
            records = counts.astype(float)
            keys = np.arange(5, dtype=np.uint64)
            book.add(keys, records[None, :], records=records, row_bytes=1, now_s=float(tick))
            leave(book.take(2, now_s=float(tick)))
        book.close()
        leave(book.take(1_000, now_s=PANE_S))
        share = book.end().remainders[0].largest
        assert share <= bound.size
        for key, values in waiting.items():
            kept.setdefault(key, []).extend(values)
    for key, values in sent.items():
        all_values = values + kept.get(key, [])
        off = abs(np.mean(values) - np.mean(all_values))
        low, high = min(all_values), max(all_values)
        assert off <= average_error(bound.size, smallest=low, largest=high) + 1e-9
