"""Which budgets an agent goes by: its file's, and those that operators have commanded since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from headwater.algebra.byte_rate import rate_text
from headwater.errors import ConfigurationError
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.plan.altered.site_budget import ALL_LINKS, SiteBudget
from headwater.plan.roster import Roster


class BudgetBook:
    """``of_file`` is never changed; the newest command for a link, or for all, counts before it."""

    def __init__(self, site: str, roster: Roster, of_file: LinkBudgets, *, link_count: int) -> None:
        """``link_count``: how many links the agent has at least."""
        self.of_file = of_file
        self._site = site
        self._others = [one.name for one in roster.sites if one.name != site]
        self._link_count = min(link_count, len(self._others))
        self._commanded: dict[str, SiteBudget] = {}

    def restore(self, commanded: Iterable[SiteBudget]) -> list[str]:
        """As they were written down; why those that can't be kept any more are left alone."""
        faults = []
        for one in sorted(commanded, key=lambda one: one.number):
            try:
                self.require(one)
            except ConfigurationError as error:
                faults.append(str(error))
            else:
                self.take(one)
        return faults

    def require(self, budget: SiteBudget) -> None:
        """That it is for here, is newer, and lets the agent live. Raises ``ConfigurationError``."""
        if budget.site != self._site:
            raise ConfigurationError(f"budget of {budget.site[:80]!r}: this is {self._site}")
        fault = budget.fault()
        if fault is not None:
            raise ConfigurationError(fault)
        if budget.to != ALL_LINKS and budget.to not in self._others:
            known = ", ".join(sorted(self._others)[:20]) or "none"
            raise ConfigurationError(
                f"budget: no other site of the roster is called {budget.to[:80]!r}; there are "
                f"{known}"
            )
        if budget.number < self.next_number:
            raise ConfigurationError(
                f"budget {budget.number} of {self._site}: wanted {self.next_number}, for another "
                "one was commanded meanwhile; command it again"
            )
        self._with(budget).require_enough(self._others, link_count=self._link_count)

    def take(self, budget: SiteBudget) -> None:
        self._commanded[budget.to] = budget

    @property
    def next_number(self) -> int:
        return 1 + max((one.number for one in self._commanded.values()), default=0)

    @property
    def present(self) -> LinkBudgets:
        """What counts now."""
        return _budgets(self.of_file, self._commanded)

    def by_command(self, to: str = ALL_LINKS) -> bool:
        """Whether a command counts there, and not the file."""
        known = self._commanded.get(to)
        return known is not None and not known.is_by_file

    def file_text(self, to: str = ALL_LINKS) -> str:
        """What the file says, where a command counts before it; otherwise nothing."""
        if not self.by_command(to):
            return ""
        rate = self.of_file.to.get(to) if to else self.of_file.agent
        return f"file: {'no limit' if rate is None else rate_text(rate)}"

    def texts(self) -> list[str]:
        """A sentence for each command that counts."""
        found = []
        for to in sorted(self._commanded):
            if self.by_command(to):
                rate = self._commanded[to].bytes_per_s
                limit = "without a limit" if rate is None else f"at most {rate_text(rate)}"
                where = f" to {to}" if to else ""
                by = self._commanded[to].operator
                found.append(f"{self._site} sends{where} {limit}, by {by} ({self.file_text(to)})")
        return found

    def _with(self, budget: SiteBudget) -> LinkBudgets:
        return _budgets(self.of_file, {**self._commanded, budget.to: budget})


def _budgets(of_file: LinkBudgets, commanded: Mapping[str, SiteBudget]) -> LinkBudgets:
    agent, to = of_file.agent, dict(of_file.to)
    for link, one in commanded.items():
        if one.is_by_file:
            continue
        if link == ALL_LINKS:
            agent = one.bytes_per_s
        elif one.bytes_per_s is None:
            to.pop(link, None)
        else:
            to[link] = one.bytes_per_s
    return msgspec.structs.replace(of_file, agent=agent, to=to)
