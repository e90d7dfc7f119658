"""A few JSON lines, looked at one by one: how their values are written, and how many are sure.

Arrow has to be told whether the numbers of a column stand in quotes (``strict_json``), and lines
most of which it would give back are better not given to it. Both are guesses from a sample: a wrong
one costs time, never a record. The sample is read by another parser, because it is looked at where
a site's agent runs: what ends a parser in a worker ends only the worker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from headwater.reading.strict.strict_json import StrictJson
from headwater.reading.strict.strict_kinds import EPOCH_US, ISO, TEXT, TYPES, pattern_of


def are_texts(objects: Sequence[object], keys: Sequence[str], kinds: Sequence[str]) -> list[bool]:
    """For each key: whether most of its values are written in quotes."""
    return [_is_text(_values(objects, key), kind) for key, kind in zip(keys, kinds, strict=True)]


def _is_text(values: Sequence[object], kind: str) -> bool:
    if kind in (ISO, "boolean"):
        return kind == ISO
    texts = sum(isinstance(one, str) for one in values)
    return 2 * texts > len(values) or (kind == TEXT and not values)


def _values(objects: Sequence[object], key: str) -> list[object]:
    found = [one.get(key) for one in objects if isinstance(one, dict)]
    return [one for one in found if one is not None]


def unsure_share(objects: Sequence[object], strict: StrictJson) -> float:
    """Of all objects, those that a worker would give back."""
    patterns = {kind: _pattern(kind, strict) for kind in strict.kinds}
    sure = sum(_is_sure_object(one, strict, patterns) for one in objects)
    return 1 - sure / len(objects) if objects else 0.0


def _pattern(kind: str, strict: StrictJson) -> re.Pattern[str] | None:
    return None if kind == TEXT else re.compile(pattern_of(kind, is_utc=strict.is_utc), re.ASCII)


def _is_sure_object(
    found: object, strict: StrictJson, patterns: Mapping[str, re.Pattern[str] | None]
) -> bool:
    if not isinstance(found, dict):
        return False
    wanted = zip(strict.keys, strict.kinds, strict.are_texts, strict=True)
    return all(
        _is_sure(found.get(key), kind, patterns[kind], is_text=is_text)
        for key, kind, is_text in wanted
    )


def _is_sure(value: Any, kind: str, pattern: re.Pattern[str] | None, *, is_text: bool) -> bool:
    if value is None:
        return True
    if is_text:
        return isinstance(value, str) and (pattern is None or bool(pattern.fullmatch(value)))
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    is_whole = kind in EPOCH_US or TYPES[kind] not in (TYPES["double"], TYPES["float"])
    return isinstance(value, int) or (isinstance(value, float) and not is_whole)


def objects_of(lines: Sequence[bytes]) -> list[object]:
    """None for one that can't be read."""
    return [_decoded(line) for line in lines if line.strip()]


def _decoded(line: bytes) -> object:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
