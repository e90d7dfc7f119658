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
arguments, ``{first}`` and ``{second}`` or ``{0}``, ``{1}``, … one of them, ``{rest}`` what follows
the second, and ``{filter}`` the FILTER clause or nothing; ``arrow_rows`` merges by the rule.

A state is *fixed*, a few columns of one row, or *growing*: as many rows as it has values, which are
hidden keys beside the user's. Its partial columns belong to those rows, and its folds make of the
rows of a group what is finished (``growing``).
"""

from collections.abc import Callable, Sequence

import msgspec

from headwater.algebra.aggregates.merge_rule import MergeRule
from headwater.algebra.remainders.meaning import ErrorOf
from headwater.algebra.rows.bounded import Bound
from headwater.algebra.rows.types import FLOATS, INTEGERS, decimal_digits

_SIMPLE_TYPES = ("boolean", *INTEGERS, *FLOATS, "string", "binary", "date", "timestamp")


class PartialColumn(msgspec.Struct, frozen=True):
    """One column that a site computes for an aggregate.

    Two aggregates that merge by the same rule over single columns share a column whose filled text
    is the same, so that ``avg(x)`` beside ``sum(x)`` costs only a count.
    """

    stem: str
    """What its name begins with: sum, count, …"""
    type: str
    site: str


class FoldedColumn(msgspec.Struct, frozen=True):
    """One column that a growing state is folded to, over all of its hidden keys and partials."""

    stem: str
    type: str
    fold: str
    """The rule by its name."""
    values: tuple[float, ...] = ()


class Split(msgspec.Struct, frozen=True):
    """How one aggregate over arguments of known types is split."""

    type: str
    """What Spark's own function yields."""
    partials: tuple[PartialColumn, ...]
    finish: str = "{0}"
    """SQL over the merged partials, or over what they were folded to: ``{0}`` is the first, and so
    on."""
    tried: str = ""
    """SQL over all records at once, NULL where the value leaves its type; empty: it can't."""
    central: str = ""
    """SQL over all records at once that never fails, or only where it is caught; empty: the site's
    own, which is then all there is to compute. Of what is bounded, the truth that it is near to."""
    bound: Bound | None = None
    """How far from the truth the finished value may be; None: it is exact."""
    merge: MergeRule | None = None
    """The rule, where it depends on literals among the arguments; None: the aggregate's own."""
    hidden: tuple[PartialColumn, ...] = ()
    """Of a growing state: its hidden keys, SQL over a record. A record of which the first is null
    is none of its values."""
    folds: tuple[FoldedColumn, ...] = ()


class Aggregate(msgspec.Struct, frozen=True):
    name: str
    merge: MergeRule
    """Over all of its partial columns; a rule over single columns merges each by itself."""
    split: Callable[[tuple[str, ...]], Split]
    """From the types of the arguments, and of those that are literals from what is written. Raises
    ``UnfitArguments`` with a sentence for people."""
    functions: tuple[str, ...]
    """What makes its partial columns: the functions that a site admits to be merged by the rule."""
    synonyms: tuple[str, ...] = ()
    takes_star: bool = False
    makes_one_of_many: bool = False
    """Its partials are numbers that many records have in common, and no value as it is: a site lets
    it have columns of which no value may leave."""
    scales: bool = False
    """Of a sample of the records it is as much smaller as the sample is: a count, a sum."""
    is_distinct: bool = False
    """It is what its name means with DISTINCT before the arguments."""
    is_count: bool = False
    """Its value is how many, so never negative, whatever it is over."""
    once: str = ""
    """What is written in its place where DISTINCT is wanted, which it does not go with."""
    literals_from: int | None = None
    """From this argument on they are literals; None: none is."""
    settled: str = ""
    """What one Spark is to compute in the place of its own function, which leaves open what it
    gives where values tie; empty: it leaves nothing open."""
    further_rules: tuple[MergeRule, ...] = ()
    """That a split may name instead of ``merge``."""
    error: ErrorOf | None = None
    """What a bound on its column means where sites keep something back; None: it can't be bounded.
    A function that users bring says it here as well."""

    @property
    def rules(self) -> tuple[MergeRule, ...]:
        return (self.merge, *self.further_rules)

    def takes_literal(self, position: int) -> bool:
        return self.literals_from is not None and position >= self.literals_from


def spelled(template: str, arguments: Sequence[str], condition: str = "") -> str:
    """SQL of an aggregate with these arguments, and its FILTER clause where it has one."""
    first, second = (*arguments, "", "")[:2]
    rest = "".join(f", {one}" for one in arguments[2:])
    texts = {"x": ", ".join(arguments), "first": first, "second": second, "rest": rest}
    return template.format(*arguments, **texts, filter=condition)


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


def hidden_keys(name: str, types: tuple[str, ...]) -> tuple[PartialColumn, ...]:
    """Each argument as a hidden key. Raises ``UnfitArguments`` for types that can't be keys."""
    for type_name in types:
        if type_name not in _SIMPLE_TYPES and decimal_digits(type_name) is None:
            raise UnfitArguments(
                f"{name} takes numbers, strings, times and truths, got {type_name}; take a value "
                "out of it, as in a.b, tags[0] or m['key']"
            )
    return tuple(
        PartialColumn("value", type_name, f"{{{at}}}") for at, type_name in enumerate(types)
    )
