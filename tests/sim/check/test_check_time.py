"""What "answered in time" means where clocks are wrong, and that the checker can say no."""

from __future__ import annotations

import msgspec
import pytest

from headwater.node import effects as do
from headwater.plan.query import TimeKind
from headwater.root.outputs import WindowAnswer
from headwater.root.said.envelope import Envelope, Trigger
from headwater.sim.check.check_time import TIMELY_S, TimeCheck
from headwater.sim.outcome import Violation
from headwater.sim.scenario import Scenario, draw_scenario
from headwater.sim.sweep import with_faults
from headwater.sim.tuning import Limits, Pace, node_config
from headwater.sim.world.world import World

HOUR_S = 3_600.0


def scenario() -> Scenario:
    for seed in range(1, 100):
        drawn = draw_scenario(seed)
        if drawn.first_query.time is TimeKind.AGE:
            break
    return with_faults(msgspec.structs.replace(drawn, refusals=(), limits=Limits()), ())


WORLD = scenario()
QUERY = WORLD.first_query
ID = str(QUERY.id)
DEADLINE_S = QUERY.timing.deadline_s
SETTLE_S = node_config(Pace(), Limits()).root.clock_settle_s


def answer(*, at_s: float, stale_s: float, revision: int = 1) -> do.Answer:
    """Of one window that had ended ``stale_s`` before."""
    envelope = Envelope(
        stream="q",
        query=ID,
        window=7,
        start_us=0,
        end_us=0,
        revision=revision,
        roster_version=1,
        expected=1,
        covered=1,
        missing=(),
        missing_count=0,
        exact=True,
        final=False,
        staleness_s=stale_s,
        answered_at_s=at_s,
        trigger=Trigger.COMPLETE,
    )
    return do.Answer(ID, (WindowAnswer(7, revision, (7,), envelope),), 1)


def check() -> TimeCheck:
    made = TimeCheck(Pace(), node_config(Pace(), Limits()))
    made.is_calm = True
    made.begun(ID, wall_s=100.0)
    return made


def test_a_window_that_ended_while_its_query_was_there_has_its_deadline() -> None:
    good_s = DEADLINE_S + TIMELY_S
    check().published(QUERY, answer(at_s=200.0, stale_s=good_s))
    with pytest.raises(Violation, match="after its deadline"):
        check().published(QUERY, answer(at_s=200.0, stale_s=good_s + 0.1))
    check().published(QUERY, answer(at_s=200.0, stale_s=99.0, revision=2))


def test_one_that_had_ended_before_counts_from_the_querys_coming() -> None:
    good_s = 100.0 + DEADLINE_S + SETTLE_S + TIMELY_S
    check().published(QUERY, answer(at_s=good_s, stale_s=HOUR_S))
    with pytest.raises(Violation, match="before its query came"):
        check().published(QUERY, answer(at_s=good_s + 0.1, stale_s=HOUR_S))


def test_it_may_wait_for_as_many_jobs_as_there_were_and_for_nothing_else() -> None:
    busy = check()
    jobs = 50
    for _ in range(jobs):
        busy.published(QUERY, answer(at_s=120.0, stale_s=HOUR_S))
    good_s = 100.0 + DEADLINE_S + SETTLE_S + TIMELY_S + jobs * 2.0 * Pace().answer_s[1]
    busy.published(QUERY, answer(at_s=good_s, stale_s=HOUR_S))
    with pytest.raises(Violation, match="before its query came"):
        busy.published(QUERY, answer(at_s=good_s + 5.0, stale_s=HOUR_S))


def test_by_age_a_root_whose_clock_is_an_hour_ahead_answers_what_ends_from_now_on_in_time() -> None:
    """Its begin was read off another clock: by the root's it is an hour ago."""
    place = next(n for n, site in enumerate(WORLD.roster.sites) if site.name == QUERY.root)
    offsets_s = [0.0] * len(WORLD.roster.sites)
    offsets_s[place] = HOUR_S
    world = World(msgspec.structs.replace(WORLD, offsets_s=tuple(offsets_s)))
    outcome = world.run()
    assert outcome.is_good, outcome.failure
    spec = QUERY.window
    (answers,) = world.checkers.answers.values()
    begin = spec.first_window_from(spec.pane_start_us(QUERY.begin_pane or 0))
    passed = round(HOUR_S * 1e6) // spec.slide_us
    assert set(range(begin, begin + passed)) <= set(answers.newest), "all that had ended"
    exact = [w for w, one in answers.newest.items() if one.envelope.exact]
    assert len(exact) > 5, "and those that ended since"
