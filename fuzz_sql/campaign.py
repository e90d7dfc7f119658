"""Many cases, one after the other, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from fuzz_sql.case import Case
from fuzz_sql.draw import draw_case
from fuzz_sql.reduce import reduced
from fuzz_sql.run import BothWays, Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAULTS_MAX = 5
"""Faults that are reduced and told; then the campaign ends."""
KIND_WORDS = 1
"""By the first words of a fault one is told from another."""


class Campaign(msgspec.Struct):
    cases: int = 0
    rows: int = 0
    empty: int = 0
    """Cases whose answer has no rows."""
    with_groups_left_out: int = 0
    refusals: Counter[str] = msgspec.field(default_factory=Counter)
    faults: list[str] = []

    def add(self, outcome: Outcome) -> None:
        self.cases += 1
        self.rows += outcome.rows
        self.empty += not outcome.rows
        self.with_groups_left_out += bool(outcome.left_out)
        if outcome.refused:
            self.refusals[outcome.refused.splitlines()[0]] += 1

    def __str__(self) -> str:
        return (
            f"{self.cases} cases: {self.rows} rows, {self.empty} without rows, "
            f"{self.with_groups_left_out} with groups left out, {self.refusals.total()} refused, "
            f"{len(self.faults)} faults"
        )


def run_campaign(
    spark: SparkSession, seeds: Iterable[int], *, say: Callable[[str], None] = lambda _: None
) -> Campaign:
    ways, campaign = BothWays(spark), Campaign()
    for seed in seeds:
        case = draw_case(seed)
        outcome = ways.run(case)
        campaign.add(outcome)
        if outcome.fault:
            campaign.faults.append(report(ways, case))
            say(campaign.faults[-1])
            if len(campaign.faults) >= FAULTS_MAX:
                break
    return campaign


def report(ways: BothWays, case: Case) -> str:
    """The smallest case that fails like this one, and how."""
    words = ways.run(case).fault.split()[:KIND_WORDS]

    def fails(less: Case) -> bool:
        return ways.run(less).fault.split()[:KIND_WORDS] == words

    small = reduced(case, fails)
    return f"{small}\n{ways.run(small).fault}\n"
