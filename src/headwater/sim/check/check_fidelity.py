"""What an answer says of how much is in it, against the set that is: C² and demands.

The envelope's own list of what is missing bounds the stated fidelity from below, the records that
are in the answer bound it from above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from headwater.algebra.fidelity import Fidelity, measure
from headwater.algebra.panes import MICROS
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER, PaneState
from headwater.node import effects as do
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, FinalBy
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag
from headwater.sim.records.ledger_disk import LedgerDisk
from headwater.sim.transcript import Transcript
from headwater.sim.world.site import SimulatedSite

DEMANDS_SOMETIMES = (
    "an answer had enough",
    "an answer was hopeless",
    "an answer missed its demand",
    "an answer was silent",
    "a silent window came to have enough",
    "an answer was final by enough",
    "an answer had enough before its window ended",
    "all of what was drawn was in an answer",
    "a part of what was drawn was in an answer",
    "panes were wanted no more before they were over",
    "a site was told that panes are wanted no more",
    "what nobody wanted was let go of on the way",
)
RULE = "stated fidelity is true"


def check_fidelity(
    query: Query,
    envelope: Envelope,
    where: str,
    *,
    whole: Sequence[int],
    missing: Mapping[tuple[str, int], PaneState],
    names: Mapping[int, str],
    expected: Sequence[int],
) -> None:
    """``whole``: of each pane of the window, the sites whose records are in it as a close has them;
    ``missing``: what the envelope calls so."""
    panes, said = query.window.panes_of(envelope.window), envelope.fidelity
    listed = [sum(1 << o for o in expected if (names[o], pane) not in missing) for pane in panes]
    asked = None if query.demanded is None else query.demanded.panes_asked(len(panes))
    sites = sum(1 << ordinal for ordinal in expected)
    undrawn = [_undrawn(query, pane, expected) for pane in panes]
    most = measure(whole, sites, panes_asked=asked, undrawn=undrawn)
    least = measure(listed, sites, panes_asked=asked, undrawn=undrawn)
    stated = said.fidelity
    if stated.at_least(most) != most:
        raise Violation(RULE, f"{where}: says {stated}, and holds {most}")
    if stated.at_least(least) != stated and not envelope.disputed:
        raise Violation(RULE, f"{where}: says {stated}, and misses only what leaves {least}")
    if (said.area, said.time, said.space) != (stated.area, stated.time, stated.space):
        raise Violation(RULE, f"{where}: {said} is not what its bins come to")
    if envelope.exact and stated.area != 1.0:
        raise Violation(RULE, f"{where}: exact, and yet {stated}")
    if said.is_met != (query.demanded is None or query.demanded.is_met_by(stated)):
        raise Violation(RULE, f"{where}: {said.demanded!r} is called met: {said.is_met}")
    if envelope.final_by is FinalBy.ENOUGH and not (said.is_met and query.awaited_demand):
        raise Violation("enough is final", f"{where}: final by enough, and {said} is not")


def _undrawn(query: Query, pane: int, expected: Sequence[int]) -> int:
    if query.draw is None:
        return 0
    return sum(1 << ordinal for ordinal in expected if not query.draw.has(pane, ordinal))


def check_silence(query: Query, envelope: Envelope, where: str, published: Bag) -> None:
    """Nobody sees rows below a demanded minimum, in no revision."""
    demand = query.awaited_demand
    has_too_little = demand is not None and demand.is_silent and not envelope.fidelity.is_met
    if has_too_little != envelope.fidelity.is_silent or (has_too_little and published.once):
        raise Violation("below is silent", f"{where}: {envelope.fidelity}, rows {published}")


def check_no_less(where: str, before: Fidelity, now: Fidelity) -> None:
    if now.at_least(before) != now:
        raise Violation("revisions never lower coverage", f"{where}: {now} after {before}")


def held_of(site: SimulatedSite, query: Query, answer: do.Answer, window: int) -> Bag:
    """What an answer would have had that has no rows, because there is too little."""
    panes = query.window.panes_of(window)
    held: Bag = site.disk.ledgers[answer.query].rows(panes, kept_through=answer.kept_through)
    return held


def has_begun(query: Query, effect: do.Expire, *, now_s: float) -> bool:
    """Whether one of its panes has, by true time. A clock that is set a day ahead closes thousands
    at once, for which states hold; an acknowledgement lists some dozens, so they may outlast a
    retention as short as that of these worlds though the root has them all."""
    return any(query.window.pane_start_us(pane) <= now_s * MICROS for pane in effect.panes)


def is_unwanted(root: SimulatedSite, effect: do.Expire) -> bool:
    """Whether the root takes nothing more of any of these panes: every window that has one has
    enough. Sites hear of it once no earlier pane is wanted, which may be after a retention."""
    answering = None if root.node is None else root.node.root(effect.query)
    if answering is None or answering.query.awaited_demand is None:
        return False
    done_through, boards = answering.windows.done_through, answering.scoreboard.boards
    return all(
        pane < done_through or (pane in boards and boards[pane].is_frozen) for pane in effect.panes
    )


class UnwantedCheck:
    """What roots call unwanted, and what sites go on doing for it."""

    def __init__(self, transcript: Transcript) -> None:
        self._count = transcript.count
        self._counts = transcript.counts
        self._told: dict[tuple[str, int], Ranges] = {}

    def told(self, ack: Acknowledgement, query: Query, disk: LedgerDisk, *, now_s: float) -> None:
        """It is durable before it is said, and never taken back in a life of the ledger."""
        key = (ack.query, ack.root_incarnation)
        before = self._told.get(key, ())
        for pane in _numbers(ranges.difference(ack.unwanted, before)):
            wanting = [w for w in _windows_of(query, pane) if _is_wanting(w, query, disk, now_s)]
            if wanting or query.awaited_demand is None or not query.awaited_demand.is_final:
                text = f"{ack.query} pane {pane} is called unwanted, and windows {wanting} want it"
                raise Violation("the pane is wanted while any window wants it", text)
        gone = ((-FOREVER, ack.done_through - 1),)
        back = ranges.difference(ranges.difference(before, gone), ack.unwanted)
        if back:
            text = f"{ack.query}: panes {back} were called unwanted before"
            raise Violation("unwanted is never taken back", text)
        self._told[key] = ack.unwanted
        if ack.unwanted:
            self._count("panes were wanted no more before they were over")

    def heard(self, acked: do.MarkAcked) -> None:
        if acked.record.unwanted:
            self._count("a site was told that panes are wanted no more")

    def making(self, site: SimulatedSite, wanted: do.MakeUpdates) -> None:
        unwanted = [pane for pane in wanted.panes if ranges.contains(wanted.record.unwanted, pane)]
        if unwanted:
            text = f"{site.name} makes updates of {wanted.query} panes {unwanted}"
            raise Violation("nobody works for what is unwanted", text)

    def sending(self, site: SimulatedSite, send: do.LoadAndSend) -> None:
        record = site.disk.cube.records.get(send.query)
        if record is not None and ranges.covers(record.unwanted, send.pane, send.panes[-1]):
            text = f"{site.name} sends {send.query} pane {send.pane}, which it knows to be unwanted"
            raise Violation("nobody works for what is unwanted", text)

    def crashed(self, site: SimulatedSite) -> None:
        """Or the run is over: what its relay has let go of."""
        assert site.node is not None, "only a node that is there can be asked"
        let_go = site.node.peer.counts().get("unwanted", 0)
        self._counts["what nobody wanted was let go of on the way"] += let_go


def _numbers(panes: Ranges) -> Iterator[int]:
    return (pane for first, last in panes for pane in range(first, last + 1))


def _windows_of(query: Query, pane: int) -> list[int]:
    """Windows that the query has."""
    window, begin = query.window, query.begin_pane
    end = FOREVER if query.ends_at is None else query.ends_at
    return [
        number
        for number in window.windows_of(pane)
        if (begin is None or window.panes_of(number).start >= begin)
        and window.panes_of(number).stop <= end
    ]


def _is_wanting(number: int, query: Query, disk: LedgerDisk, now_s: float) -> bool:
    answered, window = disk.answers.get(number), query.window
    is_over = disk.done_through is not None and window.panes_of(number).start < disk.done_through
    is_past = query.numbers is None and (
        window.window_end_us(number) / MICROS + query.timing.revise_for_s < now_s
    )
    return not (is_over or is_past or (answered is not None and answered.envelope.final))
