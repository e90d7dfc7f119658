"""What this agent may send, altered by an operator while it runs: prepared, signed, and given.

Unlike settings of a stream it concerns this agent alone, so it does not travel: whoever wants to
change it asks this agent. It is on the disk before it counts.
"""

from __future__ import annotations

import asyncio

import msgspec

from headwater.agent.control import control_api as api
from headwater.agent.runtime import SiteRuntime
from headwater.algebra.words.proof import Proof
from headwater.errors import ConfigurationError
from headwater.plan.altered.site_budget import budget_in


def prepared_budget(runtime: SiteRuntime) -> api.PreparedBudget:
    return api.PreparedBudget(runtime.site, runtime.budgets.next_number)


async def give_budget(runtime: SiteRuntime, request: api.GiveBudget) -> api.BudgetReply:
    """Raises ``ConfigurationError``, and all is as it was."""
    signed = request.budget
    proof = Proof(signed.word, signed.signature, signed.key, signed.certificate)
    try:
        budget = budget_in(signed.word, proof)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"budget: wanted one as it was prepared, {error}") from None
    if not runtime.network.signatures.is_command_of(budget.operator, budget, is_counted=False):
        raise ConfigurationError(
            f"budget of {budget.site[:80]}: wanted the signature of operator "
            f"{budget.operator[:80]!r} with a certificate of this federation that is valid and not "
            "denied, got none that holds"
        )
    async with runtime.budgets_change:
        runtime.budgets.require(budget)
        await asyncio.to_thread(runtime.stores.commands.keep_budget, budget)
        runtime.take_budget(budget)
    return api.BudgetReply(tuple(runtime.budgets.texts()), str(runtime.budgets.present))
