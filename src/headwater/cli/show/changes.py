"""What a revision changes, for a reader of ``watch`` that has the one before it.

A revision replaces the whole answer of its window. A reader that keeps answers may rather have what
is gone and what is new. Rows are compared whole, as a bag, so what is taken back is taken back
exactly, whatever they were made by. The change names the revision that it starts from; where that
was not shown, or was made under another roster, the answer comes whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from headwater.cli.show.output import json_text

DELTA, REPLACEMENT = "delta", "replacement"
"""The rows that differ, or all of them; as in ``results_layout``."""
WINDOWS_MAX = 1_000
"""Windows whose newest answer is remembered; beyond, the next revision of the oldest comes
whole."""
ROWS_MAX = 1_000_000
"""Rows of all of them together."""
Row = dict[str, Any]
Shown = tuple[int, int, Sequence[Row]]
"""(revision, roster version, rows)"""


class Revisions:
    """As they are shown."""

    def __init__(self, *, windows_max: int = WINDOWS_MAX, rows_max: int = ROWS_MAX) -> None:
        self._windows_max = windows_max
        self._rows_max = rows_max
        self._rows_count = 0
        self._shown: dict[tuple[str, int], Shown] = {}
        """By query and window, the newest; who was shown longest ago comes first."""

    def change(self, header: Row, rows: Sequence[Row]) -> Row:
        """``revises`` is the revision that it starts from; None: ``rows`` are the whole answer. The
        ``form`` says so, too."""
        key = header["query"], header["window"]
        revision, roster = header["revision"], header["roster_version"]
        former = self._forget(key)
        self._remember(key, (revision, roster, rows))
        if former is None or former[:2] != (revision - 1, roster):
            return {"header": header, "form": REPLACEMENT, "revises": None, "rows": rows}
        deleted, inserted = differences(former[2], rows)
        change = {"deleted": deleted, "inserted": inserted}
        return {"header": header, "form": DELTA, "revises": former[0], **change}

    def _remember(self, key: tuple[str, int], shown: Shown) -> None:
        self._shown[key] = shown
        self._rows_count += len(shown[2])
        while len(self._shown) > self._windows_max or self._rows_count > self._rows_max:
            self._forget(next(iter(self._shown)))

    def _forget(self, key: tuple[str, int]) -> Shown | None:
        former = self._shown.pop(key, None)
        if former is not None:
            self._rows_count -= len(former[2])
        return former


def differences(old: Iterable[Row], new: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Rows of each that have no equal in the other, where one row matches one row.

    >>> differences([{"n": 1}, {"n": 1}, {"n": 2}], [{"n": 2}, {"n": 1}, {"n": 3}])
    ([{'n': 1}], [{'n': 3}])
    """
    old_rows, new_rows = list(old), list(new)
    return _beyond(old_rows, new_rows), _beyond(new_rows, old_rows)


def _beyond(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    left = Counter(map(json_text, others))
    beyond = []
    for row in rows:
        text = json_text(row)
        if left[text]:
            left[text] -= 1
        else:
            beyond.append(row)
    return beyond
