"""What an agent may send, commanded while it runs: signed, durable, shown beside its file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agent.control.test_parts import ROSTER, Agents, run_with
from tests.agent.control.test_rights import Desk, who

from headwater.agent.budget_book import BudgetBook
from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import command_budget
from headwater.agent.runtime import SiteRuntime
from headwater.agent.settings import RuntimeSettings
from headwater.agent.stores import SiteStores
from headwater.errors import ConfigurationError, NotAuthorised
from headwater.net.identity.signing import MemoryKeys, OperatorSignature
from headwater.net.values.codec import Codec
from headwater.node.config import NodeConfig
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.plan.altered.site_budget import SiteBudget, budget_word

FILE = LinkBudgets(agent=25_000.0, to={"rome": 8_000.0})


def book() -> BudgetBook:
    return BudgetBook("oslo", ROSTER, FILE, link_count=4)


def of(to: str, rate: float | None, number: int = 1, **more: Any) -> SiteBudget:
    return SiteBudget("oslo", to, number, rate, operator="ann", **more)


def test_a_command_counts_before_the_file_until_it_is_taken_back() -> None:
    known = book()
    known.take(of("", 50_000.0, 1))
    known.take(of("rome", None, 2))
    known.take(of("hub", 10_000.0, 3))
    assert known.present == LinkBudgets(agent=50_000.0, to={"hub": 10_000.0})
    assert known.texts() == [
        "oslo sends at most 400 kbit/s, by ann (file: 200 kbit/s)",
        "oslo sends to hub at most 80 kbit/s, by ann (file: no limit)",
        "oslo sends to rome without a limit, by ann (file: 64 kbit/s)",
    ]
    for number, to in enumerate(("", "rome", "hub"), start=4):
        known.take(of(to, None, number, is_by_file=True))
    assert known.present == FILE
    assert known.texts() == []
    assert known.next_number == 7


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (of("", 10.0), "the least that works is"),
        (of("rome", 100.0), "links.to.rome: 800 bit/s is too little"),
        (of("", 0.0), "wanted more than 0"),
        (of("", float("nan")), "wanted more than 0"),
        (of("", float("inf")), "wanted more than 0"),
        (of("", -5.0), "wanted more than 0"),
        (of("", 5_000.0, is_by_file=True), "or what the file says, got both"),
        (of("paris", 50_000.0), "no other site of the roster is called 'paris'; there are hub"),
        (of("oslo", 50_000.0), "no other site of the roster is called 'oslo'"),
        (of("", 50_000.0, number=0), "wanted 1, for another one was commanded meanwhile"),
        (SiteBudget("rome", "", 1, 50_000.0), "this is oslo"),
    ],
)
def test_what_can_not_be_is_refused_with_what_to_write(budget: SiteBudget, told: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        book().require(budget)
    assert told in str(refused.value)


def test_one_that_was_written_down_and_can_not_be_kept_any_more_is_left_alone() -> None:
    known = book()
    (fault,) = known.restore([of("paris", 50_000.0, 2), of("", 50_000.0, 1)])
    assert "paris" in fault
    assert known.present.agent == 50_000.0


def sending(reply: Any) -> dict[str, str]:
    return {line["site"]: line["sending"] for line in reply["sites"]}


def test_a_command_is_shown_and_outlives_the_agent(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        oslo, operator = agents.desks["oslo"].handle, agents.world.operator
        reply = await command_budget(oslo, "", 25_000.0, operator, by_file=False)
        assert reply.commanded == ("oslo sends at most 200 kbit/s, by here (file: no limit)",)
        await command_budget(oslo, "rome", 8_000.0, operator, by_file=False)
        shown = sending(await agents.ask("oslo", "sites"))
        assert shown["oslo"].endswith("of 200 kbit/s (file: no limit)")
        assert shown["rome"].endswith("of 64 kbit/s (file: no limit)")
        assert shown["hub"] == ""
        assert len((await agents.ask("oslo", "streams"))["budgets"]) == 2
        assert (await agents.ask("rome", "streams"))["budgets"] == ()
        assert agents.runtime("oslo").network.stats().budget.bytes_per_s == 25_000.0
        with pytest.raises(ConfigurationError, match="the least that works"):
            await command_budget(oslo, "", 10.0, operator, by_file=False)
        agents.keys = agents.world.keys  # type: ignore[attr-defined]
        store = agents.runtime("oslo").stores.commands
        kept = store.budgets()
        assert [(one.to, one.bytes_per_s) for one in kept] == [("", 25_000.0), ("rome", 8_000.0)]
        await agents.runtime("oslo").stop()
        await again(agents)
        agents._runtimes = [one for one in agents._runtimes if one.site != "oslo"]

    async def again(agents: Agents) -> None:
        stores = SiteStores(tmp_path / "oslo", site="oslo", clock=time.time)
        runtime = SiteRuntime(
            site="oslo",
            roster=ROSTER,
            settings=RuntimeSettings(node=NodeConfig(budgets=FILE)),
            stores=stores,
            network=agents.world.network("oslo", Codec(stores.book.schema)),
            now_s=time.time,
            admit=lambda query, duty, operator: None,
        )
        await runtime.start()
        try:
            assert runtime.budgets.present == LinkBudgets(25_000.0, {"rome": 8_000.0})
            assert "(file: 64 kbit/s)" in runtime.budgets.texts()[1]
            assert runtime.network.stats().budget.bytes_per_s == 25_000.0
        finally:
            await runtime.stop()

    run_with(tmp_path, story)


def test_nobody_elses_word_counts_and_none_is_given_twice(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        oslo = agents.desks["oslo"].handle
        stranger = OperatorSignature("memory", "here", MemoryKeys().make_operator("here"))
        with pytest.raises(ConfigurationError, match="wanted the signature of operator 'here'"):
            await command_budget(oslo, "", 25_000.0, stranger, by_file=False)
        given: list[dict[str, Any]] = []

        async def overheard(name: str, payload: dict[str, Any]) -> Any:
            given.append(payload)
            return await oslo(name, payload)

        operator = agents.world.operator
        await command_budget(overheard, "", 25_000.0, operator, by_file=False)
        await command_budget(oslo, "", None, operator, by_file=False)
        with pytest.raises(ConfigurationError, match="wanted 3, for another one was commanded"):
            await oslo(api.GIVE_BUDGET, given[-1])
        with pytest.raises(ConfigurationError, match="this is rome"):
            await agents.desks["rome"].handle(api.GIVE_BUDGET, given[-1])
        changed = dict(given[-1]["budget"]) | {"word": budget_word(of("", 1e6, 9))}
        with pytest.raises(ConfigurationError, match="wanted the signature"):
            await oslo(api.GIVE_BUDGET, {"budget": changed})
        with pytest.raises(ConfigurationError, match="wanted one as it was prepared"):
            await oslo(api.GIVE_BUDGET, {"budget": changed | {"word": b"\x93\x01\x02"}})
        assert agents.runtime("oslo").budgets.present == LinkBudgets()

    run_with(tmp_path, story)


def test_only_who_may_change_everything_commands_a_budget(tmp_path: Path) -> None:
    from headwater.agent.control.rights import OperatorRights

    desk = Desk(tmp_path, OperatorRights("ann"), OperatorRights("web", streams=("web_*",)))
    signed = {"signature": b"s" * 64, "key": b"k" * 8, "certificate": b""}

    def word(operator: str) -> dict[str, Any]:
        budget = msgspec.structs.replace(of("", 25_000.0), operator=operator)
        return {"word": budget_word(budget), **signed}

    for person, signer in (("web", "web"), ("web", "ann"), ("ann", "web")):
        with pytest.raises(NotAuthorised):
            desk.ask(api.GIVE_BUDGET, who(person), budget=word(signer))
    with pytest.raises(NotAuthorised):
        desk.ask(api.PREPARE_BUDGET, who("web"))
    assert desk.answered == []
    assert desk.ask(api.GIVE_BUDGET, who("ann"), budget=word("ann")) == "answered"
