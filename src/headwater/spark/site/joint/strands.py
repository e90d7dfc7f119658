"""Queries that share the rows of an expansion: their groups are groups of one of them, merged.

A record is written down once more for a query only where it must be. For two queries by domain,
over panes of one length, one row is enough, with the values of both; and what a query without keys
counts is what all domains count together. Such queries are a *strand*::

    record                     strand (pane, domain)         its groups, merged
    12:00:01, a.example, 404   pane 0, a.example; 17 bytes,  by domain            →  query 0
                               for queries 0, 1 and 2        by domain, of those  →  query 1
                                                             WHERE status = 404
                                                             all together         →  query 2

Where conditions differ, the records of a group concern the same queries: a bit for each condition
is in the column ``GROUP``. A key is NULL for records of which no query asks for it. So a strand has
hardly more groups than its queries have by themselves; ``CONDITIONS_MAX`` bounds by how much.

One strand is the *carrier* of the counts of the lines. It has all lines, those that concern none of
its queries in a few groups more, and in further bits of ``GROUP`` the needs for which a line is
malformed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from headwater.spark.site.joint.plain_part import PlainPart, Slot, Value

STRANDS_MAX = 8
"""In one statement. Reading the lines again costs less than code that Java does not compile."""
FLAGS_MAX, CONDITIONS_MAX = 8, 3
"""In one strand. Flags of one condition differ by what is malformed for a query, and so are equal
for nearly all lines; a condition more may double the groups."""
STRAND_BITS = 4
NEEDS_AT = STRAND_BITS + FLAGS_MAX
NEEDS_MAX = 63 - NEEDS_AT
"""``GROUP`` is a bigint: the number of the strand, then its flags, then the needs of the parser."""
NO_PANE = f"{1 - (1 << 63)}L"
"""Of the lines that concern no query of the carrier."""
GROUP, PANE, KEY, VALUE = "__group", "__pane", "__key_", "__value_"


STANDS_FOR_NONE = {
    "boolean": "false",
    "string": "''",
    "date": "DATE'1970-01-01'",
    "timestamp": "timestamp_micros(0)",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double"), "0"),
}
"""By type: what a strand writes into the slot of a key that it has not. Spark has a faster map
for groups none of whose keys is NULL. Strands are told apart by ``GROUP``, so it is no matter what
stands there."""


class Slots:
    """Columns that the rows of all strands share, by what is done with them and their types."""

    def __init__(self) -> None:
        self.kinds: list[Slot] = []

    @property
    def names(self) -> list[str]:
        return [_name(at, kind) for at, kind in enumerate(self.kinds)]

    @property
    def fillings(self) -> list[str]:
        """What is written there by strands that have nothing for it."""
        found = []
        for function, type_ in self.kinds:
            value = "NULL" if function else STANDS_FOR_NONE.get(type_, "NULL")
            found.append(f"CAST({value} AS {type_})")
        return found

    def free(self, kind: Slot, used: int) -> str:
        """The next one of its kind for a row that has used so many of them."""
        places = [at for at, one in enumerate(self.kinds) if one == kind]
        if used == len(places):
            places.append(len(self.kinds))
            self.kinds.append(kind)
        return _name(places[used], kind)


def _name(at: int, kind: Slot) -> str:
    return f"{VALUE if kind[0] else KEY}{at}"


class Strand:
    """As it is filled, query after query."""

    def __init__(self, number: int, part: PlainPart, pane: str, slots: Slots) -> None:
        """``pane`` is the column with the pane of this part, whose keys are those of the strand."""
        self.number = number
        self.conditions: set[str] = set()
        self._part = part
        self._pane = pane
        self._slots = slots
        self._used: Counter[Slot] = Counter()
        self._flags: list[str] = []
        self._askers: dict[str, list[str]] = {}
        """By the slot of a key: the flags of the queries that have it."""
        self._keys: dict[str, Value] = {}
        self._values: dict[tuple[Slot, str], str] = {}
        """By what is written there: the slots of keys and values."""

    def takes(self, part: PlainPart, flag: str) -> bool:
        """Whether its groups are groups of this strand, merged."""
        is_narrow = (
            len(self.conditions | {part.condition}) <= CONDITIONS_MAX
            and len({*self._flags, flag}) <= FLAGS_MAX
        )
        return is_narrow and part.pane == self._part.pane and {*part.keys} <= {*self._part.keys}

    def is_whole(self, part: PlainPart) -> bool:
        """Whether they are groups of this strand as they are, but for whom they concern."""
        return {*part.keys} == {*self._part.keys}

    def add(self, part: PlainPart, flag: str) -> list[str]:
        """The slots of its keys and values. ``flag`` is the column that says whether a record
        concerns the query."""
        self.conditions.add(part.condition)
        if flag not in self._flags:
            self._flags.append(flag)
        keys = [self.slot(key.slot, key.sql) for key in part.keys]
        for name, key in zip(keys, part.keys, strict=True):
            self._keys[name] = key
            self._askers.setdefault(name, []).append(flag)
        guarded = [
            (value.slot, value.sql if value.is_safe else f"if({flag}, {value.sql}, NULL)")
            for one in part.partials
            for value in one.values
        ]
        return [*keys, *(self.slot(*one) for one in guarded)]

    def slot(self, kind: Slot, sql: str) -> str:
        """The one in which this is written, one more if there is none."""
        if (kind, sql) not in self._values:
            self._values[kind, sql] = self._slots.free(kind, self._used[kind])
            self._used[kind] += 1
        return self._values[kind, sql]

    def group_of(self, flag: str) -> int:
        """The bits of ``GROUP`` that the rows have which concern queries with this flag."""
        return self.number | 1 << STRAND_BITS + self._flags.index(flag)

    @property
    def width(self) -> int:
        return 2 + len(self._values)

    def row(self, *, bad_mask: str | None) -> dict[str, str]:
        """By slot: what is written there for a record. ``bad_mask``: of the carrier, the needs for
        which it is malformed. A row without a pane is left out, which the carrier's never are."""
        is_carrier = bad_mask is not None
        row = {name: sql for (_, sql), name in self._values.items()}
        for name, key in self._keys.items():
            askers = set(self._askers[name])
            if is_carrier or not key.is_safe or askers < {*self._flags}:
                row[name] = f"if({_any(f for f in self._flags if f in askers)}, {key.sql}, NULL)"
        no_pane = NO_PANE if is_carrier else "NULL"
        row[PANE] = f"if({_any(self._flags)}, {self._pane}, {no_pane})"
        row[GROUP] = self._group(bad_mask)
        return row

    def _group(self, bad_mask: str | None) -> str:
        if bad_mask is None and len(self._flags) == 1:
            return f"{self.group_of(self._flags[0])}L"
        bits = [f"if({flag}, {self.group_of(flag)}L, 0L)" for flag in self._flags]
        if bad_mask is not None:
            bits.append(f"shiftleft({bad_mask}, {NEEDS_AT})")
        return " | ".join([f"{self.number}L", *bits])


def _any(flags: Iterable[str]) -> str:
    return f"({' OR '.join(flags)})"
