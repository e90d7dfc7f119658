"""A question as a statement: a stream that begins in the past and ends before now.

Whoever asks writes a SELECT and says about when. Where it has no window, all of that time is one
window, cut into steps, so that a site that lacks some of it lacks no more than those steps. The
steps are round lengths, of whole panes of the stream whose cube is asked.
"""

from __future__ import annotations

import re

import msgspec

from headwater.algebra.panes import MICROS
from headwater.errors import ConfigurationError
from headwater.plan.durations import duration_text
from headwater.plan.timestamps import timestamp_text

STEPS_MAX = 256
"""Of one window: each is a pane at every site."""
STEPS_S = (
    *(1, 2, 5, 10, 15, 20, 30),
    *(60, 120, 300, 600, 900, 1_200, 1_800),
    *(3_600, 7_200, 10_800, 14_400, 21_600, 43_200, 86_400, 604_800),
)
ROUND_TIMES_MAX = 4
"""A round step may be so many times as long as it has to be."""
NOW_SLACK_US = 30 * MICROS
"""What was written a moment ago is not closed yet, so ``now`` is a little before."""
DEADLINE_S = 30
"""For sites that are silent: those that are at work on the question are waited for."""
WEIGHT = 0.25
"""Where it shares a link with streams, which wait for nobody who can ask again."""
_WINDOW = re.compile(r"\bwindow\s*\(", re.IGNORECASE)


class Stretch(msgspec.Struct, frozen=True):
    """Of time, in whole steps."""

    first_us: int
    end_us: int
    step_us: int


def has_window(select: str) -> bool:
    """
    >>> has_window("SELECT count(*) FROM a GROUP BY window(ts, '1 hour')"), has_window("SELECT 1")
    (True, False)
    """
    return _WINDOW.search(select) is not None


def stretch_of(
    *,
    since_s: float | None,
    from_us: int | None,
    to_us: int | None,
    now_us: int,
    pane_us: int,
    slack_us: int = NOW_SLACK_US,
) -> Stretch:
    """In steps of whole panes of this length. Raises ``ConfigurationError``."""
    latest_us = now_us - slack_us
    end_us = latest_us if to_us is None else min(to_us, latest_us)
    if since_s is not None:
        from_us = end_us - round(since_s * MICROS)
    if from_us is None:
        raise ConfigurationError("ask: wanted --since or --from, which say about when; got neither")
    if from_us >= end_us:
        raise ConfigurationError(
            f"ask: from {timestamp_text(from_us)} to {timestamp_text(end_us)} is no time that has "
            "passed; write --since 1h, or --from before --to"
        )
    step_us = _step_us(end_us - from_us, pane_us)
    end_us = end_us // step_us * step_us
    if since_s is not None:
        length_us = max(step_us, -(-round(since_s * MICROS) // step_us) * step_us)
        return Stretch(end_us - length_us, end_us, step_us)
    first_us = from_us // step_us * step_us
    if first_us >= end_us:
        raise ConfigurationError(
            f"ask: panes of {duration_text(pane_us)} have nothing as short as from "
            f"{timestamp_text(from_us)} on; ask about {duration_text(step_us)} or more"
        )
    return Stretch(first_us, end_us, step_us)


def _step_us(length_us: int, pane_us: int) -> int:
    round_ones = (one * MICROS for one in STEPS_S if one * MICROS % pane_us == 0)
    least = -(-length_us // (STEPS_MAX * pane_us)) * pane_us
    found = (one for one in round_ones if least <= one <= ROUND_TIMES_MAX * least)
    return next(found, least)


def question_statement(name: str, select: str, of: Stretch, *, sites: str = "") -> str:
    """One stream, which begins and ends with the stretch, and cuts it where the SELECT does not."""
    length_s = _seconds(of.end_us - of.first_us)
    options = [
        f"begin = '{timestamp_text(of.first_us).replace(' UTC', 'Z')}'",
        f"extent = '{length_s} seconds'",
        f"deadline = '{DEADLINE_S} seconds'",
        f"weight = '{WEIGHT:g}'",
    ]
    if not has_window(select):
        step_s = _seconds(of.step_us)
        options.append(f"window = '{length_s} seconds every {step_s} seconds'")
    if sites:
        quoted = sites.replace("\\", "\\\\").replace("'", "\\'")
        options.append(f"sites = '{quoted}'")
    text = select.strip().rstrip(";").rstrip()
    return f"CREATE STREAM {name} WITH ({', '.join(options)}) AS\n{text};"


def _seconds(length_us: int) -> str:
    whole, rest = divmod(length_us, MICROS)
    return f"{whole}.{rest:06d}".rstrip("0") if rest else str(whole)
