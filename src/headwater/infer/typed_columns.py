"""Files that have columns of their own: which of them a source names, and which is its time.

Nothing is guessed about types: the file says them. What is left to decide is which column places a
record in time, where several are times or none is declared as one, and what to do where files
differ. What the product does not read is left out, and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from headwater.infer.guess import NoGuess, SourceGuess, TimeGuess
from headwater.infer.guess_columns import built
from headwater.infer.json_columns import COLUMNS_MAX, Place, column_name, path_text
from headwater.infer.time_column import NAMES, TimeChoice, name_rank

INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FRACTIONS = ("FLOAT", "DOUBLE")
WALL_CLOCK = "TIMESTAMP_NTZ"
"""A time without a zone, as Spark calls it."""
NAMED_MAX = 10
"""Columns that are left out and named; the rest is counted."""


class TypedColumn(msgspec.Struct, frozen=True):
    """One column of one file, or a member of one that is an object."""

    type: str
    """As CREATE SOURCE names it."""
    texts: tuple[str, ...] = ()
    """Values of the first rows that are not NULL; of what has no plain text, none."""
    time: str | None = None
    """How its times are counted, ``epoch_ns``; empty: as times; None: they are not known to be."""
    span_us: tuple[int, int] | None = None
    """The first and the last of those times."""


class TypedSample(msgspec.Struct, frozen=True):
    """What one file says of itself."""

    columns: dict[Place, TypedColumn]
    left_out: dict[str, str] = {}
    """By name, the types of columns that are not read."""
    rows: int = 0
    """That were looked at."""
    fault: str = ""
    """Why its values could not be looked at."""


def infer_typed(format_: str, samples: Sequence[TypedSample]) -> SourceGuess | NoGuess:
    said: list[str] = []
    merged = _merged(samples, said)
    if not merged:
        return NoGuess("its files have no column of a type that is read here")
    names = _names(merged)
    columns = {names[place]: column for place, column in merged.items()}
    choice = _declared_time(columns)
    types = {name: _type(column, choice) for name, column in columns.items()}
    guess = built(
        format_,
        {name: list(column.texts) for name, column in columns.items()},
        doubts=said,
        types=types,
        paths={names[place]: path_text(place) for place in merged},
        record_count=sum(sample.rows for sample in samples),
        choice=choice,
    )
    fault = next((one.fault for one in samples if one.fault), "")
    if isinstance(guess, NoGuess) and fault:
        return NoGuess(f"{guess.reason}; values could not be looked at: {fault}")
    return guess


def _merged(samples: Sequence[TypedSample], said: list[str]) -> dict[Place, TypedColumn]:
    """Those of all files: what a file has not is NULL there."""
    found: dict[Place, TypedColumn] = {}
    for sample in samples:
        for place, column in sample.columns.items():
            known = found.get(place)
            found[place] = column if known is None else _joined(known, column, place, said)
    for place in found:
        lacking = sum(place not in sample.columns for sample in samples)
        if lacking:
            said.append(
                f"`{'.'.join(place)}` is not in {lacking} of {len(samples)} files: NULL there"
            )
    left_out = {name: type_ for sample in samples for name, type_ in sample.left_out.items()}
    if left_out:
        shown = [f"{name} ({type_})" for name, type_ in list(left_out.items())[:NAMED_MAX]]
        more = f" and {len(left_out) - NAMED_MAX} more" if len(left_out) > NAMED_MAX else ""
        said.append(f"left out, of types that are not read here: {', '.join(shown)}{more}")
    said += dict.fromkeys(f"values are not looked at: {one.fault}" for one in samples if one.fault)
    if len(found) > COLUMNS_MAX:
        said.append(
            f"{len(found) - COLUMNS_MAX} columns beyond the first {COLUMNS_MAX} are left out"
        )
    return dict(list(found.items())[:COLUMNS_MAX])


def _joined(one: TypedColumn, other: TypedColumn, place: Place, said: list[str]) -> TypedColumn:
    texts = (*one.texts, *other.texts)
    spans = [span for column in (one, other) if (span := column.span_us) is not None]
    span = (min(low for low, _ in spans), max(high for _, high in spans)) if spans else None
    if (one.type, one.time) == (other.type, other.time):
        return TypedColumn(one.type, texts, one.time, span)
    type_ = common_type(one.type, other.type)
    doubt = f"`{'.'.join(place)}` is {one.type} in one file and {other.type} in another"
    if doubt not in said:
        said.append(doubt)
    return TypedColumn(type_, texts)


def common_type(one: str, other: str) -> str:
    """What both become without loss.

    >>> common_type("INT", "BIGINT"), common_type("INT", "DOUBLE"), common_type("INT", "DATE")
    ('BIGINT', 'DOUBLE', 'STRING')
    """
    if one == other:
        return one
    if one in INTEGERS and other in INTEGERS:
        return max(one, other, key=INTEGERS.index)
    if {one, other} <= {*INTEGERS[:-1], *FRACTIONS}:
        return "DOUBLE"
    return "STRING"


def _names(places: Mapping[Place, TypedColumn]) -> dict[Place, str]:
    taken = [place[0] for place in places if len(place) == 1]
    names: dict[Place, str] = {}
    for place in places:
        names[place] = column_name(place, [*taken, *names.values()])
    return names


def _declared_time(columns: Mapping[str, TypedColumn]) -> TimeChoice | None:
    """Among the columns that the file itself calls times, the one with the most telling name."""
    times = [name for name, column in columns.items() if column.time is not None]
    if not times:
        return None
    best = min(times, key=lambda name: (name_rank(name), times.index(name)))
    column = columns[best]
    first_us, last_us = column.span_us or (None, None)
    time = TimeGuess((best,), column.time or "", (), first_us, last_us)
    near = [name for name in times if name != best]
    doubts = []
    if near and (name_rank(best) >= len(NAMES) or not _is_alone(near)):
        doubts.append(f"`{best}` places records in time; `{'`, `'.join(near)}` could as well")
    if column.type == WALL_CLOCK:
        doubts.append(
            f"`{best}` says no zone: it is taken as UTC; if it is another, add zone = '…'"
        )
    others = {name: columns[name].time or "" for name in near if columns[name].type != WALL_CLOCK}
    return TimeChoice(time, others, tuple(doubts))


def _is_alone(others: Sequence[str]) -> bool:
    """Whether no other has the name of a time as well."""
    return all(name_rank(name) >= len(NAMES) for name in others)


def _type(column: TypedColumn, choice: TimeChoice | None) -> str:
    """What counts since 1970 is a number beside a time that is written in another way."""
    if column.time and (choice is None or choice.time.pattern != column.time):
        return "BIGINT"
    return column.type
