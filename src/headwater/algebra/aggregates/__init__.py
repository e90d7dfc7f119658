"""Every aggregate that can be split, by each of its names. A new one is a file and an entry in
``ALL``; what a site admits and by which rules rows merge is read off that.

Open ``aggregate`` first: what each of them says of itself. Then ``merge_rule``, and ``growing`` for
those whose state is rows.

It may touch what ``algebra`` may, and of the rooms beside it ``remainders`` and ``rows``.
"""

from headwater.algebra.aggregates.aggregate import Aggregate
from headwater.algebra.aggregates.average import AVERAGE, TRY_AVERAGE
from headwater.algebra.aggregates.bits import BITS
from headwater.algebra.aggregates.comoments import COMOMENTS
from headwater.algebra.aggregates.count import COUNT, COUNT_IF
from headwater.algebra.aggregates.extremes import ANY_VALUE, BOOL_AND, BOOL_OR, MAX, MIN
from headwater.algebra.aggregates.extremes_by import EXTREMES_BY
from headwater.algebra.aggregates.growing import FOLDS as GROWING_FOLDS
from headwater.algebra.aggregates.growing import GROWING
from headwater.algebra.aggregates.growing.fold_rule import FoldRule
from headwater.algebra.aggregates.merge_rule import MergeRule
from headwater.algebra.aggregates.moments import MOMENTS
from headwater.algebra.aggregates.sketches.distinct import SKETCHES
from headwater.algebra.aggregates.sketches.fold_histogram import HISTOGRAM
from headwater.algebra.aggregates.sketches.fold_percentile import PERCENTILE
from headwater.algebra.aggregates.sketches.histogram_values import HISTOGRAMS
from headwater.algebra.aggregates.sketches.percentile import PERCENTILES
from headwater.algebra.aggregates.sketches.ranks import RANKS
from headwater.algebra.aggregates.sketches.theta import THETA
from headwater.algebra.aggregates.sum import SUM, TRY_SUM

ALL = (
    *(COUNT, COUNT_IF, SUM, AVERAGE, TRY_AVERAGE, TRY_SUM),
    *(MIN, MAX, BOOL_AND, BOOL_OR, ANY_VALUE),
    *EXTREMES_BY,
    *BITS,
    *MOMENTS,
    *COMOMENTS,
    *SKETCHES,
    *GROWING,
    *PERCENTILES,
    *HISTOGRAMS,
    *RANKS,
    THETA,
)

AGGREGATES: dict[str, Aggregate] = {
    name: aggregate
    for aggregate in ALL
    for name in (aggregate.name, *aggregate.synonyms)
    if not aggregate.is_distinct
}

RULES: dict[str, MergeRule] = {rule.name: rule for aggregate in ALL for rule in aggregate.rules}

FOLDS: dict[str, FoldRule] = {
    **GROWING_FOLDS,
    PERCENTILE.name: PERCENTILE,
    HISTOGRAM.name: HISTOGRAM,
}

DISTINCT: dict[str, Aggregate] = {
    name: aggregate
    for aggregate in (MIN, MAX, BOOL_AND, BOOL_OR, *(one for one in ALL if one.is_distinct))
    for name in (aggregate.name, *aggregate.synonyms)
}
"""Those that are called with DISTINCT; an extreme of distinct values is that of all."""


SITE_FUNCTIONS = frozenset(
    (function, rule.name)
    for aggregate in ALL
    for rule in aggregate.rules
    for function in aggregate.functions
)
"""What a site may compute, and how that then merges."""

__all__ = ["AGGREGATES", "ALL", "DISTINCT", "FOLDS", "GROWING", "RULES", "SITE_FUNCTIONS"]
