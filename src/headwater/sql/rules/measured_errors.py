"""By what of a summary's rows sites see how far a column would be off without them.

Mostly that is a partial that the column needs anyway: a count, a sum, or of an average how many
records it has. Sketches don't tell how many records are in them, so beside those sites count them,
where an error is asked for. The rows of a growing state are looked at by what they count, or each
as one, and only those of that state.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from headwater.algebra.aggregates.merge_sums import SUMS
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.rows.coarser_groups import set_number
from headwater.algebra.rows.columns import Partial
from headwater.sql.tree.grouping_sets import only_in
from headwater.sql.tree.items import Call
from headwater.sql.tree.nodes import Grouped, Node, Split, rewrite, the

STEM = "records"
"""What the name of a partial begins with that is there for an error alone."""


class Measure(NamedTuple):
    """Of a column, as ``ToleratedColumn`` has it."""

    partial: str
    among: str = ""


def with_measures(tree: Node) -> Node:
    """What sites count beside sketches is among the partials, where an error is asked for."""
    return rewrite(tree, Split, _measured) if the(tree, Grouped).is_measured else tree


def measure_of(index: int, split: Split) -> Measure:
    """Of the call with this index; it says what an error of it means."""
    call = split.below.calls[index]
    if call.split.hidden:
        words = set(re.findall(r"\w+", split.finishes[index]))
        fold = next(one for one in split.folds if one.name in words)
        hidden = {key.name for key in split.hidden}
        counted = [name for name in fold.over if name not in hidden]
        return Measure(counted[0] if counted else "", fold.over[0])
    return Measure(_named(_text(call, split), _rule(call), split))


def partial_of(index: int, split: Split) -> str:
    """Of the call with this index, a count or a sum: where it is in a summary's rows."""
    call = split.below.calls[index]
    text = call.sql(call.split.partials[0].site)
    if split.sets:
        text = only_in(set_number(split.sets[0], len(split.hidden)), text)
    return _named(text, call.rule.name, split)


def _named(text: str, rule: str, split: Split) -> str:
    found = (one.name for one, sql in split.partials.items() if (sql, one.merge) == (text, rule))
    return next(found)


def _measured(split: Split) -> Split:
    partials = dict(split.partials)
    for call in split.below.calls:
        error, text = call.aggregate.error, _text(call, split)
        known = [sql for one, sql in partials.items() if one.merge == SUMS.name]
        if error is not None and error.measure and not call.split.hidden and text not in known:
            names = {one.name.lower() for part in (partials, split.folds) for one in part}
            names |= {key.name.lower() for key in split.keys}
            name = f"{STEM}_{len(partials) + 1}"
            while name in names:
                name += "_"
            partials[Partial(name, "bigint", SUMS.name)] = text
    return msgspec.structs.replace(split, partials=partials)


def _rule(call: Call) -> str:
    error = call.aggregate.error
    is_largest = error is not None and error.meaning is Meaning.LARGEST
    return call.rule.name if is_largest else SUMS.name


def _text(call: Call, split: Split) -> str:
    """What computes it at a site."""
    error = call.aggregate.error
    template = error.measure if error is not None else ""
    if not template:
        template = call.split.partials[0].site if call.split.partials else ""
    text = call.sql(template)
    return text if not split.sets else only_in(set_number(split.sets[0], len(split.hidden)), text)
