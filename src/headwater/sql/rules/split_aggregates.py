"""Split every aggregate of a question into what sites compute and what the root makes of it.

::

    avg(bytes), sum(bytes)      site    sum_1 = sum(bytes), count_2 = count(bytes)
                                root    sum(sum_1) / sum(count_2), sum(sum_1)

Partials are known by the SQL that computes them, so calls that need the same one share it.
"""

import msgspec

from headwater.algebra.rows.columns import MergeRule, Partial
from headwater.algebra.rows.types import PANE_COLUMN, WINDOW_COLUMN
from headwater.sql.read.sql_text import name_sql, sql_of
from headwater.sql.resolve.question import Call, Question


class SplitQuestion(msgspec.Struct, frozen=True):
    question: Question
    partials: tuple[Partial, ...]
    site_sql: tuple[str, ...]
    """For each partial what computes it, over records."""
    finishes: tuple[str, ...]
    """For each call what finishes it, over merged partials."""


def split_aggregates(question: Question) -> SplitQuestion:
    # A partial with the name of an item would let Spark read one for the other in HAVING.
    taken = {PANE_COLUMN, WINDOW_COLUMN}
    taken |= {key.name.lower() for key in question.keys}
    taken |= {item.name.lower() for item in question.items}
    partials: dict[str, Partial] = {}
    finishes = []
    if not question.calls and not question.keys:
        # Rows without columns can't be counted; this one says that there is a row.
        partials["COUNT(*)"] = Partial(_free_name("count_1", taken), "bigint", MergeRule.SUM)
    for call in question.calls:
        merged = []
        for partial in call.split.partials:
            text = partial.site.format(x=_arguments(call), filter=_filter(call))
            if text not in partials:
                name = _free_name(f"{partial.stem}_{len(partials) + 1}", taken)
                partials[text] = Partial(name, partial.type, partial.merge)
            shared = partials[text]
            merged.append(f"{shared.merge.upper()}({name_sql(shared.name)})")
        finishes.append(call.split.finish.format(*merged))
    return SplitQuestion(question, tuple(partials.values()), tuple(partials), tuple(finishes))


def _arguments(call: Call) -> str:
    return ", ".join(sql_of(argument) for argument in call.arguments)


def _filter(call: Call) -> str:
    return f" FILTER(WHERE {sql_of(call.condition)})" if call.condition is not None else ""


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
