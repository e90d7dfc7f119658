"""What of the option ``degrade`` a stream can have, as a plan."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from headwater.algebra.remainders.tolerance import Finally
from headwater.plan.degrading.degradation import Degradation, Operator, OperatorKind
from headwater.sql.degrade import can_be_had
from headwater.sql.degrade.asked_levels import read_operator
from headwater.sql.degrade.backlog_options import read_backlog
from headwater.sql.degrade.can_be_had import Degradable
from headwater.sql.degrade.degrade_option import Asked, read_degrade
from headwater.sql.read.error_option import read_finally
from headwater.sql.read.options import Options
from headwater.sql.tree.nodes import Node

ONCE = {
    OperatorKind.COARSEN_TIME: "all its lengths in one",
    OperatorKind.SAMPLE: "the least share, which has all before it",
    OperatorKind.SHRINK: "one column's",
}
"""How an operator that is asked for twice is written."""
LEVELS = ("coarsen", "sample", "shrink")
"""Operators of which each level is a stream."""


def read_degradation(tree: Node, options: Options, *, is_timed: bool) -> Degradation | UnsetType:
    """``is_timed``: its windows are of times. Raises ``QueryRefused`` with what can be had."""
    stream = Degradable(tree, is_timed=is_timed)
    operators: list[Operator] = []
    for one in read_degrade(options):
        _check_roots(options, one, stream)
        made = read_operator(options, one, stream)
        if made.kind not in can_be_had.WHOLE:
            raise options.refused(
                "degrade",
                f"`{one.text[:60]}`: this version can't do that from the site to the answer; "
                f"leave it out{stream.offered()}",
            )
        if made.kind in [other.kind for other in operators]:
            raise options.refused(
                "degrade",
                f"`{one.text[:60]}`: wanted `{made.kind}` once, got it twice; "
                f"write {ONCE.get(made.kind, 'one of them')}",
            )
        operators.append(made)
    _check_sample(options, operators)
    follows = read_finally(options) is Finally.EXACT
    backlog_bytes, backlog_age_s = read_backlog(options, operators, stream)
    if not operators:
        return UNSET
    return Degradation(tuple(operators), follows, backlog_bytes, backlog_age_s)


def _check_roots(options: Options, asked: Asked, stream: Degradable) -> None:
    """Of a level each root would answer a part, and what is made coarser is of several parts."""
    if stream.is_dealt and asked.name in LEVELS:
        raise options.refused(
            "degrade",
            f"`{asked.text[:60]}`: a level is a stream of its own beside this one, with one root, "
            f"and several answer this one; name one in `root`{stream.offered()}",
        )


def _check_sample(options: Options, operators: list[Operator]) -> None:
    """A sample is of keys that are there, each with all of its records."""
    keys = {one.kind: one for one in operators}
    sample, coarser = keys.get(OperatorKind.SAMPLE), keys.get(OperatorKind.COARSEN_KEY)
    if sample is not None and coarser is not None and sample.column == coarser.column:
        raise options.refused(
            "degrade",
            f"`{sample.text[:60]}` beside `{coarser.text[:60]}`: a group of the coarser key would "
            "have some of its finer ones; sample another key, or leave one of the two out",
        )
