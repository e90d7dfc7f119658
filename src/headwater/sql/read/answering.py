"""The options of a stream that say when a window is first answered.

::

    deadline = '10 s'       at the latest so long after its end, whoever is in
    staleness = '5 s'       the same, refused where nobody could be in by then
    answer = 'either'       when it is complete, or at the deadline: what comes first
    answer = 'deadline'     at the deadline, though it be complete before
    answer = 'complete'     when it is complete; at the latest when its answers end (revise_for)
"""

from __future__ import annotations

from enum import StrEnum

from headwater.algebra.panes import MICROS
from headwater.plan.durations import duration_text
from headwater.plan.query import Timing
from headwater.sql.read.options import Options

LOOK_S = 1.0
"""After which a site has read a record that is there, unless its configuration says otherwise."""
TRAVEL_S = 1.0
"""What a summary is given to arrive, before anybody has measured it."""


class FirstAnswer(StrEnum):
    COMPLETE = "complete"
    DEADLINE = "deadline"
    EITHER = "either"


def read_first_answer(options: Options) -> FirstAnswer:
    """Raises ``QueryRefused``."""
    word = (options.text("answer") or FirstAnswer.EITHER).strip().lower()
    if word not in set(FirstAnswer):
        raise options.refused(
            "answer", f"wanted 'complete', 'deadline' or 'either', got '{word[:60]}'"
        )
    return FirstAnswer(word)


def read_deadline_s(options: Options, *, disorder_s: float, revise_for_s: float) -> float:
    """How long after its end a window is answered at the latest. Raises ``QueryRefused``."""
    given = [name for name in ("deadline", "staleness") if name in options.names()]
    if len(given) > 1:
        raise options.refused(
            "staleness", "wanted `deadline` or `staleness`, got both; leave deadline out"
        )
    if read_first_answer(options) is FirstAnswer.COMPLETE:
        if given:
            raise options.refused(
                given[0],
                f"a window is answered when it is complete, however long that takes; leave out "
                f"{given[0]}, or write answer = 'either'",
            )
        return revise_for_s
    if "staleness" in options.names():
        return _staleness_s(options, disorder_s)
    return options.duration_s("deadline", Timing().deadline_s)


def _staleness_s(options: Options, disorder_s: float) -> float:
    staleness_s = options.duration_s("staleness", Timing().deadline_s)
    least_s = disorder_s + LOOK_S + TRAVEL_S
    if staleness_s <= least_s:
        raise options.refused(
            "staleness",
            f"wanted more than {_text(least_s)}, got {_text(staleness_s)}: sites wait "
            f"{_text(disorder_s)} for records in disorder, look for them every {_text(LOOK_S)}, "
            f"and {_text(TRAVEL_S)} are for the way; raise staleness, lower disorder, or write "
            "deadline for an answer at that time whoever is in",
        )
    return staleness_s


def _text(seconds: float) -> str:
    return duration_text(round(seconds * MICROS))
