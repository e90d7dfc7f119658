"""The levels of a query: what a site sends in the place of its panes when these don't fit.

Each level is a *companion*, an ordinary query of its own with an id, trees, a cube series and a
ledger, which names the query that it stands for (its *full* query). So the level is part of what an
update is: coverage, merging, acknowledgement, overlap and repair treat it as a series of its own,
and a relay that has never heard of levels merges it like any other.

A site *takes* a pane of a companion before it begins, or never, and then leaves the panes of the
full query that lie in it for later. What nobody takes costs nobody anything: a companion has no
rows of its own, only those that the site part of its full query makes, under coarser panes::

    full query    | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 |    panes of 1 s
    companion     |         0         |         1         |    panes of 5 s
                            ▲ taken: 0 to 4 of the full query are deferred here

Or by a coarser key, or those of a sample of a key (``algebra.windows.coarsening``). Levels come one
behind the other, so each has given up what the finer ones have, and its windows can be made of
panes of any of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name
from headwater.algebra.remainders.tolerance import Finally, Tolerance
from headwater.algebra.rows.columns import visible_keys
from headwater.algebra.windows.coarsening import Coarsening
from headwater.plan.degrading.degradation import LEVEL_KINDS, OperatorKind

if TYPE_CHECKING:
    from headwater.plan.query import Query

LEVELS_MAX = 8
"""Companions of one query: each is a query at every site, if an idle one."""
COARSEN_TIME = "coarsen(time)"
_LEVEL = re.compile(
    r"\d+_(second|minute|hour|day)s?(_(by_coarser|sample_of|with_smaller)_.+)?"
    r"|(by_coarser|sample_of|with_smaller)_.+",
    re.ASCII,
)
"""What stands behind the name of a stream in those of its levels."""
TOTALS_MAX = 16
"""Columns of a sample whose totals are estimated."""


class Totalled(msgspec.Struct, frozen=True):
    """A column of a sample's answer whose total over all groups is estimated."""

    column: Name
    partial: Name
    """Where it is, in the rows of summaries."""


class Companion(msgspec.Struct, frozen=True):
    """What makes a query a companion of another one."""

    of: Name
    """The id of the full query."""
    step: Annotated[int, Meta(ge=1, le=LEVELS_MAX)]
    """From 1, the finest."""
    count: Annotated[int, Meta(ge=1, le=LEVELS_MAX)] = 1
    """How many levels there are."""
    operator: Name = COARSEN_TIME
    text: Name = ""
    """How coarse it is, for people: ``5 s``."""
    finally_: Finally = Finally.EXACT
    """What becomes of the deferred panes: they follow, or are declined."""
    kind: OperatorKind = OperatorKind.COARSEN_TIME
    """Of the operator that came in last."""
    coarsening: Coarsening = Coarsening()
    """What its rows are, beside longer panes."""
    determined: Annotated[int, Meta(ge=0, le=2)] = 0
    """How many of its keys, the last of the user's, are determined."""
    sampled: Name = ""
    """The key of which a sample is taken; empty: none is."""
    totals: Annotated[tuple[Totalled, ...], Meta(max_length=TOTALS_MAX)] = ()
    """Of a sample."""

    @property
    def stream(self) -> str:
        """What people call the full query.

        >>> Companion("hits@fra#7", 1).stream
        'hits'
        """
        return self.of.partition("@")[0]

    @property
    def stays(self) -> bool:
        """The panes that it stands for never follow."""
        return self.finally_ is Finally.BOUNDED

    def __str__(self) -> str:
        """
        >>> str(Companion("hits@fra#7", 1, text="5 s"))
        'coarsen(time) to 5 s'
        """
        return f"{self.operator} to {self.text}"


def level_name(
    stream: str, *, length: str = "", key: str = "", sample: str = "", sketch: str = ""
) -> str:
    """By how long its panes are, the key that is coarser, of which key it has a sample (``url
    1 in 4``), and which sketch is how small (``users 256``), each where it is any other than the
    stream's.

    >>> level_name("hits", length="5 seconds"), level_name("hits", key="url")
    ('hits_5_seconds', 'hits_by_coarser_url')
    >>> level_name("hits", length="5 seconds", sample="url 1 in 4")
    'hits_5_seconds_sample_of_url_1_in_4'
    """
    words = [stream, length, key and f"by_coarser_{key}", sample and f"sample_of_{sample}"]
    words.append(sketch and f"with_smaller_{sketch}")
    return re.sub(r"\W", "_", "_".join(filter(None, words)), flags=re.ASCII)


def is_level_name(name: str, stream: str) -> bool:
    """Whether a level of the stream may be called so.

    >>> is_level_name("hits_5_seconds", "hits"), is_level_name("hits_by_coarser_url", "hits")
    (True, True)
    >>> is_level_name("hits_5_shops", "hits"), is_level_name("hits_of_shops", "hits")
    (False, False)
    """
    rest = name.removeprefix(f"{stream}_")
    return rest != name and _LEVEL.fullmatch(rest) is not None


def fine_panes(full: Query, companion: Query, pane: int) -> range:
    """The panes of the full query that lie in this one of the companion."""
    spec, coarse = full.window, companion.window
    first = spec.pane_at(coarse.pane_start_us(pane))
    return range(first, first + coarse.pane_us // spec.pane_us)


def coarse_pane(full: Query, companion: Query, pane: int) -> int:
    """The pane of the companion in which this one of the full query lies."""
    return companion.window.pane_at(full.window.pane_start_us(pane))


def level_fault(full: Query, companion: Query) -> str | None:
    """Why the one can't be a level of the other, whoever says so; None: it can."""
    level = companion.stands_for
    if level is None or level.of != str(full.id):
        return f"{companion.id} is no level of {full.id}"
    if level.kind not in LEVEL_KINDS:
        known = ", ".join(LEVEL_KINDS)
        return f"{companion.id}: {level.operator} is not known here, only {known}"
    if (fault := plain_fault(full)) is not None:
        return f"{full.id} has {fault}"
    fine, coarse, rows = full.window, companion.window, level.coarsening
    apart_us = coarse.start_us - fine.start_us
    if coarse.pane_us < fine.pane_us or coarse.pane_us % fine.pane_us or apart_us % fine.pane_us:
        return f"{companion.id}: its panes are no whole number of those of {full.id}"
    if coarse.pane_us == fine.pane_us and not rows:
        return f"{companion.id}: it gives up nothing of {full.id}"
    if (full.root, full.sites, full.node_set) != (
        companion.root,
        companion.sites,
        companion.node_set,
    ):
        return f"{companion.id} and {full.id} have other sites, or another root"
    made, of = companion.program, full.program
    keys, partials = rows.keys(of.keys), rows.partials(of.partials)
    if (made.keys, made.partials, made.source) != (keys, partials, of.source):
        return f"{companion.id} and {full.id} have other columns, or another source"
    return None


def determined_names(query: Query) -> set[str]:
    """Keys that nobody is shown: what its levels, or those behind it, go by."""
    if query.stands_for is not None:
        count = query.stands_for.determined
    else:
        operators = () if query.degrades is None else query.degrades.operators
        count = sum(
            one.kind in (OperatorKind.COARSEN_KEY, OperatorKind.SAMPLE) for one in operators
        )
    keys = [key.name for key in visible_keys(query.program)]
    return set(keys[len(keys) - count :])


def has_only_key(query: Query, key: str) -> bool:
    """Whether a group is a value of this key."""
    names = {one.name for one in visible_keys(query.program)}
    return names - determined_names(query) == {key}


def is_coarser(companion: Query, finer: Query) -> bool:
    """Of two levels of one query, whether windows of the one can be made of panes of the other."""
    level, other = companion.stands_for, finer.stands_for
    if level is None or other is None or level.of != other.of or level.step <= other.step:
        return False
    coarse, fine = companion.window, finer.window
    is_whole = not coarse.pane_us % fine.pane_us
    is_aligned = not (coarse.start_us - fine.start_us) % fine.pane_us
    return is_whole and is_aligned and level.coarsening.is_within(other.coarsening)


def _tolerance_fault(tolerance: Tolerance) -> str | None:
    """A threshold raises the bound of whatever is sent, be it panes of the query or of a level. A
    number of it would hold for windows of one length only, and be dealt out for each level."""
    if tolerance.relay_share:
        return "a part of its bounds that is relays'"
    if tolerance.top is not None:
        return "top beside it: the root asks for groups of panes at full fidelity"
    if not tolerance.is_by_link:
        return "an error beside it, unlike a threshold"
    if tolerance.can_move:
        return "a threshold that is a number beside it; write it as a share, such as 1 % of total"
    return None


def plain_fault(query: Query) -> str | None:
    """Why a query has no coarser panes: what it asks for goes by more than the records of a pane.
    None: it may have some.
    """
    if query.window.panes_per_window != 1:
        return "windows that slide: coarse windows stand beside tumbling ones"
    if query.window.start_us:
        return "windows that start apart from the hour"
    if query.holds_states or query.sessions is not msgspec.UNSET:
        return "states and sessions, which are no sums of panes"
    if query.numbers is not None or query.time != "event":
        return "windows of numbers, and records by age"
    if query.ends or query.wants_past or query.begin_pane is None or query.ends_at is not None:
        return "inputs that end, an extent, or a begin in the past"
    if query.tolerates is not None:
        fault = _tolerance_fault(query.tolerates)
        if fault is not None:
            return fault
    if isinstance(query.rounds, int):
        return "rounds, by which groups leave early (a staleness does without)"
    if query.demanded is not None:
        return "a demand (fidelity) beside it"
    return None
