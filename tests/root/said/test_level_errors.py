"""What windows of several levels say of what a threshold keeps back at each of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pane_kit import FULL, RootDesk, level_of, make_query, make_roster, part, state, whole

from headwater.algebra.coverage import Coverage, incarnation_tag
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder, Remainders, merge_remainders
from headwater.algebra.remainders.tolerance import Finally, Threshold, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.summary import Summary
from headwater.algebra.windows.coarsening import Coarsening
from headwater.algebra.words.degraded import Degraded, Why
from headwater.algebra.words.site_state import Declined, Reason
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, FinalBy
from headwater.root.said.level_join import as_level
from headwater.root.said.sampled import Estimate, Sample, SampleRest

LIFE = 77
PLAN = Degradation(
    (
        Operator(OperatorKind.COARSEN_TIME, (30e6,), text="coarsen(time, 30 s)"),
        Operator(OperatorKind.THRESHOLD, (0.25, 1.0), "n", text="threshold(n, 10 % of total)"),
    )
)


def kept(largest: float, total: float, of: float = 100.0) -> Remainder:
    return Remainder(largest=largest, total=total, keys=2, of=of)


def with_threshold(query: Query, finally_: Finally) -> Query:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.1)
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    tolerance = Tolerance((column,), finally_, threshold=Threshold("n"))
    return msgspec.structs.replace(query, program=program, tolerance=tolerance)


class Desks:
    """A query and its level at one root; site 0 is at the level, site 1 at full fidelity."""

    def __init__(
        self, finally_: Finally = Finally.EXACT, *, coarsening: Coarsening | None = None
    ) -> None:
        full = msgspec.structs.replace(
            with_threshold(FULL, finally_),
            degradation=msgspec.structs.replace(PLAN, follows=finally_ is Finally.EXACT),
        )
        level = with_threshold(level_of(FULL, stays=finally_ is Finally.BOUNDED), finally_)
        if coarsening is not None:
            companion = msgspec.structs.replace(level.companion, coarsening=coarsening)
            level = msgspec.structs.replace(level, companion=companion)
        roster = make_roster(2)
        self.full, self.level = (RootDesk(one, roster, now_s=0.0) for one in (full, level))
        for desk in (self.full, self.level):
            desk.beside = {str(one.query.id): one.disk for one in (self.full, self.level)}
        self.full.root.stand_beside(followers=[self.level.root], finer=[])
        self.level.root.stand_beside(followers=[], finer=[self.full.root])
        for site in (0, 1):
            self.hear_of(site, 1, degraded=(Degraded(0, 2, Why.BUDGET),))
        self.work(1.0)

    def hear_of(self, site: int, number: int, *, now_s: float = 0.0, **of_full: object) -> None:
        of_level = {"sealed_through": 1} if number > 1 else {}
        for desk, said in ((self.full, of_full), (self.level, of_level)):
            desk.hear(state(desk.query, site, of=LIFE, number=number, **said), now_s=now_s)

    def give(self, desk: RootDesk, pane: int, site: int, *rests: Remainder) -> None:
        self.receive(desk, whole(desk.query, pane, site, [100 * site + pane], of=LIFE), rests)

    def receive(self, desk: RootDesk, summary: Summary, rests: Remainders = ()) -> None:
        coverage = msgspec.structs.replace(summary.coverage, withheld=rests)
        desk.receive(msgspec.structs.replace(summary, coverage=coverage), now_s=31.0)

    def work(self, now_s: float) -> None:
        for desk in (self.full, self.level):
            desk.work(now_s=now_s)

    def answered(self, *, fine: Iterable[tuple[Remainder, ...]] = ((), (), ())) -> Envelope:
        """Site 0 keeps 4, and 9 in all, back of its coarse pane."""
        self.give(self.level, 0, 0, kept(4.0, 9.0))
        for pane, rests in enumerate(fine):
            self.give(self.full, pane, 1, *rests)
        self.work(32.0)
        return self.level.newest(0).envelope


def test_a_coarse_window_states_what_its_own_panes_keep_back() -> None:
    envelope = Desks().answered()
    assert envelope.covered == envelope.expected == 2
    assert not envelope.exact
    (stated,) = envelope.withheld.columns
    assert (stated.largest, stated.total, stated.asked) == (4.0, 9.0, "10 % of total")
    assert envelope.withheld.follows


def test_what_finer_panes_of_other_sites_keep_back_is_added() -> None:
    envelope = Desks().answered(fine=((kept(2.0, 5.0),), (), (kept(3.0, 3.0),)))
    (stated,) = envelope.withheld.columns
    assert (stated.largest, stated.total) == (9.0, 17.0)
    assert stated.share == pytest.approx(9.0 / 300.0)


def test_a_group_of_a_coarser_key_may_lack_all_that_finer_panes_keep_back() -> None:
    """And of a level's own panes what they say themselves, which is of groups of that key."""
    envelope = Desks(coarsening=COARSER).answered(fine=((kept(2.0, 5.0),), (), ()))
    (stated,) = envelope.withheld.columns
    assert (stated.largest, stated.total) == (5.0 + 4.0, 5.0 + 9.0)
    assert [one.error for one in envelope.degraded] == [None, 5.0, 4.0]


def test_it_is_named_who_keeps_back_at_which_level_of_the_threshold() -> None:
    envelope = Desks().answered(fine=((kept(2.0, 5.0),), (), ()))
    named = [(one.site, one.operator, one.level, one.panes) for one in envelope.degraded]
    threshold = "threshold(n, 10 % of total)"
    assert named == [
        ("s0", "coarsen(time) to 30 s", 1, ((0, 0),)),
        ("s1", threshold, 1, ((0, 0),)),
        ("s0", threshold, 1, ((0, 0),)),
    ]


def test_it_is_said_since_when_and_how_far_a_site_alone_makes_values_off() -> None:
    envelope = Desks().answered(fine=((kept(2.0, 5.0),), (), ()))
    begin_us = FULL.window.pane_start_us(0)
    assert {one.since_us for one in envelope.degraded} == {begin_us}
    assert [one.error for one in envelope.degraded] == [None, 2.0, 4.0]
    assert "since 1970-01-01 00:00:00 UTC: its budget" in envelope.degraded[1].text()
    assert "off by at most 2; the rest follows" in envelope.degraded[1].text()


def test_what_a_merged_piece_keeps_back_is_no_ones_error_alone() -> None:
    desks = Desks()
    both = Coverage(whole=0b11, tag=incarnation_tag(0, LIFE) ^ incarnation_tag(1, LIFE))
    for pane in range(3):
        summary = msgspec.structs.replace(
            whole(desks.full.query, pane, 0, [pane], of=LIFE), coverage=both
        )
        desks.receive(desks.full, summary, (kept(3.0, 3.0),) if pane == 1 else ())
    desks.work(60.0)
    named = desks.full.newest(1).envelope.degraded
    assert [(one.site, one.error) for one in named] == [("s0", None), ("s1", None)]


def test_when_the_rest_is_in_the_coarse_window_is_exact() -> None:
    desks = Desks()
    desks.answered()
    desks.receive(
        desks.level, part(desks.level.query, 0, 0, [7], of=LIFE, updates=((2, 2),), closed_at=2)
    )
    desks.work(40.0)
    envelope = desks.level.newest(0).envelope
    assert (envelope.revision, envelope.exact, bool(envelope.withheld)) == (2, True, False)


def test_what_never_follows_makes_it_final_as_bounded() -> None:
    desks = Desks(Finally.BOUNDED)
    desks.answered()
    declined = (Declined(0, 2, Reason.COARSE),)
    for site, panes in ((0, declined), (1, ())):
        desks.hear_of(site, 9, now_s=50.0, sealed_through=3, declined=panes)
    desks.work(51.0)
    desks.work(55.0)
    envelope = desks.level.newest(0).envelope
    assert (envelope.final, envelope.final_by) == (True, FinalBy.BOUNDED)
    assert not envelope.withheld.follows
    assert not envelope.exact


def test_a_fine_window_names_the_threshold_where_no_level_stood_for_it() -> None:
    desks = Desks()
    desks.answered(fine=((kept(2.0, 5.0),), (), ()))
    desks.work(60.0)
    (named,) = desks.full.newest(0).envelope.degraded
    assert (named.site, named.operator) == ("s1", "threshold(n, 10 % of total)")
    assert desks.full.newest(1).envelope.degraded == (), "nothing of it is kept back"


def test_what_a_site_keeps_back_of_several_panes_of_a_window_adds_up() -> None:
    sliding = make_query(panes=2, slide=1)
    plan = Degradation(PLAN.operators[1:], follows=True)
    query = msgspec.structs.replace(with_threshold(sliding, Finally.EXACT), degradation=plan)
    desk = RootDesk(query, make_roster(1), now_s=0.0)
    desk.hear(state(query, 0, of=LIFE, degraded=(Degraded(0, 1, Why.BUDGET),)), now_s=0.0)
    desk.work(now_s=1.0)
    for pane, largest in enumerate((4.0, 3.0)):
        summary = whole(query, pane, 0, [pane], of=LIFE)
        coverage = msgspec.structs.replace(summary.coverage, withheld=(kept(largest, 9.0),))
        desk.receive(msgspec.structs.replace(summary, coverage=coverage), now_s=25.0)
    desk.work(now_s=60.0)
    envelope = desk.newest(0).envelope
    (named,) = envelope.degraded
    assert (named.panes, named.error) == (((0, 1),), 7.0)
    assert named.error == envelope.withheld.columns[0].largest


# As laws

COARSER = Coarsening(key="k", by="c")
FINE = Coarsening()


def _remainder(values: np.ndarray, is_kept: np.ndarray) -> Remainders:
    lacks = values[is_kept]
    if not len(lacks):
        return ()
    return (Remainder(float(lacks.max()), float(lacks.sum()), len(lacks), float(values.sum())),)


@given(st.integers(0, 2**32), st.sampled_from((FINE, COARSER)), st.integers(0, 2))
def test_no_answer_of_several_levels_is_off_by_more_than_it_states(
    seed: int, level: Coarsening, halvings: int
) -> None:
    """Sites send at the level or finer, and each keeps back what is small there."""
    random = np.random.default_rng(seed)
    survives = random.geometric(0.5, 24) - 1
    level = msgspec.structs.replace(level, survives="s" if halvings else "", halvings=halvings)
    truth, sent, stated = np.zeros(24), np.zeros(24), list[Remainders]()
    for _ in range(random.integers(1, 5)):
        series = msgspec.structs.replace(level) if random.random() < 0.5 else FINE
        values = random.integers(1, 100, 24) * (survives >= series.halvings)
        keys = np.arange(24) // 4 if series.key else np.arange(24)
        of_key = np.bincount(keys, values, minlength=24).astype(float)
        small = (of_key > 0) & (of_key <= random.integers(0, 300))
        is_in = survives >= halvings
        truth += values * is_in
        sent += values * is_in * ~small[keys]
        stated.append(as_level(_remainder(of_key, small), finer=series, level=level))
    told: Remainders = reduce(merge_remainders, stated, ())
    shown = np.arange(24) // 4 if level.key else np.arange(24)
    off = np.bincount(shown, truth - sent).max()
    assert off <= (told[0].largest if told else 0.0) + 1e-9


def test_what_a_sample_lacks_is_a_part_of_its_estimate_and_makes_it_less_sure() -> None:
    sample = Sample("k", 0.5, is_only_key=True)
    found = sample.estimating((Estimate("n", 200.0, 20.0),), {"n": SampleRest(18.0, 2.0)})
    assert found.estimates == (Estimate("n", 236.0, pytest.approx(20.0 + 2**0.5 * 6.0)),)
    same = sample.estimating((Estimate("n", 200.0, 20.0),), {})
    assert same.estimates == (Estimate("n", 200.0, 20.0),)
    several = msgspec.structs.replace(sample, is_only_key=False)
    less_sure = several.estimating((Estimate("n", 200.0, 20.0),), {"n": SampleRest(18.0, 2.0)})
    assert less_sure.estimates[0].error > found.estimates[0].error
    assert as_level((kept(4.0, 8.0),), finer=FINE, level=Coarsening("", "", "s", 1)) == (
        kept(4.0, 4.0),
    )
