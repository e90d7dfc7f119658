from random import Random

import msgspec
import pytest
from pane_kit import make_query

from headwater.algebra.panes import MICROS
from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.sim.check.number_truth import NumberTruth
from headwater.sim.records.admits import DIVISOR, admitting
from headwater.sim.records.bag import NOTHING, Bag, BagMerger
from headwater.sim.world.event_queue import Clock, EventQueue
from headwater.sim.world.log import Log, Workload


def test_a_record_that_is_merged_twice_leaves_a_mark_for_ever() -> None:
    left, right = Bag.of([1, 2]), Bag.of([2, 3])
    merged = left.merge(right).merge(Bag.of([9]))
    assert (merged.once, merged.twice) == (0b1000001110, 0b100)


@pytest.mark.parametrize("seed", range(20))
def test_merging_bags_is_associative_and_commutative_with_nothing_as_zero(seed: int) -> None:
    random = Random(seed)
    a, b, c = (Bag.of(random.choices(range(12), k=5)) for _ in range(3))
    merge = BagMerger().merge
    assert merge([a, merge([b, c])]) == merge([merge([a, b]), c]) == merge([c, a, b])
    assert merge([a, NOTHING]) == a


def make_log(seed: int, *, slot: int, late_share: float = 0.2) -> tuple[EventQueue, Log]:
    queue = EventQueue(start_s=0.0)
    workload = Workload(
        records_per_s=2.0,
        busy_s=((0.0, 50.0), (80.0, 100.0)),
        disorder_s=1.0,
        late_share=late_share,
        late_s=30.0,
    )
    log = Log(workload, Clock(queue, offset_s=5.0), random=Random(seed), slot=slot, slot_count=3)
    return queue, log


def test_a_log_is_the_same_however_often_it_is_looked_at() -> None:
    _, often = make_log(3, slot=1)
    _, once = make_log(3, slot=1)
    for now_s in range(101):
        often.grow(float(now_s))
    once.grow(100.0)
    assert often.numbers == once.numbers
    assert often.times_us == once.times_us
    assert len(once) > 50


def test_numbers_that_came_before_a_query_seal_no_window_of_it() -> None:
    """A clock was set back: those before have the higher numbers, and nobody reads them for it."""
    _, log = make_log(3, slot=1)
    log.numbers, log.true_s = [1, 2, 3, 4], [1.0, 2.0, 50.0, 60.0]
    log.times_us = [900 * MICROS, 901 * MICROS, 11 * MICROS, 12 * MICROS]
    grid = SequenceGrid("lsn", disorder=5 * MICROS, lateness=5 * MICROS)
    query = msgspec.structs.replace(make_query(), program=admitting(DIVISOR), sequence=grid)
    truth = NumberTruth(log)
    truth.first_read(query, 7, 2, 1)
    assert not truth.has_reached(query, 1, true_s=100.0)
    assert truth.has_reached(query, -3, true_s=100.0)
    truth.first_read(query, 6, 0, 1)
    assert truth.has_reached(query, 1, true_s=100.0), "an earlier life read them"


def test_logs_of_a_federation_share_no_record_number() -> None:
    numbers = [number for slot in range(3) for number in _grown(slot).numbers]
    assert len(numbers) == len(set(numbers))


def test_a_record_never_comes_from_the_future_of_its_site() -> None:
    _, log = make_log(5, slot=0)
    seen = 0
    for now_s in range(101):
        length = log.grow(float(now_s))
        assert all(time_us <= (now_s + 5.0) * 1e6 for time_us in log.times_us[seen:length])
        seen = length
    assert max(log.highs_us) == log.highs_us[-1]


def _grown(slot: int) -> Log:
    _, log = make_log(7, slot=slot)
    log.grow(100.0)
    return log
