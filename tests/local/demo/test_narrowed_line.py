"""The line that is narrowed while the demo runs: what is said of its site, and remembered."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from store_kit import envelope_of, query_of

from headwater.agent.control import control_api as api
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.watched_site import WatchedSite
from headwater.algebra.words.proof import Proof
from headwater.local.demo import narrowed_line
from headwater.local.demo.narrowed_line import BYTES_PER_S, COARSE, SITE, STREAM, NarrowedLine
from headwater.net.memory.memory_network import MemoryWorld
from headwater.plan.altered.site_budget import SiteBudget, budget_in

QUERY = query_of()
RUNTIME = cast(SiteRuntime, SimpleNamespace(network=SimpleNamespace(stats=lambda: None)))


class Desk:
    """What the agent was told."""

    def __init__(self) -> None:
        self.budgets: list[SiteBudget] = []

    async def ask(self, name: str, payload: dict[str, Any]) -> Any:
        if name == api.PREPARE_BUDGET:
            return {"site": SITE, "number": len(self.budgets) + 1}
        given = msgspec.convert(payload, api.GiveBudget).budget
        proof = Proof(given.word, given.signature, given.key, given.certificate)
        self.budgets.append(budget_in(given.word, proof))
        return msgspec.to_builtins(api.BudgetReply((), ""))


def own(*, is_degraded: bool) -> WatchedSite:
    return WatchedSite(SITE, is_degraded=is_degraded)


def test_it_is_narrowed_as_an_operator_does_and_told_when_its_level_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asyncio.run(_narrowed_and_wide_again(monkeypatch))


async def _narrowed_and_wide_again(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, line = Desk(), NarrowedLine()
    at_level = False
    monkeypatch.setattr(narrowed_line, "of_own", lambda *_: own(is_degraded=at_level))
    signature = MemoryWorld().operator
    told = await line.set(desk.ask, signature, is_narrow=True, at_s=7.0)
    assert told == "sydney's line is narrowed: headwater budget sydney '24 kbit/s'"
    assert line.look(RUNTIME, QUERY, at_s=8.0) == ""
    at_level = True
    assert "kinds of pages" in line.look(RUNTIME, QUERY, at_s=13.0)
    assert line.look(RUNTIME, QUERY, at_s=14.0) == "", "once"
    await line.set(desk.ask, signature, is_narrow=False, at_s=20.0)
    at_level = False
    assert "pages again" in line.look(RUNTIME, QUERY, at_s=31.0)
    assert [(one.bytes_per_s, one.is_by_file) for one in desk.budgets] == [
        (BYTES_PER_S, False),
        (None, True),
    ]
    at_level = True
    line.look(RUNTIME, QUERY, at_s=33.0)
    verdict = line.verdict()
    assert (verdict.went_after_s, verdict.back_after_s) == (6.0, 11.0), "of the first time"


def test_what_was_answered_by_kind_is_looked_for_among_the_pages() -> None:
    line = NarrowedLine()
    exact, not_exact = (
        msgspec.structs.replace(envelope_of(QUERY, window), exact=is_exact)
        for window, is_exact in ((1, True), (2, False))
    )
    for stream, envelope in (
        (COARSE, exact),
        (COARSE, not_exact),
        (STREAM, exact),
        (STREAM, not_exact),
        ("other", exact),
    ):
        line.hear(stream, envelope)
    verdict = line.verdict()
    assert (verdict.by_kind, verdict.exact_by_page) == (2, 1)
    assert verdict.went_after_s is None


def test_a_site_that_does_not_run_says_nothing() -> None:
    line = NarrowedLine()
    assert line.look(None, QUERY, at_s=1.0) == ""
    assert line.shown(None, QUERY).text() == ""


async def _scripted(monkeypatch: pytest.MonkeyPatch, *, goes_at_s: float) -> list[float]:
    """When the script changes the line, looking every second."""
    desk, line, changed = Desk(), NarrowedLine(), []
    at_level = False
    monkeypatch.setattr(narrowed_line, "of_own", lambda *_: own(is_degraded=at_level))
    for at_s in map(float, range(60)):
        if at_s == 12.0:
            line.hear(STREAM, envelope_of(QUERY, 1))
        if line.is_due(at_s=at_s, from_s=6.0, until_s=40.0):
            changed.append(at_s)
            is_narrow = not line.is_narrow
            await line.set(desk.ask, MemoryWorld().operator, is_narrow=is_narrow, at_s=at_s)
        at_level = line.is_narrow and at_s >= goes_at_s
        line.look(RUNTIME, QUERY, at_s=at_s)
    return changed


def test_the_script_narrows_when_pages_are_answered_and_widens_when_the_level_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asyncio.run(_scripted(monkeypatch, goes_at_s=20.0)) == [12.0, 26.0]


@pytest.mark.parametrize("goes_at_s", [36.0, 99.0])
def test_the_script_widens_in_the_end_where_a_level_came_late_or_never(
    monkeypatch: pytest.MonkeyPatch, goes_at_s: float
) -> None:
    assert asyncio.run(_scripted(monkeypatch, goes_at_s=goes_at_s)) == [12.0, 40.0]


def test_whoever_has_taken_it_over_is_left_alone() -> None:
    line = NarrowedLine()
    line.hear(STREAM, envelope_of(QUERY, 1))
    assert line.is_due(at_s=9.0, from_s=6.0, until_s=40.0)
    line.is_scripted = False
    assert not line.is_due(at_s=9.0, from_s=6.0, until_s=40.0)
