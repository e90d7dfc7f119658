"""An aggregate that can be split: partial at the site, merged on the way, finished at the root.

::

    records ──site──► partial ──┐
    records ──site──► partial ──┴─merge──► partial ──finish──► value

What makes this sound are three laws, and one property test sends every aggregate through them:
partials merge associatively and commutatively, no rows are neutral, and however records are
divided among sites and panes, finish(merge(site(part) for each part)) is what Spark's own function
gives for all records at once, in the same type.

Who compiles, admits, merges, compares or explains reads it here; there is no second list. Spark
computes partials and finishes, from the SQL that a ``Split`` spells out, in which ``{x}`` takes the
arguments, ``{first}`` and ``{second}`` one of them, and ``{filter}`` the FILTER clause or nothing;
``arrow_rows`` merges by the rule.
"""

from collections.abc import Callable, Sequence

import msgspec

from headwater.algebra.aggregates.merge_rule import MergeRule


class PartialColumn(msgspec.Struct, frozen=True):
    """One column that a site computes for an aggregate.

    Two aggregates that merge by the same rule over single columns share a column whose filled text
    is the same, so that ``avg(x)`` beside ``sum(x)`` costs only a count.
    """

    stem: str
    """What its name begins with: sum, count, …"""
    type: str
    site: str


class Split(msgspec.Struct, frozen=True):
    """How one aggregate over arguments of known types is split."""

    type: str
    """What Spark's own function yields."""
    partials: tuple[PartialColumn, ...]
    finish: str = "{0}"
    """SQL over the merged partials: ``{0}`` is the first of them, and so on."""
    tried: str = ""
    """SQL over all records at once, NULL where the value leaves its type; empty: it can't."""
    central: str = ""
    """SQL over all records at once that never fails, or only where it is caught; empty: the site's
    own, which is then all there is to compute."""


class Aggregate(msgspec.Struct, frozen=True):
    name: str
    merge: MergeRule
    """Over all of its partial columns; a rule over single columns merges each by itself."""
    split: Callable[[tuple[str, ...]], Split]
    """From the types of the arguments. Raises ``UnfitArguments`` with a sentence for people."""
    functions: tuple[str, ...]
    """What makes its partial columns: the functions that a site admits to be merged by the rule."""
    synonyms: tuple[str, ...] = ()
    takes_star: bool = False
    makes_one_of_many: bool = False
    """Its partials are numbers that many records have in common, and no value as it is: a site lets
    it have columns of which no value may leave."""


def spelled(template: str, arguments: Sequence[str], condition: str = "") -> str:
    """SQL of an aggregate with these arguments, and its FILTER clause where it has one."""
    first, second = (*arguments, "", "")[:2]
    return template.format(x=", ".join(arguments), first=first, second=second, filter=condition)


class UnfitArguments(ValueError):
    """An aggregate can't take arguments of these types; the message says what it takes."""


def one_argument(name: str, types: tuple[str, ...]) -> str:
    """The only argument's type."""
    if len(types) != 1:
        raise UnfitArguments(f"{name} takes one argument, got {len(types)}")
    return types[0]


def condition(name: str, types: tuple[str, ...]) -> str:
    """The same of one that must be a truth."""
    if one_argument(name, types) != "boolean":
        raise UnfitArguments(f"{name} takes a condition (boolean), got {types[0]}")
    return types[0]
