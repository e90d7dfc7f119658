"""CREATE STREAM: its options, as the timing and the places of a query."""

from collections.abc import Collection

import msgspec
from msgspec import UNSET, UnsetType

from headwater.algebra.byte_rate import bytes_per_s_of, rate_text
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.errors import ConfigurationError
from headwater.plan.altered.link_share import (
    EVEN,
    WEIGHT_MAX,
    WEIGHT_MIN,
    LinkShare,
    least_bytes_per_s,
)
from headwater.plan.durations import duration_text, duration_us
from headwater.plan.node_sets import is_plain, node_set, node_set_fault
from headwater.plan.part import PARTS_MAX, Part
from headwater.plan.query import KEEP_S_MAX, TimeKind, Timing
from headwater.plan.roster import Site
from headwater.plan.timestamps import EXAMPLES, timestamp_us
from headwater.sql.read.answering import read_deadline_s
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices
from headwater.sql.read.statements import NAME_LENGTH_MAX, StreamStatement

STREAM_OPTIONS = {
    "deadline": "a window is answered at the latest so long after its end",
    "staleness": "how old a first answer may be: a deadline by which sites can be in",
    "answer": "when a window is first answered: complete, deadline, or either (what comes first)",
    "disorder": "how much later than its time a record may appear and be on time",
    "lateness": "after which nothing more can come for a pane",
    "revise_every": "how often an answer is revised at most",
    "revise_for": "how long answers are revised",
    "session_max": "how long a session can be; 12 gaps unless said",
    "begin": "the first window: earliest, now, a point in time, or so long ago",
    "extent": "how long it runs, from its first window's start on",
    "time": "what places a record: its timestamp (event), or its age (age)",
    "root": "the site that answers",
    "roots": "several sites that answer, each its part of the groups, with commas between them",
    "sites": "the sites that are asked: names, globs (eu-*, !eu-test) or labels (tier = edge)",
    "error": "how far columns may be off, so that what does not matter is not sent",
    "finally": "what becomes of what was not sent: exact (it follows), bounded (it stays), or "
    "enough (nothing follows once the fidelity is reached)",
    "fidelity": "how much of a window is enough for an answer: area, or panes and sites, in %",
    "below": "what is said of a window that misses its fidelity: answer, or silent (no rows)",
    "relay_share": "which part of the bound is relays', as in '50 %': the last one before the root "
    "leaves small groups out of what it has merged where its link is narrow",
    "rounds": "into how many parts a pane is divided, at whose ends groups may leave early",
    "budget": "what one agent sends for it at most, as in '80 kbit/s'; 'none' unless said",
    "weight": "its part where queries share a link: with 2 twice as much as another one; 1",
    "degrade": "what sites may give up where the way is too narrow, in this order; 'none'",
    "backlog_bytes": "how much may wait at a site, as in '16 MB'; beyond it the oldest panes leave "
    "at a coarser level of time",
    "backlog_age": "for how long panes may wait at a site, as in '5 min'; beyond it likewise",
    "shed": "what sites do with panes that they can't read by the deadline: never (read them in "
    "order), defer (read them when there is CPU to spare), decline (give them up)",
    "keep": "how long sites keep panes for questions, where that is longer than for others",
    "window": "the window of rows, or of groups whose GROUP BY has none",
}
BEGIN_KEYWORDS = ("earliest", "now")
NO_BUDGET = "none"
"""As a budget: there is none any more."""
CLOSE_S = 2.0
"""Of windows of numbers, whose panes have no length in time."""
SPARE = 1.01
"""What is named as the least is a little more, so that it works as it is shown."""
EXTENT_TOO_SHORT = "an extent of one window"
INSTALL_SLACK_US = 15_000_000
"""What begins now begins with the first window this much later: it must reach the sites first."""


class Places(msgspec.Struct, frozen=True):
    roots: tuple[str, ...]
    """Who answers; with several of them, each has a part."""
    sites: tuple[str, ...]
    node_set: str = ""
    """By globs or labels; empty: as ``sites`` says."""


def stream_options(statement: StreamStatement, text: str) -> Options:
    return Options(text, statement.options, known=STREAM_OPTIONS, offset=statement.offset)


def read_timing(options: Options) -> Timing:
    """Raises ``QueryRefused``."""
    default = Timing()
    lateness = options.duration_s("lateness", -1.0)
    disorder_s = options.duration_s("disorder", default.disorder_s)
    revise_for_s = options.duration_s("revise_for", default.revise_for_s)
    timing = Timing(
        deadline_s=read_deadline_s(options, disorder_s=disorder_s, revise_for_s=revise_for_s),
        disorder_s=disorder_s,
        lateness_s=lateness if lateness >= 0 else None,
        revise_every_s=options.duration_s("revise_every", default.revise_every_s),
        revise_for_s=revise_for_s,
    )
    if timing.lateness_s is not None and timing.lateness_s < timing.disorder_s:
        raise options.refused(
            "lateness",
            "lateness is shorter than disorder, so nothing could be late; raise lateness",
        )
    return timing


def read_session_max_us(options: Options) -> int | None:
    """None: it says nothing of it. Raises ``QueryRefused``."""
    longest_s = options.duration_s("session_max", -1.0)
    return None if longest_s < 0 else round(longest_s * MICROS)


def check_sessions(options: Options, time: TimeKind, *, has_sessions: bool) -> None:
    """Raises ``QueryRefused``."""
    if not has_sessions and "session_max" in options.names():
        raise options.refused(
            "session_max",
            "nothing here has sessions; wanted session_window(…, '30 minutes') in GROUP BY",
        )
    if has_sessions and time is TimeKind.AGE:
        raise options.refused(
            "time", "sessions go by the times of records, which age does not use; leave time out"
        )


def read_time(options: Options) -> TimeKind:
    """Raises ``QueryRefused``."""
    word = (options.text("time") or TimeKind.EVENT).strip().lower()
    if word not in (TimeKind.EVENT, TimeKind.AGE):
        raise options.refused("time", f"wanted 'event' or 'age', got '{word[:60]}'")
    return TimeKind(word)


def read_places(options: Options, *, root: str, known: Collection[str | Site]) -> Places:
    """``known`` are the sites of the roster, or their names where no more is known; empty where
    there is no roster to check against."""
    text = (options.text("sites") or "").strip()
    if not is_plain(text):
        _check_node_set(options, text, known)
        return Places(_known_roots(options, root, known), (), text)
    listed = tuple(dict.fromkeys(_listed(options, "sites")))
    _check_known(options, "sites", listed, known)
    return Places(_known_roots(options, root, known), listed)


def _check_node_set(options: Options, text: str, known: Collection[str | Site]) -> None:
    """By names alone nothing is known of labels: that is then for the agent to look at."""
    sites = [one for one in known if isinstance(one, Site)]
    names = [one for one in known if not isinstance(one, Site)]
    if not sites and "=" not in text:
        sites = [Site(number, name) for number, name in enumerate(names)]
    fault = node_set_fault(text, sites) if sites else None
    if fault is None:
        try:
            node_set(text)
        except ValueError as error:
            fault = str(error)
    if fault is not None:
        raise options.refused("sites", fault)


def _known_roots(options: Options, root: str, known: Collection[str | Site]) -> tuple[str, ...]:
    roots = _roots(options, root)
    _check_known(options, "roots" if "roots" in options.names() else "root", roots, known)
    return roots


def _check_known(
    options: Options, option: str, names: Collection[str], known: Collection[str | Site]
) -> None:
    there = [one.name if isinstance(one, Site) else one for one in known]
    for name in names:
        if there and name not in there:
            raise options.refused(
                option, f"no site `{name[:60]}`{choices('sites', there, near=name)}"
            )


def _roots(options: Options, default: str) -> tuple[str, ...]:
    if "roots" not in options.names():
        return (options.text("root") or default,)
    if "root" in options.names():
        raise options.refused(
            "roots", "wanted `root` or `roots`, got both; write all sites that answer in `roots`"
        )
    roots = _listed(options, "roots")
    twice = next((name for name in roots if roots.count(name) > 1), None)
    if twice is not None:
        raise options.refused(
            "roots",
            f"root `{twice[:60]}` is named twice, and a site answers one part of a stream; name it "
            "once",
        )
    if not 1 <= len(roots) <= PARTS_MAX:
        raise options.refused(
            "roots",
            f"wanted 1 to {PARTS_MAX} sites that answer, got {len(roots)}; "
            "write roots = 'paris, oslo'",
        )
    return tuple(roots)


def _listed(options: Options, name: str) -> list[str]:
    named = options.text(name, "") or ""
    return [one.strip() for one in named.split(",") if one.strip()]


def read_parts(options: Options, stream: str, roots: tuple[str, ...]) -> tuple[Part | None, ...]:
    """The part of each root; None for the only one. Raises ``QueryRefused``."""
    if len(roots) == 1:
        return (None,)
    parts = tuple(Part(stream, number, len(roots)) for number in range(1, len(roots) + 1))
    if len(parts[-1].query_name) > NAME_LENGTH_MAX:
        raise options.refused(
            "roots",
            f"the parts of `{stream}` would be called `{parts[-1].query_name}`, and a name has at "
            f"most {NAME_LENGTH_MAX} signs; give the stream a shorter one",
        )
    return parts


class Stay(msgspec.Struct, frozen=True):
    """From which pane on a query is, and up to which."""

    begin_pane: int | None
    """The first pane of the first window; None: from the earliest record on."""
    reads_past: bool | msgspec.UnsetType = msgspec.UNSET
    end_pane: int | msgspec.UnsetType = msgspec.UNSET


def read_stay(
    options: Options,
    window: WindowSpec,
    *,
    time: TimeKind,
    default: str,
    now_us: int,
    slack_us: int = INSTALL_SLACK_US,
    ends: bool = False,
) -> Stay:
    """``begin`` and ``extent``. Raises ``QueryRefused``."""
    word = (options.text("begin") or default).strip().lower()
    if word == "earliest":
        _refuse_extent(options, "earliest", ends=ends)
        return Stay(None)
    if word == "now":
        begin_us = now_us + slack_us
    elif "begin" in options.names():
        begin_us = _begin_us(options, word, now_us=now_us)
    else:
        begin_us = _default_us(default)
    _refuse_extent(options, "", ends=ends)
    first = window.first_window_from(begin_us)
    begin_pane = window.panes_of(first).start
    is_past = word != "now" and not ends and window.window_start_us(first) < now_us
    if is_past and time is TimeKind.AGE:
        raise options.refused(
            "begin",
            "by age a begin in the past can't be: nobody knows how far the clocks were apart then; "
            "write begin = 'now', or leave out time = 'age'",
        )
    return Stay(
        begin_pane,
        reads_past=True if is_past else msgspec.UNSET,
        end_pane=_end_pane(options, window, first),
    )


def _begin_us(options: Options, word: str, *, now_us: int) -> int:
    """A point in time, or a length of time before now: '2 hours ago'."""
    if not word.endswith(" ago"):
        return options.moment_us("begin")
    back_us = duration_us(word.removesuffix(" ago"))
    if back_us is None:
        raise options.refused(
            "begin", f"`{word[:60]}` is no length of time before now; write '2 hours ago', '3d ago'"
        )
    return now_us - back_us


def _end_pane(options: Options, window: WindowSpec, first: int) -> int | msgspec.UnsetType:
    """Behind the last window that ends within the extent."""
    if "extent" not in options.names():
        return msgspec.UNSET
    extent_us = round(options.duration_s("extent", 0.0) * MICROS)
    if extent_us < window.range_us:
        raise options.refused(
            "extent",
            f"wanted {EXTENT_TOO_SHORT} ({duration_text(window.range_us)}) or longer, got "
            f"'{(options.text('extent') or '')[:60]}'",
        )
    last = first + (extent_us - window.range_us) // window.slide_us
    return window.panes_of(last).stop


def _refuse_extent(options: Options, begin: str, *, ends: bool) -> None:
    if "extent" in options.names() and (begin or ends):
        why = f"with begin = '{begin}' nobody knows where it would end" if begin else "files end"
        raise options.refused(
            "extent", f"{why}; write a begin that is a point in time, or leave out extent"
        )


def _default_us(default: str) -> int:
    us = timestamp_us(default)
    if us is None:
        raise ConfigurationError(
            f"begin: wanted {' or '.join(BEGIN_KEYWORDS)} or a point in time, got {default!r}; "
            f"write {EXAMPLES}"
        )
    return us


def read_keep_s(options: Options) -> float | UnsetType:
    """Raises ``QueryRefused``."""
    if "keep" not in options.names():
        return UNSET
    keep_s = options.duration_s("keep", 0.0)
    if not 0 < keep_s <= KEEP_S_MAX:
        longest = duration_text(round(KEEP_S_MAX) * MICROS)
        raise options.refused(
            "keep",
            f"wanted a length of time above 0 and up to {longest}, as in keep = '30 days', got "
            f"'{(options.text('keep') or '')[:60]}'",
        )
    return keep_s


# What it may have of links


def read_share(options: Options, window: WindowSpec, *, is_timed: bool) -> LinkShare | UnsetType:
    """Raises ``QueryRefused``."""
    pane_s = window.pane_us / MICROS if is_timed else CLOSE_S
    share = LinkShare(_weight(options), _budget(options, pane_s))
    return UNSET if share == EVEN else share


def _weight(options: Options) -> float:
    text = (options.text("weight") or "1").strip()
    try:
        weight = float(text) if text.replace(".", "", 1).isdigit() and text.isascii() else 0.0
    except ValueError:  # a single point
        weight = 0.0
    share = msgspec.structs.replace(EVEN, weight=weight)
    if share.fault() is not None:
        raise options.refused(
            "weight",
            f"wanted a number from {WEIGHT_MIN:g} to {WEIGHT_MAX:g}, as in weight = 2, "
            f"got '{text[:60]}'",
        )
    return weight


def _budget(options: Options, pane_s: float) -> float | None:
    text = options.text("budget")
    if text is None or text.strip().lower() == NO_BUDGET:
        return None
    try:
        rate = bytes_per_s_of(text[:60])
    except ValueError as error:
        raise options.refused("budget", f"{error}; 'none' takes it away") from error
    least = least_bytes_per_s(pane_s)
    if rate < least:
        raise options.refused(
            "budget",
            f"{rate_text(rate)} is too little for what is said of a pane and one row a close; the "
            f"least that works with panes of {pane_s:g} s is {rate_text(SPARE * least)}",
        )
    return rate
