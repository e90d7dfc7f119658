"""Whether the first line of a file names its columns.

It does where its values are names (no number and no time, hardly one empty) and a column
below holds something else than names. One does in every file of records: the one with their times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headwater.infer.epoch import find_unit
from headwater.infer.time_formats import find_date_format, find_format
from headwater.infer.value_types import find_type

_NAME = re.compile(
    r"(?=.*(?:[^\W\d]|[^\x00-\x7f]))[^\x00-\x20\d+\-.,'\"<=>\\{|}~\x7f][^\x00-\x1f\"<=>\\{|}~\x7f]{0,99}"
)
"""Any signs with a letter among them, or one that only other alphabets and currencies have (``€``,
``°C``). What begins like a number is a value, and so is what looks like JSON or a pair."""


def find_header(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """``rows``: of each record of one file its values. Empty where there is no header. One that
    stands again further down, as in files put together, says nothing of what stands below."""
    if not rows:
        return ()
    first = tuple(value.strip() for value in rows[0])
    if not _are_names(first):
        return ()
    below = [row for row in rows[1:] if tuple(value.strip() for value in row) != first]
    is_other = any(
        _differs([row[at] for row in below if at < len(row)]) for at in range(len(first))
    )
    return first if is_other or len(rows) == 1 else ()


def _are_names(values: Sequence[str]) -> bool:
    """A trailing delimiter leaves one without a name, and so does a column of numbers of rows."""
    named = [value for value in values if value]
    are_names = all(_NAME.fullmatch(value) and not _is_value(value) for value in named)
    return are_names and len(named) * 2 > len(values)


def _is_value(text: str) -> bool:
    """A name that could as well be a number, a truth or a time is none."""
    return (
        find_type([text]).type != "STRING"
        or find_format([text]) is not None
        or find_date_format([text]) is not None
    )


def _differs(values: Sequence[str]) -> bool:
    """Whether what stands below is of another kind than a name."""
    full = [value for value in values if value.strip()]
    if not full:
        return False
    return (
        find_type(full).type != "STRING"
        or find_format(full) is not None
        or find_unit(full) is not None
        or find_date_format(full) is not None
    )
