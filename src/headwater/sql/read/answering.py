"""The options of a stream that say when a window is first answered.

::

    deadline = '10 s'       at the latest so long after its end, whoever is in
    staleness = '5 s'       the same, refused where nobody could be in by then
    answer = 'either'       when it is complete, or at the deadline: what comes first
    answer = 'deadline'     at the deadline, though it be complete before
    answer = 'complete'     when it is complete; at the latest when its answers end (revise_for)
    fidelity = 'area 80 %'  when so much of it is in, or else as the others say
    fidelity = 'panes 40 %, sites 100 %'
    fidelity = 'area 50 %, random'          of these panes alone, drawn by chance
    below = 'silent'        no rows where it is less
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import UNSET, UnsetType

from headwater.algebra.demand import ALL, Chance, Demand
from headwater.algebra.panes import WindowSpec
from headwater.plan.durations import duration_text
from headwater.plan.query import Timing
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices

ENOUGH = "enough"
"""``finally``: an answer that meets its demand is final."""
PERCENT_DIGITS_MAX = 3
"""Behind the point."""
_SHARE = re.compile(r"(?P<of>[A-Za-z]+)\s+(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))\s*%")
_SHARES_OF = ("area", "panes", "sites")
_DEMANDS = (
    "write 'area 80 %', 'area 50 %, random', 'panes 40 %, sites 100 %' or 'panes 100 %, sites 60 %'"
)
_CHANCES = {tuple(chance.split()): chance for chance in Chance}

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


def read_waits(options: Options, *, ends: bool) -> bool | UnsetType:
    """A finite input has no deadline to wait for. Raises ``QueryRefused``."""
    return (read_first_answer(options) is FirstAnswer.DEADLINE and not ends) or UNSET


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
    fault = staleness_fault(staleness_s, disorder_s=disorder_s)
    if fault is not None:
        raise options.refused("staleness", fault)
    return staleness_s


def staleness_fault(
    staleness_s: float, *, disorder_s: float, travel_s: float | None = None
) -> str | None:
    """Why nobody could be in by then; None: somebody could. ``travel_s``: how old summaries are
    when they arrive, where the root has measured it."""
    way_s = max(TRAVEL_S, travel_s or 0.0)
    least_s = disorder_s + LOOK_S + way_s
    if staleness_s > least_s:
        return None
    way = f"{_text(way_s)} are for the way"
    if way_s > TRAVEL_S:
        way = f"summaries take {_text(way_s)} to the root, as it has measured"
    return (
        f"wanted more than {_text(least_s)}, got {_text(staleness_s)}: sites wait "
        f"{_text(disorder_s)} for records in disorder, look for them every {_text(LOOK_S)}, "
        f"and {way}; raise staleness, lower disorder, or write "
        "deadline for an answer at that time whoever is in"
    )


def _text(seconds: float) -> str:
    return duration_text(round(seconds * 1_000) * 1_000)


# How much is enough


class Below(StrEnum):
    """What is said of a window that misses its demand."""

    ANSWER = "answer"
    SILENT = "silent"


def wants_enough(options: Options) -> bool:
    return (options.text("finally") or "").strip().lower() == ENOUGH


def read_demand(
    options: Options, window: WindowSpec, *, is_state: bool = False
) -> Demand | UnsetType:
    """``fidelity``, ``below``, and of ``finally`` what they have to do with it. ``is_state``: of
    the last rows of each site. Raises ``QueryRefused``."""
    text = options.text("fidelity")
    below = _read_below(options)
    if text is None:
        for name, is_asked in (("finally", wants_enough(options)), ("below", bool(below))):
            if is_asked:
                raise options.refused(
                    name, "nothing says what is enough; add fidelity = 'area 80 %'"
                )
        return UNSET
    shares, chance = _read_shares(options, text)
    has_axes = "area" not in shares
    if not has_axes and len(shares) > 1:
        raise options.refused(
            "fidelity", f"wanted an area, or panes and sites, got both; {_DEMANDS}"
        )
    demand = Demand(
        area=shares.get("area", 0),
        panes=shares.get("panes", ALL) if has_axes else 0,
        sites=shares.get("sites", ALL) if has_axes else 0,
        is_final=wants_enough(options),
        is_silent=below is Below.SILENT,
        chance=chance,
    )
    fault = demand.fault(window.panes_per_window)
    if fault is not None:
        raise options.refused("fidelity", f"{fault}; {_way_out(demand, window, is_state=is_state)}")
    return demand


def _way_out(demand: Demand, window: WindowSpec, *, is_state: bool) -> str:
    is_single = window.panes_per_window == 1
    if is_state and demand.is_random:
        return (
            "leave random out: a state is of the last rows of its site, whenever they were "
            "written, so no panes can be drawn"
        )
    if is_state:
        return "write area or sites, of which a state has one part for each site"
    slides = "a window that slides: its panes are as long as its slide"
    if not demand.is_random:
        return f"write area or sites, a larger share, or {slides}"
    if not demand.area:
        return "write 'area 50 %, random', or leave random out"
    if is_single:
        return f"leave random out, or write {slides}"
    return "write a smaller share, or leave random out"


def _read_below(options: Options) -> Below | None:
    word = (options.text("below") or "").strip().lower()
    if "below" not in options.names():
        return None
    if word not in set(Below):
        raise options.refused("below", f"wanted 'answer' or 'silent', got '{word[:60]}'")
    return Below(word)


def _read_shares(options: Options, text: str) -> tuple[dict[str, int], Chance | UnsetType]:
    """By what it is of, in thousandths of a percent; and whether it is drawn by chance."""
    shares: dict[str, int] = {}
    chance: Chance | UnsetType = UNSET
    for one in text.split(","):
        word = one.strip()
        drawn = _CHANCES.get(tuple(word.lower().split()))
        if drawn is not None and chance is not UNSET:
            raise options.refused("fidelity", f"`{chance}` and `{drawn}`; write one")
        if drawn is not None:
            chance = drawn
            continue
        found = _SHARE.fullmatch(word)
        if found is None:
            raise options.refused("fidelity", f"wanted a share, got '{word[:60]}'; {_DEMANDS}")
        of = found["of"].lower()
        if of not in _SHARES_OF:
            raise options.refused(
                "fidelity",
                f"wanted a share of {', '.join(_SHARES_OF)}, got `{found['of'][:60]}`"
                f"{choices('shares of', _SHARES_OF, near=of)}",
            )
        if of in shares:
            raise options.refused("fidelity", f"`{of}` has two shares; write one")
        shares[of] = _share(options, of, found["number"])
    return shares, chance


def _share(options: Options, of: str, number: str) -> int:
    digits = len(number.partition(".")[2].rstrip("0"))
    share = round(float(number) * ALL / 100)
    if digits > PERCENT_DIGITS_MAX or not 0 < share <= ALL:
        raise options.refused(
            "fidelity",
            f"wanted more than 0 % of {of} and at most 100 %, with at most {PERCENT_DIGITS_MAX} "
            f"digits behind the point, got {number[:60]} %",
        )
    return share
