"""An aggregate that can be split: partial at the site, merged on the way, finished at the root.

::

    records ──site──► partial ──┐
    records ──site──► partial ──┴─merge──► partial ──finish──► value

What makes this sound are three laws, and one property test sends every aggregate through them:
partials merge associatively and commutatively, no rows are neutral, and however records are
divided among sites and panes, finish(merge(site(part) for each part)) is what Spark's own function
gives for all records at once, in the same type.

Nothing is computed here. Spark computes partials and finishes, from the SQL that a ``Split``
spells out; ``arrow_rows`` merges by the rule of each partial.
"""

from collections.abc import Callable

import msgspec

from headwater.algebra.rows.columns import MergeRule


class PartialColumn(msgspec.Struct, frozen=True):
    """One column that a site computes for an aggregate.

    ``site`` is SQL with two holes: ``{x}`` takes the arguments, ``{filter}`` the FILTER clause or
    nothing. Two aggregates whose filled text is the same share the column, so that ``avg(x)``
    beside ``sum(x)`` costs only a count.
    """

    stem: str
    """What its name begins with: sum, count, …"""
    type: str
    merge: MergeRule
    site: str


class Split(msgspec.Struct, frozen=True):
    """How one aggregate over arguments of known types is split."""

    type: str
    """What Spark's own function yields."""
    partials: tuple[PartialColumn, ...]
    finish: str
    """SQL over the merged partials: ``{0}`` is the first of them, and so on."""


class Aggregate(msgspec.Struct, frozen=True):
    name: str
    split: Callable[[tuple[str, ...]], Split]
    """From the types of the arguments. Raises ``UnfitArguments`` with a sentence for people."""
    synonyms: tuple[str, ...] = ()
    takes_star: bool = False


class UnfitArguments(ValueError):
    """An aggregate can't take arguments of these types; the message says what it takes."""


def one_argument(name: str, types: tuple[str, ...]) -> str:
    """The only argument's type."""
    if len(types) != 1:
        raise UnfitArguments(f"{name} takes one argument, got {len(types)}")
    return types[0]
