"""What an answer says of how much is in it, against the set that is: C² and demands.

The envelope's own list of what is missing bounds the stated fidelity from below, the records that
are in the answer bound it from above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwater.algebra.fidelity import Fidelity, measure
from headwater.algebra.words.site_state import PaneState
from headwater.node import effects as do
from headwater.plan.query import Query
from headwater.root.said.envelope import Envelope, FinalBy
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag
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
