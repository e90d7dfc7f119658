"""Which operators a stream can have: named in every refusal, so that nobody has to guess."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlglot import exp

from headwater.algebra.aggregates.sketches.hll_cells import LG_K_MIN
from headwater.algebra.aggregates.sketches.merge_hll import HLLS
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.rows.types import INTEGERS
from headwater.plan.degrading.degradation import LEVEL_KINDS, OperatorKind
from headwater.plan.degrading.time_hierarchy import coarse_lengths
from headwater.plan.durations import duration_text
from headwater.sql.rules.never_negative import is_sure
from headwater.sql.rules.tolerated_columns import call_of
from headwater.sql.tree.items import Item, Key
from headwater.sql.tree.nodes import Grouped, Node, Ordered, Ranked, Shown, Split, one, the
from headwater.sql.tree.slots import CALL, KEY, slot_of

WHOLE: frozenset[OperatorKind] = frozenset({OperatorKind.THRESHOLD, OperatorKind.TOP, *LEVEL_KINDS})
"""Those that work from the site to the answer. Others are refused, whatever is asked of them."""
LENGTHS_SHOWN = 3
SHRUNK_BITS = 2
"""Of the logarithm of its registers, by which a sketch gets less at each level: half as exact."""
PLAIN_TYPES = ("boolean", "string", "date", "timestamp", "binary", *INTEGERS)
"""Of keys that can be made coarser or be sampled, and decimals: equal values are equal to every
function. (0.0 and -0.0 are one group, and two to some.)"""


class Degradable:
    """One stream, as far as operators go by it."""

    def __init__(self, tree: Node, *, is_timed: bool) -> None:
        self.group, self.split = the(tree, Grouped), the(tree, Split)
        self.shown = the(tree, Shown)
        self.is_timed = is_timed and self.group.sessions is None and not self.group.last_n
        has_rows = self.group.of_rows or bool(self.group.sets) or self.group.sessions is not None
        self.has_groups = bool(self.group.keys) and not has_rows and not self.group.last_n
        self.is_dealt = self.group.part is not None
        """Several roots answer it, each a part of the groups."""
        left_out = {
            "DISTINCT": self.shown.is_distinct,
            "a rank": one(tree, Ranked) is not None,
            "LIMIT": isinstance(tree, Ordered) and tree.limit is not None,
            "HAVING": self.shown.having is not None,
        }
        self.choices = tuple(name for name, is_there in left_out.items() if is_there)
        """What leaves rows of the answer out, by values that may be off."""

    @property
    def pane_us(self) -> int:
        return self.group.window.pane_us

    def key(self, name: str) -> Key | None:
        """A key, by the name that an answer or a record has for it."""
        wanted = name.strip("`").lower()
        return next(
            (key for shown, key in self._keys() if wanted in (shown, key.name.lower())), None
        )

    def item(self, name: str) -> Item | None:
        """A column that an aggregate makes."""
        wanted = name.strip("`").lower()
        return next((item for item in self.measured() if item.name.lower() == wanted), None)

    def measured(self) -> list[Item]:
        return [item for item in self.shown.items if _has_call(item.expression)]

    def lengths(self) -> list[int]:
        """Of coarse panes."""
        has_panes = self.has_groups and self.has_level_windows
        return list(coarse_lengths(self.pane_us)) if has_panes else []

    def thresholds(self) -> list[str]:
        """Columns that a threshold can go by: counts and sums that are never negative."""
        if not self.has_groups or self.choices:
            return []
        return [item.name for item in self.measured() if self.is_sum(item)]

    def tops(self) -> list[str]:
        """Columns that the largest groups can be the largest by."""
        is_tumbling = self.group.window.panes_per_window == 1
        is_growing = any(call.split.hidden for call in self.group.calls)
        is_flat = not any("<" in key.type for key in self.group.keys)
        return self.thresholds() if is_tumbling and is_flat and not is_growing else []

    def sketches(self) -> dict[str, int]:
        """Columns that can be made smaller, with the logarithms of how many registers they have."""
        has_panes = self.has_groups and self.has_level_windows
        return dict(self._hlls()) if has_panes else {}

    def _hlls(self) -> Iterator[tuple[str, int]]:
        sizes = {rule.name: lg_k for lg_k, rule in HLLS.items()}
        for item in self.measured():
            call = call_of(item, self.group)
            size = 0 if call is None or call.split.hidden else sizes.get(call.rule.name, 0)
            if size >= LG_K_MIN + SHRUNK_BITS:
                yield item.name, size

    def is_sum(self, item: Item) -> bool:
        call = call_of(item, self.group)
        error = None if call is None else call.aggregate.error
        is_added = error is not None and error.meaning is Meaning.ADDED
        return is_added and call is not None and not call.split.hidden and is_sure(call)

    @property
    def says_what_it_lacks(self) -> bool:
        """Whether of each column it can be said by how much it is off without a group: what keeps
        groups back needs that of all of them."""
        return all(lacks_what_is_known(item, self.group) for item in self.measured())

    def left_out(self) -> str:
        """To end a refusal with, where the rows that are shown are chosen."""
        found = " and ".join(self.choices)
        return f"; here {found} may leave groups out" if found else ""

    @property
    def has_level_windows(self) -> bool:
        is_tumbling = self.group.window.panes_per_window == 1
        return self.is_timed and is_tumbling and not self.is_dealt

    def has_levels(self, key: Key) -> bool:
        """Whether it can be made coarser, or be sampled."""
        is_plain = key.type in PLAIN_TYPES or key.type.startswith("decimal")
        return self.has_level_windows and is_plain and key.place is None

    def names_of_keys(self) -> list[str]:
        keys = [key for _, key in self._keys() if self.has_levels(key)]
        return [key.name for key in keys] if self.has_groups else []

    def offers(self) -> Iterator[tuple[OperatorKind, str]]:
        """What can be had, as it is written."""
        if self.lengths():
            shown = ", ".join(map(duration_text, self.lengths()[:LENGTHS_SHOWN]))
            yield OperatorKind.COARSEN_TIME, f"coarsen(time, {shown})"
        for name in self.names_of_keys():
            yield OperatorKind.COARSEN_KEY, f"coarsen({name}, …)"
        for name in self.thresholds() if self.says_what_it_lacks else ():
            yield OperatorKind.THRESHOLD, f"threshold({name}, 1 % of total)"
        for name in self.names_of_keys():
            yield OperatorKind.SAMPLE, f"sample({name}, 1/16)"
        for name in self.tops() if self.says_what_it_lacks else ():
            yield OperatorKind.TOP, f"top(100, {name})"
        for name in self.sketches():
            yield OperatorKind.SHRINK, f"shrink({name})"

    def offered(self, *, but: Collection[OperatorKind] = ()) -> str:
        """To end a refusal with. ``but``: those that something beside them rules out."""
        found = [text for kind, text in self.offers() if kind in WHOLE and kind not in but]
        return f"; this stream can have: {', '.join(found) or 'none'}"

    def _keys(self) -> Iterator[tuple[str, Key]]:
        shown = {
            found[1]: item.name.lower()
            for item in self.shown.items
            if (found := slot_of(item.expression)) is not None and found[0] == KEY
        }
        for at, key in enumerate(self.group.keys):
            yield shown.get(at, key.name.lower()), key


def lacks_what_is_known(item: Item, group: Grouped) -> bool:
    """Whether it can be said by how much a column is off without a group: of counts, sums that are
    never negative, averages and percentiles."""
    call = call_of(item, group)
    error = None if call is None else call.aggregate.error
    if call is None or error is None:
        return False
    return error.meaning is Meaning.RECORDS or (error.meaning is Meaning.ADDED and is_sure(call))


def _has_call(expression: exp.Expr) -> bool:
    slots = [found for node in expression.walk() if (found := slot_of(node))]
    return any(kind == CALL for kind, _ in slots)
