"""What a site has of a source that is not read, and when too little is known to skip any of it."""

from __future__ import annotations

import pytest

from headwater.agent.input.shed_plan import FOUND_MAX, ShedPlan

FOUND = [(7, 500, 12.0), (9, 300, 13.0)]


def known() -> ShedPlan:
    plan = ShedPlan()
    plan.polled(11.0, 400)
    plan.polled(12.0, 500)
    plan.took(400, 0.3)
    return plan


def test_it_says_what_was_found_and_how_fast_it_comes() -> None:
    ahead = known().ahead(FOUND, begun_s=10.0)
    assert ahead is not None
    assert [(one.through_cut, one.bytes, one.found_s) for one in ahead.found] == FOUND
    assert (ahead.bytes_per_s, ahead.read_bytes) == (pytest.approx(500.0), 400)


def test_what_a_former_process_has_found_was_found_nobody_knows_when() -> None:
    assert known().ahead([(5, 1, 9.0), *FOUND], begun_s=10.0) is None


def test_before_a_batch_and_a_second_poll_nothing_is_known() -> None:
    plan = ShedPlan()
    plan.polled(11.0, 400)
    plan.took(400, 0.3)
    assert plan.ahead(FOUND, begun_s=10.0) is None
    plan = ShedPlan()
    plan.polled(11.0, 400)
    plan.polled(12.0, 400)
    assert plan.ahead(FOUND, begun_s=10.0) is None


def test_of_very_many_finds_nothing_is_said() -> None:
    assert known().ahead([(n, 1, 12.0) for n in range(FOUND_MAX + 1)], begun_s=10.0) is None
