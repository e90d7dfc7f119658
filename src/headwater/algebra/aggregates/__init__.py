"""Every aggregate that can be split, by each of its names. A new one is a file and an entry.

Open ``aggregate`` first: what each of them says of itself.
"""

from headwater.algebra.aggregates.aggregate import Aggregate
from headwater.algebra.aggregates.average import AVERAGE
from headwater.algebra.aggregates.count import COUNT, COUNT_IF
from headwater.algebra.aggregates.extremes import MAX, MIN
from headwater.algebra.aggregates.sum import SUM
from headwater.algebra.aggregates.truth import BOOL_AND, BOOL_OR

ALL = (COUNT, COUNT_IF, SUM, AVERAGE, MIN, MAX, BOOL_AND, BOOL_OR)

AGGREGATES: dict[str, Aggregate] = {
    name: aggregate for aggregate in ALL for name in (aggregate.name, *aggregate.synonyms)
}
