"""Growing states: aggregates whose state is as many rows as it has values.

Open ``fold_rule`` first: what becomes of the rows of a group. A new one is a file with an
aggregate, and its fold rules in ``FOLDS``.

It may touch what ``aggregates`` may, and no room beside it.
"""

from headwater.algebra.aggregates.growing.distinct import DISTINCTS
from headwater.algebra.aggregates.growing.fold_by import FIRST_GREATEST, FIRST_LEAST
from headwater.algebra.aggregates.growing.fold_distinct import COUNTED_ROWS, SUMMED_KEYS
from headwater.algebra.aggregates.growing.fold_lists import LISTED_ALL, LISTED_ONCE, MOST_FREQUENT
from headwater.algebra.aggregates.growing.fold_rule import FoldRule
from headwater.algebra.aggregates.growing.fold_top_k import TOP_K
from headwater.algebra.aggregates.growing.lists import LISTS
from headwater.algebra.aggregates.growing.top_k import TOP_KS

GROWING = (*DISTINCTS, *LISTS, *TOP_KS)

FOLDS: dict[str, FoldRule] = {
    rule.name: rule
    for rule in (
        *(COUNTED_ROWS, SUMMED_KEYS),
        *(LISTED_ONCE, LISTED_ALL, MOST_FREQUENT),
        *(FIRST_LEAST, FIRST_GREATEST),
        TOP_K,
    )
}
