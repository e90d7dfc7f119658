"""Whether two globs may name the same file, and whether one names only files of the other.

A site closes the files of a declared source to every path that could reach them, so both answers
must err on one side: ``may_overlap`` is false only where no path matches both, ``is_within`` true
only where every path that the inner one matches is matched by the outer one. Both go by the letters
of names alone; where links lead is looked at when files are listed.

A glob is a tuple of parts, one for each folder and the last for the file, from the root of the file
system on. ``*``, ``?`` and ``[…]`` stand for letters of one name, ``**`` for any number of folders,
and a name that begins with a dot is matched only by a part that does
(``store/follow/directories.py``).

>>> may_overlap(parts_of("logs/**/*.log"), parts_of("logs/web/a?.log"))
True
>>> may_overlap(parts_of("logs/*/a.log"), parts_of("logs/a.log"))
False
>>> is_within(parts_of("logs/web/2026-*.log"), parts_of("logs/**/*.log"))
True
>>> is_within(parts_of("logs/**/*.log"), parts_of("logs/*/*.log"))
False
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from headwater.plan.sources.globs import ANY_DEPTH, plain_parts

Parts = tuple[str, ...]
STAR = "*"
_SYMBOL = re.compile(r"\*+|\?|\[!?+\]?+[^\]]*+\]|.", re.DOTALL)
"""One sign of a name's pattern, as ``fnmatch`` reads it: a bracket that does not close is a letter,
and one right after the opening is a letter of the class."""


def parts_of(path: str) -> Parts:
    """The parts of a glob, without ``.``, double slashes and a slash at the end. ``**`` for a file
    is ``*``: it is folders that may be any number."""
    parts = _names(path)
    folders, names = plain_parts(parts[:-1]), parts[-1:]
    return (*folders, *(STAR if name == ANY_DEPTH else name for name in names))


def literal_parts(path: str) -> Parts:
    """The parts of a path that is no glob, whatever signs are in it."""
    return tuple(re.sub(r"([*?[])", r"[\1]", name) for name in _names(path))


def matches(path: str, parts: Parts) -> bool:
    """Whether a path, by its letters, is one of the glob's."""

    def is_named(by: str, name: str) -> bool:
        is_hidden = name.startswith(".") and not by.startswith(".")
        return not is_hidden and fnmatchcase(name, STAR if by == ANY_DEPTH else by)

    return _is_joined(parts, _names(path), is_named, any_number=ANY_DEPTH, is_mutual=False)


def may_overlap(one: Parts, other: Parts) -> bool:
    """False: no path matches both."""

    def is_met(first: str, second: str) -> bool:
        if first == second == ANY_DEPTH:
            return True
        first, second = (STAR if part == ANY_DEPTH else part for part in (first, second))
        if first.startswith(".") is not second.startswith("."):
            return False
        return _is_joined(_symbols(first), _symbols(second), _share_a_letter, is_mutual=True)

    return _is_joined(one, other, is_met, any_number=ANY_DEPTH, is_mutual=True)


def is_within(inner: Parts, outer: Parts) -> bool:
    """True: whatever the inner one matches the outer one matches."""

    def covers(by: str, part: str) -> bool:
        if by == ANY_DEPTH:
            return not part.startswith(".")
        if part == ANY_DEPTH or part.startswith(".") is not by.startswith("."):
            return False
        return _is_joined(_symbols(by), _symbols(part), _covers_letter, is_mutual=False)

    return _is_joined(outer, inner, covers, any_number=ANY_DEPTH, is_mutual=False)


def _is_joined(
    one: Sequence[str],
    other: Sequence[str],
    fits: Callable[[str, str], bool],
    *,
    any_number: str = STAR,
    is_mutual: bool,
) -> bool:
    """Whether both can be walked to their ends together, a step of each at a time that fits. Where
    one is at ``any_number`` it may stay there while the other steps on, or leave it for nothing;
    the other may do so as well if ``is_mutual``. Only what can be reached is looked at, each pair
    of places once."""
    waiting = [(0, 0)]
    seen = set(waiting)
    while waiting:
        i, j = waiting.pop()
        if i == len(one) and j == len(other):
            return True
        is_one_free = i < len(one) and one[i] == any_number
        is_other_free = is_mutual and j < len(other) and other[j] == any_number
        steps = {(i + 1, j)} if is_one_free else set()
        steps |= {(i, j + 1)} if is_other_free else set()
        if i < len(one) and j < len(other) and fits(one[i], other[j]):
            steps |= {(i, j + 1)} if is_one_free else set()
            steps |= {(i + 1, j)} if is_other_free else set()
            steps |= set() if is_one_free or is_other_free else {(i + 1, j + 1)}
        waiting += steps - seen
        seen |= steps
    return False


def _names(path: str) -> list[str]:
    """As ``pathlib`` has them, which pure layers do without."""
    return [name for name in path.split("/") if name not in ("", ".")]


def _symbols(part: str) -> list[str]:
    """Letters, ``?``, classes, and ``*`` for any number of stars in a row."""
    return [STAR if symbol.startswith(STAR) else symbol for symbol in _SYMBOL.findall(part)]


def _share_a_letter(first: str, second: str) -> bool:
    """Classes are not compared with each other: they may have a letter in common."""
    if _is_letter(first):
        return fnmatchcase(first, second)
    return not _is_letter(second) or _share_a_letter(second, first)


def _covers_letter(by: str, symbol: str) -> bool:
    if by in (STAR, "?") or by == symbol:
        return by == STAR or symbol != STAR
    return _is_letter(symbol) and fnmatchcase(symbol, by)


def _is_letter(symbol: str) -> bool:
    return len(symbol) == 1 and symbol not in (STAR, "?")
