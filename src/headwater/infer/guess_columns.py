"""From the values of columns to a guess: their types, what stands for nothing, and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from headwater.infer.guess import ColumnGuess, NoGuess, SourceGuess
from headwater.infer.time_column import TimeChoice, choose_time
from headwater.infer.value_types import NULLS, find_type, null_text

Guessed = SourceGuess | NoGuess
IN_UTC = ("w3c", "cloudfront")
"""Formats whose times are in UTC by their definition."""


def built(
    format_: str,
    columns: Mapping[str, Sequence[str]],
    *,
    options: Mapping[str, str] | None = None,
    doubts: Sequence[str] = (),
    types: Mapping[str, str] | None = None,
    paths: Mapping[str, str] | None = None,
    has_nulls: bool = False,
    record_count: int = 0,
    choice: TimeChoice | None = None,
) -> Guessed:
    """From values to types and the time. ``types``: those that the format itself tells.
    ``record_count``: where the columns don't have a value for each record. ``choice``: of the time,
    where the files themselves say which columns are times."""
    chosen = dict(options or {})
    said = list(doubts)
    null = _null_of(columns, said) if has_nulls else ""
    if null:
        chosen["null_value"] = null
    full = {
        name: [value for value in values if value not in ("", null)]
        for name, values in columns.items()
    }
    chosen_time = choice or choose_time(full)
    if isinstance(chosen_time, str):
        return NoGuess(chosen_time)
    said += chosen_time.doubts
    if chosen_time.zone_doubt and format_ not in IN_UTC:
        said.append(chosen_time.zone_doubt)
    if has_nulls and not null:
        said += _maybe_nulls(full)
    guesses = []
    for name, values in full.items():
        type_ = _type_of(name, values, chosen_time, types, said)
        share = len(values) / max(1, record_count or len(columns[name]))
        guesses.append(_column(name, type_, values, share, (paths or {}).get(name, "")))
    found = chosen_time.time
    count = record_count or max(map(len, columns.values()), default=0)
    return SourceGuess(format_, tuple(guesses), found, tuple(chosen.items()), tuple(said), count)


def _null_of(columns: Mapping[str, Sequence[str]], said: list[str]) -> str:
    """One text for the whole file, for that is what the option takes."""
    found = Counter(
        null for values in columns.values() if (null := null_text([v for v in values if v]))
    )
    if not found:
        return ""
    null = max(found, key=lambda one: (found[one], -NULLS.index(one)))
    said.append(f"{null!r} is taken for a missing value")
    return null


def _maybe_nulls(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Texts in columns of text that often stand for nothing; a country may be called NA."""
    found = [(null, name) for null in NULLS for name, values in columns.items() if null in values]
    return [
        f"`{name}` has {null!r}; if that is a missing value, add null_value = '{null}'"
        for null, name in found[:1]
    ]


def _type_of(
    name: str,
    values: Sequence[str],
    choice: TimeChoice,
    types: Mapping[str, str] | None,
    said: list[str],
) -> str:
    time = choice.time
    if time.columns == (name,) and not time.is_computed:
        return "TIMESTAMP"
    if name in time.columns:
        return "STRING"
    if choice.others.get(name) == time.pattern and not time.is_computed:
        return "TIMESTAMP"
    if types is not None and types[name] != "STRING":
        return types[name]
    if types is not None:
        return "STRING"
    found = find_type(values)
    if found.doubt:
        said.append(f"`{name}` {found.doubt}")
    return found.type


def _column(name: str, type_: str, values: Sequence[str], share: float, path: str) -> ColumnGuess:
    counts = Counter(values)
    spread = _spread(list(counts.values()))
    return ColumnGuess(name, type_, path, len(counts), spread, share)


def _spread(counts: Sequence[int]) -> float:
    """Entropy as a share of the largest that so many values can have."""
    total = sum(counts)
    if len(counts) < 2:
        return 0.0
    entropy = -sum(count / total * log(count / total) for count in counts)
    return entropy / log(len(counts))
