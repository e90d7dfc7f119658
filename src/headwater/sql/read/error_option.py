"""The options ``error``, ``finally`` and ``rounds`` of a stream: how far which column may be off.

::

    error = '0.1 % of total'              every column, a share of its total over the window
    error = '500'                         every column, in its own unit
    error = 'hits: 1 %, bytes: 5e6'       each column its own; of an average or percentile a share
                                          of its group's records, of a distinct count a number
"""

from __future__ import annotations

import re
from math import inf

from msgspec import UNSET, UnsetType

from headwater.algebra.remainders.error_bound import ErrorBound, ErrorForm
from headwater.algebra.remainders.tolerance import Finally
from headwater.errors import ConfigurationError
from headwater.plan.query import ROUNDS_PER_PANE_MAX, ROUNDS_USUAL
from headwater.sql.read.answering import wants_enough
from headwater.sql.read.options import Options

EVERY_COLUMN = ""
"""Stands for the column of a bound that names none."""
_BOUND = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(?P<share>%)?\s*(?P<total>of\s+total)?",
    re.IGNORECASE,
)
_EXAMPLES = "write '0.1 % of total', '1 %', '500', or 'hits: 1 %, bytes: 5e6'"


def read_error(options: Options) -> dict[str, ErrorBound]:
    """By column; ``EVERY_COLUMN`` alone: one for all. {}: it asks for none. Raises
    ``QueryRefused``."""
    text = options.text("error")
    if text is None:
        return {}
    if ":" not in text:
        return {EVERY_COLUMN: bound_of(options, text)}
    found: dict[str, ErrorBound] = {}
    for one in text.split(","):
        name, colon, bound = one.partition(":")
        name = name.strip().strip("`")
        if not colon or not name:
            raise options.refused(
                "error", f"wanted `column: bound`, got '{one.strip()[:60]}'; {_EXAMPLES}"
            )
        if name.lower() in {known.lower() for known in found}:
            raise options.refused("error", f"`{name}` has two bounds; write one")
        found[name] = bound_of(options, bound)
    return found


def read_finally(options: Options) -> Finally:
    """What becomes of what was kept back; with ``enough``, before there is enough. Raises
    ``QueryRefused``."""
    text = options.text("finally")
    if wants_enough(options):
        return Finally.BOUNDED
    word = (text or Finally.BOUNDED).strip().lower()
    if word not in set(Finally):
        raise options.refused(
            "finally", f"wanted 'exact', 'bounded' or 'enough', got '{word[:60]}'"
        )
    is_all_sent = options.text("error") is None and options.text("degrade") is None
    if text is not None and is_all_sent and word == Finally.BOUNDED:
        raise options.refused(
            "finally", "nothing is kept back, so nothing can stay bounded; add error = '…'"
        )
    return Finally(word)


def bound_of(options: Options, text: str, *, option: str = "error") -> ErrorBound:
    """Raises ``QueryRefused``."""
    found = _BOUND.fullmatch(text.strip())
    if found is None:
        raise options.refused(option, f"wanted a bound, got '{text.strip()[:60]}'; {_EXAMPLES}")
    if found["total"] and not found["share"]:
        raise options.refused(
            option, f"wanted a share of the total, as '0.1 % of total', got '{text.strip()[:60]}'"
        )
    number = float(found["number"])
    if not 0.0 < number < inf:
        raise options.refused(
            option, f"wanted a number above 0, got '{text.strip()[:60]}'; {_EXAMPLES}"
        )
    form = ErrorForm.TOTAL if found["total"] else ErrorForm.VALUE
    try:
        if found["share"]:
            return ErrorBound(form, number / 100.0)
        return ErrorBound(ErrorForm.ABSOLUTE, number)
    except ConfigurationError as error:
        fault = str(error).removeprefix("error: ")
        raise options.refused(option, f"{fault}; {_EXAMPLES}") from error


def read_rounds(options: Options, *, has_levels: bool = False) -> int | UnsetType:
    """Into how many parts a pane is divided, at whose ends keys may leave early: under an error or
    a staleness alone. A pane that a level may stand for leaves at its close. Raises
    ``QueryRefused``."""
    text, names = options.text("rounds"), options.names()
    if text is None:
        is_early = "staleness" in names and "error" not in names and not has_levels
        return ROUNDS_USUAL if is_early else UNSET
    if "error" not in names and "staleness" not in names:
        raise options.refused(
            "rounds", "keys leave early under an error or a staleness; add one of them"
        )
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= ROUNDS_PER_PANE_MAX:
        raise options.refused(
            "rounds", f"wanted a number from 1 to {ROUNDS_PER_PANE_MAX}, got '{text[:60]}'"
        )
    return int(text)
