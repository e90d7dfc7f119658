"""Queries on one real link: they share it by weight, one that is idle costs nothing, and one with a
budget of its own keeps it."""

import os
import time
from collections import Counter
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.overlay.links.query_shares import QueryShares
from headwater.overlay.messages import SummaryMessage
from headwater.overlay.outputs import LIVE
from headwater.plan.altered.link_share import LinkShare

RATE = 150_000.0
A, B, C, SLOW, FREE = (f"hits@alpha#{number}" for number in range(1, 6))


def a_summary(kit: Any, query: str, pane: int, size_bytes: int) -> SummaryMessage:
    """Which no compression makes smaller."""
    names = [os.urandom(16).hex() for _ in range(size_bytes // 20)]
    rows = pa.table({"domain": names, "hits": [1] * len(names)}, schema=kit.schema)
    summary = kit.a_summary(pane).summary
    return SummaryMessage(msgspec.structs.replace(summary, query=query, rows=rows))


def arrived(ear: Any, size_of: dict[str, int]) -> Counter[str]:
    """Bytes by query, so far."""
    found: Counter[str] = Counter()
    for _, message in ear.messages:
        if isinstance(message, SummaryMessage):
            found[message.summary.query] += size_of[message.summary.query]
    return found


def share_of(shares: dict[str, LinkShare]) -> QueryShares:
    found = QueryShares()
    for query, share in shares.items():
        found.know(query, share, ())
    return found


@pytest.mark.parametrize("is_idle", [False, True], ids=["all busy", "one idle"])
def test_a_full_link_is_shared_by_weight(live: Any, kit: Any, is_idle: bool) -> None:
    weights = {A: 1.0, B: 2.0} | ({} if is_idle else {C: 4.0})
    sizes = {A: 3_000, B: 1_200, C: 2_000}

    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", budgets=LinkBudgets(agent=RATE))
        bravo.share_by(share_of({A: LinkShare(1.0), B: LinkShare(2.0), C: LinkShare(4.0)}))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        for query in weights:
            for pane in range(800_000 // sizes[query]):
                assert bravo.send("alpha", a_summary(kit, query, pane, sizes[query]), LIVE)
        await by_alpha.until(lambda ear: sum(arrived(ear, sizes).values()) > 700_000)
        spent = {
            one: told.spent_bytes["live"]
            for one, told in bravo.stats().queries.items()
            if one in weights
        }
        for query, weight in weights.items():
            part = weight / sum(weights.values())
            assert spent[query] / sum(spent.values()) == pytest.approx(part, rel=0.05)

    live(test)


def test_a_query_keeps_its_own_budget_and_holds_up_nobody(live: Any, kit: Any) -> None:
    budget, sizes = 20_000.0, {SLOW: 2_000, FREE: 2_000}

    async def test(federation: Any) -> None:
        _, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo")
        bravo.share_by(share_of({SLOW: LinkShare(1.0, budget), FREE: LinkShare()}))
        bravo.dial("alpha")
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        begin_s = time.monotonic()
        for pane in range(40):
            assert bravo.send("alpha", a_summary(kit, SLOW, pane, sizes[SLOW]), LIVE)
        for pane in range(200):
            assert bravo.send("alpha", a_summary(kit, FREE, pane, sizes[FREE]), LIVE)
        await by_alpha.until(lambda ear: arrived(ear, sizes)[FREE] == 400_000)
        assert arrived(by_alpha, sizes)[SLOW] < 80_000, "the other has not waited for it"
        await by_alpha.until(lambda ear: arrived(ear, sizes)[SLOW] == 80_000)
        past_s = time.monotonic() - begin_s
        told = bravo.stats().queries[SLOW]
        assert told.spent_bytes["live"] <= 1.02 * budget * past_s + budget / 4
        assert told.held_count > 0

    live(test)
