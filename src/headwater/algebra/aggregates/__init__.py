"""Every aggregate that can be split, by each of its names. A new one is a file and an entry in
``ALL``; what a site admits and by which rules rows merge is read off that.

Open ``aggregate`` first: what each of them says of itself. Then ``merge_rule``.
"""

from headwater.algebra.aggregates.aggregate import Aggregate
from headwater.algebra.aggregates.average import AVERAGE
from headwater.algebra.aggregates.bits import BITS
from headwater.algebra.aggregates.comoments import COMOMENTS
from headwater.algebra.aggregates.count import COUNT, COUNT_IF
from headwater.algebra.aggregates.extremes import BOOL_AND, BOOL_OR, MAX, MIN
from headwater.algebra.aggregates.merge_rule import MergeRule
from headwater.algebra.aggregates.moments import MOMENTS
from headwater.algebra.aggregates.sum import SUM

ALL = (
    *(COUNT, COUNT_IF, SUM, AVERAGE),
    *(MIN, MAX, BOOL_AND, BOOL_OR),
    *BITS,
    *MOMENTS,
    *COMOMENTS,
)

AGGREGATES: dict[str, Aggregate] = {
    name: aggregate for aggregate in ALL for name in (aggregate.name, *aggregate.synonyms)
}

RULES: dict[str, MergeRule] = {aggregate.merge.name: aggregate.merge for aggregate in ALL}

SITE_FUNCTIONS = frozenset(
    (function, aggregate.merge.name) for aggregate in ALL for function in aggregate.functions
)
"""What a site may compute, and how that then merges."""
