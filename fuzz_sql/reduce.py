"""Makes a case that fails small enough to be read.

One thing after another is left out, and stays out if the case still fails: clauses, items, keys,
halves and then single records, parts, and pieces of expressions. What remains is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from fuzz_sql.case import Case

TRIES_MAX = 300


def reduced(case: Case, fails: Callable[[Case], bool], *, tries_max: int = TRIES_MAX) -> Case:
    """The smallest that was found; ``fails`` is asked at most so often."""
    tries, is_smaller = 0, True
    while is_smaller:
        is_smaller = False
        for less in smaller(case):
            if tries >= tries_max:
                return case
            tries += 1
            if fails(less):
                case, is_smaller = less, True
                break
    return case


def smaller(case: Case) -> Iterator[Case]:
    """Cases with less in them, those with much less first."""
    yield from _with_fewer_records(case)
    for clause in ("where", "having", "limit", "rank"):
        if getattr(case, clause) is not None:
            yield msgspec.structs.replace(case, **{clause: None})
    if case.order:
        yield msgspec.structs.replace(case, order=(), limit=None)
    if case.is_distinct:
        yield msgspec.structs.replace(case, is_distinct=False)
    is_named = bool(case.order) or case.rank is not None
    for place in range(len(case.items)) if len(case.items) > 1 and not is_named else ():
        yield msgspec.structs.replace(case, items=_without(case.items, place))
    for place in range(len(case.keys)) if not is_named else ():
        yield msgspec.structs.replace(case, keys=_without(case.keys, place))
    if any(case.world.parts):
        one = msgspec.structs.replace(case.world, parts=(0,) * len(case.world.parts))
        yield msgspec.structs.replace(case, world=one)
    yield from _with_less_said(case)


def _with_fewer_records(case: Case) -> Iterator[Case]:
    count = len(case.world.rows)
    size = count // 2
    while size:
        for first in range(0, count, size):
            kept = [n for n in range(count) if not first <= n < first + size]
            yield msgspec.structs.replace(case, world=case.world.with_rows(kept))
        size //= 2


def _with_less_said(case: Case) -> Iterator[Case]:
    for clause in ("where", "having"):
        made = getattr(case, clause)
        for less in () if made is None else made.smaller():
            yield msgspec.structs.replace(case, **{clause: less})
    for field in ("items", "keys"):
        all_of = getattr(case, field)
        for place, made in enumerate(all_of):
            for less in made.smaller():
                changed = (*all_of[:place], less, *all_of[place + 1 :])
                yield msgspec.structs.replace(case, **{field: changed})


def _without(all_of: tuple, place: int) -> tuple:
    return (*all_of[:place], *all_of[place + 1 :])
