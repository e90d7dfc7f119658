"""The glob that stands for some files: what their paths have in common.

>>> glob_of(["access/2026-05-01.log", "access/2026-05-02.log"])
'access/*.log'
>>> glob_of(["a.csv", "b.csv"]), glob_of(["a.csv"]), glob_of(["x/a.csv", "b.csv"])
('*.csv', 'a.csv', '**/*.csv')
>>> glob_of(["a.csv", "b.csv.gz"]), glob_of(["app.log", "app.log.1", "app.log.2.gz"])
('*.csv*', 'app.log*')
>>> glob_of(["2026-05-04.csv"]), glob_of(["E1.2026-05-04-09.log", "E2.2026-05-04-09.log"])
('*.csv', 'E*.log')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DIGITS_AT_END = re.compile(r"\d[\d\-_.:T]*$")
_TO_LAST_DIGIT = re.compile(r"^.*\d(?=\D*$)")
_DATE = re.compile(r"\d{4}[-_.]\d\d(?:[-_.T]?\d{1,6})*|\d{8}(?:[-_T.]?\d{1,6})*")
"""Dates and numbers: tomorrow's file has others."""


def glob_of(paths: Sequence[str]) -> str:
    parts = sorted({tuple(path.split("/")) for path in paths})
    depths = {len(one) for one in parts}
    if len(depths) > 1:
        return "**/" + _one([one[-1] for one in parts])
    return "/".join(_one(list(column)) for column in zip(*parts, strict=True))


def _one(names: Sequence[str]) -> str:
    """Of folders or files at one place."""
    different = sorted(set(names))
    if len(different) == 1:
        return "*".join(_escaped(part) for part in _DATE.split(different[0]))
    start = _DIGITS_AT_END.sub("", _common_start(different))
    rest = [name[len(start) :] for name in different]
    end = _TO_LAST_DIGIT.sub("", _common_start([name[::-1] for name in rest])[::-1])
    if not end:
        end = _ending_of_all(rest)
    return f"{_escaped(start)}*{end if end.endswith('*') else _escaped(end)}"


def _ending_of_all(names: Sequence[str]) -> str:
    """``.csv*`` where some are compressed and some are not; empty: there is nothing in common."""
    endings = re.findall(r"\.[A-Za-z]\w*", names[0])
    found = next((one for one in endings if all(one in name for name in names)), "")
    return f"{found}*" if found else ""


def _common_start(names: Sequence[str]) -> str:
    """Sign by sign; the first and the last in order differ the most."""
    first, last = min(names), max(names)
    same = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, min(len(first), len(last)))]


def _escaped(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)
