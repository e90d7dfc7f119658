"""A pane's merged rows in two: what is sent of them now, and what stays at the site.

By the errors that a query allows; or, of a query that sends the largest groups alone, first so many
of them and then what the root asks for (``algebra/top``).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from headwater.algebra.remainders.early_rows import doubles
from headwater.algebra.remainders.withhold import (
    Allowance,
    Withheld,
    keep_but,
    leaving_rows,
    withhold,
)
from headwater.algebra.top.keyed import group_names
from headwater.algebra.top.steps import asked_for, largest
from headwater.edge.outputs import MakeUpdates, TopAnswer


class Divided(msgspec.Struct, frozen=True):
    found: Withheld | None
    """None: all of it is sent."""
    row_counts: tuple[int, ...] = ()
    """As in ``UpdatesMade``."""


def divided(
    rows: pa.Table, wanted: MakeUpdates, pane: int, allowance: Allowance, early: Sequence[pa.Table]
) -> Divided:
    answer = wanted.answer_of(pane)
    if answer is not None:
        return Divided(_answered(rows, allowance, answer))
    if allowance.tolerance.top is not None:
        return _first(rows, wanted, allowance)
    raised = wanted.raised
    counts: tuple[int, ...] = ()
    if raised is not None:
        counts = leaving_rows(rows, allowance, (0.0, *raised.parts), early=early)
    if not allowance.is_rehearsed:
        allowance = allowance.raised(0.0 if raised is None else raised.part)
    return Divided(withhold(rows, allowance, early=early), counts)


def _first(rows: pa.Table, wanted: MakeUpdates, allowance: Allowance) -> Divided:
    """What is told of a rehearsal is what would have stayed at the level's first step."""
    top = allowance.tolerance.top
    assert top is not None, "who asks has looked"
    counts = (rows.num_rows, min(rows.num_rows, top.count))
    if not (wanted.sends_largest or allowance.is_rehearsed):
        return Divided(None, counts)
    values = doubles(rows, allowance.tolerance.top_partial)
    if not (values >= 0.0).all():
        return Divided(None, counts)  # the root could say nothing of it
    return Divided(keep_but(rows, allowance, largest(values, top.count)), counts)


def _answered(rows: pa.Table, allowance: Allowance, answer: TopAnswer) -> Withheld | None:
    """``rows`` are those that were kept back."""
    asked = answer.asked
    is_sent = asked_for(
        doubles(rows, allowance.tolerance.top_partial),
        group_names(rows, allowance.keys),
        least=asked.least,
        keys=asked.keys,
    )
    found = keep_but(rows, allowance, is_sent, asked=asked.number)
    if found is None:
        return None
    said = zip(found.remainders, answer.of, strict=False)
    remainders = tuple(msgspec.structs.replace(one, of=max(one.of, of)) for one, of in said)
    return msgspec.structs.replace(found, remainders=remainders)
