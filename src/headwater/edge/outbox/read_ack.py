"""Reading an acknowledgement at a site: what has arrived, and what is asked for again.

An acknowledgement speaks of the panes that it lists. An update that was sent more than
``summary_life_s`` before the acknowledgement was cut, and that it lacks, is asked for: by then no
copy of it can be under way any more. A root that was late itself may have the update lying unheard
before it; it says how late it was, and is given so much more time. Nothing else makes a site send
again; it has no timers.

What is said of a single site stands in a leaf. One that was not handed on asks for nothing: of what
the head alone says, the site believes what is done, what is held from everybody, and the clocks.
While it waits for a word it says its state again, and relays on the way see whose leaf is wanted
down there.

A single empty close is asked for in the same way. Those of a former process, or of a former root,
leave no trace of their sending; they are kept as ranges (``doubtful``), and what of them is lacking
goes into the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.sets import ranges
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.acknowledgement import LEAF_SITES, AckLeaf, Acknowledgement, Greeting
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.site_state import FOREVER, Reason
from headwater.edge.outbox.pane_book import EMPTY_CLOSE
from headwater.edge.outputs import MarkAcked, MarkUnacked, Notice, Outlived
from headwater.edge.query_edge import QueryEdge
from headwater.edge.words.site_word import NEVER_S

Heard = MarkAcked | MarkUnacked | Outlived | Notice
CarriersOf = Callable[[str], Sequence[str]]
"""By query: peers to whom this site has handed its summaries."""


class AckReader:
    """One acknowledgement as one site sees it; ``leaf`` is None where its leaf is not at hand."""

    def __init__(
        self, ack: Acknowledgement, leaf: AckLeaf | None, *, ordinal: int, incarnation: int
    ) -> None:
        self._held = IntervalSet(ack.held)
        self._listed = IntervalSet(() if leaf is None else ack.listed)
        said = AckLeaf(0) if leaf is None else leaf
        place = ordinal % LEAF_SITES
        self.panes = {held.pane for held in said.panes if held.sites >> place & 1}
        self.extras = {
            extra.pane: IntervalSet(extra.updates)
            for extra in said.extra
            if extra.ordinal == ordinal and extra.incarnation == incarnation
        }
        self.held = ack.held

    def has_first(self, pane: int) -> bool:
        return pane in self.panes or pane in self._held

    def has_update(self, pane: int, update: int) -> bool:
        extra = self.extras.get(pane)
        return extra is not None and update in extra

    def lists(self, pane: int) -> bool:
        return pane in self._listed

    def split_empty(self, doubtful: IntervalSet) -> tuple[IntervalSet, IntervalSet]:
        """Of the panes in doubt, those that are held and those that are lacking."""
        held, lacking = IntervalSet(), IntervalSet()
        for first, last in doubtful.ranges():
            for a, b in self._held.within(first, last):
                held.add(a, b)
            for a, b in self._listed.within(first, last):
                lacking.add(a, b)
        for pane in self.panes:
            if pane in doubtful:
                held.add(pane, pane)
        for a, b in held.ranges():
            lacking.remove(a, b)
        return held, lacking


def read_ack(
    edge: QueryEdge,
    ack: Acknowledgement,
    *,
    summary_life_s: float,
    carriers_of: CarriersOf,
    now_s: float,
) -> list[Heard]:
    """Apply it; the writes and alarms that follow.

    An older root's is not heard at all; but if that is the root now, it must be told that it is
    outdated, so the state is said again. Nor is one that was overtaken heard: a bit that it has for
    an empty close would be taken for the update that the root has been told of since.
    """
    if (ack.root_incarnation, ack.number) < (edge.root_incarnation, edge.ack_number):
        if ack.root_incarnation < edge.root_incarnation:
            edge.word.speak_again()
        return []
    heard: list[Heard] = []
    if ack.root_incarnation > edge.root_incarnation:
        heard += _meet_root(edge, ack, now_s=now_s)
    word = edge.word
    ordinal = word.ordinal
    edge.ack_number = ack.number
    others_s = None if ack.sites_clock_s is None else ack.sites_clock_s + ack.age_s
    edge.hear_others(others_s, now_s=now_s)
    leaf = ack.leaf_of(ordinal)
    if leaf is None and (edge.book.flights or edge.doubtful):
        word.speak_again()
    for greeting in () if leaf is None else leaf.greetings:
        if greeting.ordinal == ordinal and greeting.incarnation == word.incarnation:
            if greeting.number > word.number:
                return [*heard, *_went_back(edge, greeting)]
            edge.record_changed |= word.greet(greeting.number)
            edge.closes.greeted(greeting.number)
            edge.former_through = greeting.former_through
            clock_s = greeting.former_clock_s
            edge.hear_former(None if clock_s is None else clock_s + ack.age_s, now_s=now_s)
        elif greeting.ordinal == ordinal and _is_higher(greeting, word.incarnation):
            return [*heard, Outlived(greeting.incarnation)]
    _read_agreement(edge, ack)
    _read_asked(edge, ack)
    reader = AckReader(ack, leaf, ordinal=ordinal, incarnation=word.incarnation)
    heard += _alarms(edge, reader, carriers_of)
    before_s = now_s - ack.age_s - ack.late_s - summary_life_s
    landed = _read_flights(edge, reader, before_s=before_s)
    _read_doubtful(edge, reader, before_s=before_s)
    _read_wanted(edge, ack, again_s=summary_life_s, now_s=now_s)
    is_further = ack.done_through > word.done_through
    if is_further:
        edge.drop_below(ack.done_through)
    if landed or is_further:
        panes = IntervalSet((pane, pane) for pane in landed)
        done_through = word.done_through
        heard.append(MarkAcked(edge.id, panes.ranges(), done_through, edge.record()))
    return heard


def _went_back(edge: QueryEdge, greeting: Greeting) -> list[Heard]:
    """The root has heard a state of this very life that this cube knows nothing of: the cube is an
    earlier copy of itself, restored from somewhere. It goes on as another life."""
    text = (
        f"{edge.id}: the root knows state {greeting.number} of this site, which is at "
        f"{edge.word.number}: its store went back, and goes on under a new incarnation"
    )
    return [Outlived(greeting.incarnation + 1), Notice("store went back", text)]


def _read_agreement(edge: QueryEdge, ack: Acknowledgement) -> None:
    """A bit has no incarnation, so it is believed of a life that the root has greeted. To agree
    to a digest the root must have heard a state that tells it."""
    if not edge.word.is_greeted:
        return
    for agreed in ack.agreed:
        if agreed.sites >> edge.word.ordinal & 1 and edge.closes.agree(agreed.pane):
            edge.word.has_changed = edge.has_work = True
    heard = edge.closes.heard_number()
    if heard:
        edge.word.greet(heard)


def _read_asked(edge: QueryEdge, ack: Acknowledgement) -> None:
    for asked in ack.asked:
        is_ours = asked.ordinal == edge.word.ordinal and edge.word.is_greeted
        if is_ours and edge.closes.ask(asked.first, asked.last, number=ack.number):
            edge.word.has_changed = edge.has_work = True


def _read_wanted(edge: QueryEdge, ack: Acknowledgement, *, again_s: float, now_s: float) -> None:
    """Our own updates of these panes, alone, once in the life of a summary: a root that does not
    get them asks again. What is declined is said to be so, and does not come; and so is what is
    not closed, lest the root waits for what a liar said of us."""
    for wanted in ack.wanted:
        pane = wanted.pane
        is_ours = wanted.sites >> edge.word.ordinal & 1 and pane >= edge.lowest()
        if not is_ours or pane in edge.cutting or edge.word.is_declined(pane):
            continue
        if now_s - edge.resent_s.get(pane, NEVER_S) <= again_s:
            continue
        while len(edge.resent_s) >= edge.config.resends_max:
            del edge.resent_s[next(iter(edge.resent_s))]
        edge.resent_s.pop(pane, None)
        edge.resent_s[pane] = now_s
        if pane >= edge.closed_through:
            if edge.word.is_greeted and edge.closes.wanted_open(pane, number=ack.number):
                edge.word.has_changed = edge.has_work = True
            continue
        unsent = edge.book.unsent_of(pane)  # a first copy is under way, and no spare
        for update in range(1, edge.book.updates_of(pane) + 1) or (EMPTY_CLOSE,):
            if update not in unsent:
                edge.book.ask(pane, update)


def _is_higher(greeting: Greeting, incarnation: int) -> bool:
    """A number above which there is none is somebody's invention."""
    return incarnation < greeting.incarnation <= INCARNATION_MAX


def _meet_root(edge: QueryEdge, ack: Acknowledgement, *, now_s: float) -> list[Heard]:
    """A root, or one that began anew: what an older one had acknowledged is all in doubt.

    What this site has forgotten since the older root was done with it can't come again.
    """
    is_first = edge.root_incarnation == 0
    edge.root_incarnation, edge.record_changed = ack.root_incarnation, True
    if is_first:
        return []
    edge.former_through = None
    done_through = edge.word.done_through
    first = edge.word.first_pane
    if first is not None and ack.done_through < done_through:
        edge.word.done_through = ack.done_through
        lowest = max(first, ack.done_through)
        edge.word.decline(lowest, done_through - 1, Reason.EXPIRED)
    edge.begin_anew()
    text = f"{edge.id}: the root began anew; what it lacks is sent again from this site's cube"
    return [MarkUnacked(edge.id), Notice("root began anew", text)]


def _read_flights(edge: QueryEdge, reader: AckReader, *, before_s: float) -> list[int]:
    """Land what is held and ask for what is lacking; the panes that are now held wholly."""
    landed = []
    for pane, flight in list(edge.book.flights.items()):
        if not reader.lists(pane) and not reader.has_first(pane):
            continue
        for update, sent_s in list(flight.items()):
            if _is_held(edge, reader, pane, update):
                edge.book.land(pane, update)
            elif sent_s < before_s and reader.lists(pane):
                edge.book.ask(pane, update)
        if not edge.book.is_unacked(pane) and pane not in edge.cutting:
            edge.book.release(pane)
            landed.append(pane)
    return landed


def _is_held(edge: QueryEdge, reader: AckReader, pane: int, update: int) -> bool:
    if update == EMPTY_CLOSE:
        return reader.has_first(pane)
    if update == 1 and reader.has_first(pane) and edge.word.trusts_bit(pane):
        return True
    return reader.has_update(pane, update)


def _read_doubtful(edge: QueryEdge, reader: AckReader, *, before_s: float) -> None:
    if not edge.doubtful:
        return
    held, lacking = reader.split_empty(edge.doubtful)
    for first, last in held.ranges():
        edge.doubtful.remove(first, last)
    if edge.doubtful_s < before_s:
        for first, last in lacking.ranges():
            edge.doubtful.remove(first, last)
            edge.word.close_empty(first, last)


def _alarms(edge: QueryEdge, reader: AckReader, carriers_of: CarriersOf) -> list[Heard]:
    """A relay is trusted for values, not for presence: a site looks for what it never sent. What it
    finds goes into its state, once for each pane."""
    claims = ranges.normal(
        gap
        for first, last in _claims(edge, reader)
        for open_first, open_last in edge.word.undeclined(first, last)
        for gap in edge.word.unalarmed(open_first, open_last)
    )
    heard: list[Heard] = []
    kind, ordinal = AlarmKind.NEVER_CUT, edge.word.ordinal
    for panes in claims:
        text = (
            f"the root holds an update of {_panes_text(panes)} that this site never cut; a relay "
            "on the way is wrong or hostile"
        )
        alarm = Alarm.of(kind, edge.id, ordinal, panes, text, carriers_of(edge.id))
        if edge.word.raise_alarm(alarm):
            heard.append(Notice("alarm", f"{edge.id}: {text}"))
    return heard


def _claims(edge: QueryEdge, reader: AckReader) -> Iterator[Range]:
    """What the root says that it holds of this site, and can't.

    A bit has no incarnation, and may speak of a former cube: its clock may have been ahead of ours.
    So bits are checked beyond the panes that the root may hold from there, when it has told; and
    not at all where a query begins with the earliest record, which a new cube reads again.
    """
    for pane, updates in reader.extras.items():
        is_above = any(last > edge.book.updates_of(pane) for _, last in updates.ranges())
        if pane >= edge.word.done_through and is_above and pane not in edge.cutting:
            yield pane, pane
    if edge.word.first_pane not in (None, -FOREVER) and edge.former_through is not None:
        open_from = max(edge.closed_through, edge.former_through)
        yield from ((pane, pane) for pane in reader.panes if pane >= open_from)
        yield from ((max(first, open_from), last) for first, last in reader.held)


def _panes_text(panes: Range) -> str:
    first, last = panes
    return f"pane {first}" if first == last else f"panes {first} to {last}"
