"""Applying an acknowledgement at a site: what has arrived, and what is asked for again.

An acknowledgement speaks of the panes that it lists. An update that was sent more than
``summary_life_s`` before the acknowledgement was made, and that it lacks, is asked for: by then no
copy of it can be under way any more. A root that was late itself may have the update lying unheard
before it; it says how late it was, and is given so much more time. Nothing else makes a site send
again; it has no timers.

What is said of a single site stands in a leaf. One that was not handed on asks for nothing: of what
the head alone says, the site believes what is done, what is held from everybody, and the clocks.
While it waits for a word it says its state again, and relays on the way see whose leaf is wanted
down there.

A single empty close is asked for in the same way. Those of a former process, or of a former root,
leave no trace of their sending; they are kept as ranges (``PaneBook.doubtful``), and what of them
is lacking goes into the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from headwater.algebra.incarnation import INCARNATION_MAX
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Range
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement, Greeting
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.site_state import FOREVER, Reason
from headwater.edge.acks.ack_view import AckView
from headwater.edge.outbox.pane_book import EMPTY_CLOSE, PaneBook
from headwater.edge.outputs import Altered, MarkAcked, MarkUnacked, Outlived
from headwater.edge.query_edge import QueryEdge
from headwater.edge.query_state import News, QueryState
from headwater.plan.notice import Notice

Heard = Altered | MarkAcked | MarkUnacked | Outlived | Notice
CarriersOf = Callable[[str], Sequence[str]]
"""By query: peers to whom this site has handed its summaries."""


def apply_ack(
    edge: QueryEdge, ack: Acknowledgement, *, carriers_of: CarriersOf, now_s: float
) -> list[Heard]:
    """The writes and alarms that follow.

    An older root's is not heard at all; but if that is the root now, it must be told that it is
    outdated, so the state is said again. Nor is one that was overtaken heard: a bit that it has for
    an empty close would be taken for the update that the root has been told of since.
    """
    state, telling = edge.state, edge.state.telling
    if not telling.takes(state.record, ack):
        if ack.root_incarnation < state.record.root_incarnation:
            telling.speak_again()
        return []
    heard = list[Heard]()
    if ack.root_incarnation > state.record.root_incarnation:
        heard = _meet_root(state, ack)
    sites_s = None if ack.sites_clock_s is None else ack.sites_clock_s + ack.age_s
    state.hear_others(sites_s, now_s=now_s)
    state.hear_awaited(ack.awaited_from)
    _hear_pause(state, ack, now_s=now_s)
    edge.early.travel_s = ack.travel_s
    leaf = ack.leaf_of(telling.ordinal)
    if leaf is None and (state.book.flights or state.book.doubtful):
        telling.speak_again()
    outlived = [] if leaf is None else _hear_greetings(edge, leaf, age_s=ack.age_s, now_s=now_s)
    if outlived:
        return [*heard, *outlived]
    settings = state.hear_shares(ack.shares) if ack.shares else None
    heard += [] if settings is None else [Altered(state.id, settings)]
    _hear_agreement(state, ack)
    if ack.asked:
        _hear_asked(state, ack)
    view = AckView(ack, leaf, ordinal=telling.ordinal, incarnation=telling.incarnation)
    heard += _alarms(state, view, carriers_of)
    heard += _land_flights(state, ack, view, now_s=now_s)
    if ack.largest:
        heard += edge.answers_requests().hear(ack.largest)
    if state.book.owing or state.book.deferred:
        state.hear(News.WORK)  # what was kept back of panes that have arrived may follow
    return heard


def _hear_pause(state: QueryState, ack: Acknowledgement, *, now_s: float) -> None:
    """Each acknowledgement says it anew: one that says nothing lets all go that the root held."""
    told = ack.exempt_through
    if state.pause.hear_root(ack.pause, exempt_through=told, age_s=ack.age_s, now_s=now_s):
        state.hear(News.WORK)


def _meet_root(state: QueryState, ack: Acknowledgement) -> list[Heard]:
    """A root, or one that began anew: what an older one had acknowledged is all in doubt.

    What this site has forgotten since the older root was done with it can't come again.
    """
    former = state.record
    state.change(News.RECORD, root_incarnation=ack.root_incarnation)
    if former.root_incarnation == 0:
        return []
    if former.first_pane is not None and ack.done_through < former.done_through:
        state.change(News.RECORD, done_through=ack.done_through)
        state.decline(state.record.lowest(), former.done_through - 1, Reason.EXPIRED)
    _give_up_unwanted(state)
    state.begin_anew()
    text = f"{state.id}: the root began anew; what it lacks is sent again from this site's cube"
    return [MarkUnacked(state.id), Notice("edge", "root began anew", text)]


def _give_up_unwanted(state: QueryState) -> None:
    """Another root wants what the former one did not. What was not made of panes that are closed
    never comes; of those that are open nothing was left out."""
    closed = state.unwanted.within(state.record.lowest(), state.record.closed_through - 1)
    gone = list(closed)
    if state.record.unwanted:
        state.change(News.RECORD, unwanted=())
    for first, last in gone:
        state.decline(first, last, Reason.EXPIRED)


def _hear_greetings(
    edge: QueryEdge, leaf: AckLeaf, *, age_s: float, now_s: float
) -> list[Outlived | Notice]:
    """What follows where the root knows more of this site than it does itself; then nothing else
    of the acknowledgement is heard. An incarnation above which there is none is somebody's
    invention."""
    state, telling = edge.state, edge.state.telling
    for greeting in leaf.greetings:
        if greeting.ordinal != telling.ordinal:
            continue
        if telling.incarnation < greeting.incarnation <= INCARNATION_MAX:
            return [Outlived(greeting.incarnation)]
        if greeting.incarnation != telling.incarnation:
            continue
        if greeting.number > state.record.state_number:
            return _went_back(state, greeting)
        state.put(telling.hear_greeting(state.record, greeting), News.RECORD)
        state.closes.greeted(greeting.number)
        former_s = greeting.former_clock_s
        former_s = None if former_s is None else former_s + age_s
        edge.beginning.hear_former(former_s, now_s=now_s)
    return []


def _went_back(state: QueryState, greeting: Greeting) -> list[Outlived | Notice]:
    """The root has heard a state of this very life that this cube knows nothing of: the cube is an
    earlier copy of itself, restored from somewhere. It goes on as another life."""
    text = (
        f"{state.id}: the root knows state {greeting.number} of this site, which is at "
        f"{state.record.state_number}: its store went back, and goes on under a new incarnation"
    )
    return [Outlived(greeting.incarnation + 1), Notice("edge", "store went back", text)]


def _hear_agreement(state: QueryState, ack: Acknowledgement) -> None:
    """A bit has no incarnation, so it is believed of a life that the root has greeted. To agree
    to a digest the root must have heard a state that tells it."""
    telling, closes = state.telling, state.closes
    if not telling.is_greeted:
        return
    for agreed in ack.agreed:
        if agreed.sites >> telling.ordinal & 1 and closes.agree(agreed.pane):
            state.hear(News.WORD)
    heard = closes.heard_number()
    if heard:
        state.put(telling.greet(state.record, heard), News.RECORD)


def _hear_asked(state: QueryState, ack: Acknowledgement) -> None:
    for asked in ack.asked:
        is_ours = asked.ordinal == state.telling.ordinal and state.telling.is_greeted
        if is_ours and state.closes.ask(asked.first, asked.last, number=ack.number):
            state.hear(News.WORD)


def _land_flights(
    state: QueryState, ack: Acknowledgement, view: AckView, *, now_s: float
) -> list[Heard]:
    """What is now held wholly, and what the root is done with, is written together."""
    life_s = state.config.summary_life_s
    before_s = now_s - ack.age_s - ack.late_s - life_s
    landed = _land(state, view, before_s=before_s)
    if state.book.doubtful:
        _land_empty(state, view, before_s=before_s)
    if ack.wanted:
        _hear_wanted(state, ack, before_s=before_s, again_s=life_s, now_s=now_s)
    is_further = ack.done_through > state.record.done_through
    if is_further:
        state.drop_below(ack.done_through)
    is_less = bool(ack.unwanted) and state.want_no_more(ack.unwanted)
    if not (landed or is_further or is_less):
        return []
    panes = ranges.normal((pane, pane) for pane in landed)
    return [MarkAcked(state.id, panes, state.record.done_through, state.record)]


def _land(state: QueryState, view: AckView, *, before_s: float) -> list[int]:
    """Land what is held and ask for what is lacking; the panes that are now held wholly."""
    book, landed = state.book, list[int]()
    for pane, flight in list(book.flights.items()):
        if not view.lists(pane) and not view.has_bit(pane):
            continue
        for update, sent_s in list(flight.items()):
            if _is_held(state, view, pane, update):
                book.land(pane, update)
            elif sent_s < before_s and view.lists(pane):
                book.ask(pane, update)
        if not book.is_unacked(pane) and pane not in book.making:
            book.release(pane)
            state.landed(pane)
            landed.append(pane)
    return landed


def _is_held(state: QueryState, view: AckView, pane: int, update: int) -> bool:
    """A bit speaks of the pane's first close, and of a later one only if the root has it from a
    state: it may call the pane held without having heard of the late update."""
    telling = state.telling
    if update == EMPTY_CLOSE:
        return view.has_bit(pane)
    if view.has_bit(pane) and view.bit_means(update):
        first_close = state.book.first_close_of(pane)
        if telling.bit_means_held(pane, update, first_close=first_close):
            return True
    return view.has_update(pane, update, is_greeted=telling.is_greeted)


def _land_empty(state: QueryState, view: AckView, *, before_s: float) -> None:
    book = state.book
    held, lacking = view.split_empty(book.doubtful)
    if book.doubtful_s >= before_s:
        lacking = ()
    book.learn(held + lacking)
    if lacking:
        state.close_empty(*lacking)


def _hear_wanted(
    state: QueryState, ack: Acknowledgement, *, before_s: float, again_s: float, now_s: float
) -> None:
    """Our own updates of these panes, alone, once in the life of a summary: a root that does not
    get them asks again. While first copies may be under way, or are still to leave, they are what
    it gets: it has compared what is told with what has not come yet. What is declined is said to
    be so, and does not come; and so is what is not closed, lest the root waits for what a liar said
    of us."""
    book, telling, limit = state.book, state.telling, state.config.resends_max
    for wanted in ack.wanted:
        pane = wanted.pane
        is_ours = wanted.sites >> telling.ordinal & 1 and pane >= state.record.lowest()
        is_kept = pane in state.declined or pane in state.unwanted
        if not is_ours or pane in book.making or is_kept:
            continue
        is_closed = pane < state.record.closed_through
        if is_closed and _is_under_way(book, pane, since_s=before_s):
            continue
        if not book.is_wanted_anew(pane, again_s=again_s, count_max=limit, now_s=now_s):
            continue
        if is_closed and pane not in book.deferred:
            _ask_all(state, pane)
        elif telling.is_greeted and state.closes.wanted_open(pane, number=ack.number):
            state.hear(News.WORD)


def _is_under_way(book: PaneBook, pane: int, *, since_s: float) -> bool:
    """Some of it is to leave, or has left since then and was no spare."""
    if book.unsent_of(pane):
        return True
    left_s = book.flights.get(pane, {}).values()
    return pane not in book.repaired and any(at_s > since_s for at_s in left_s)


def _ask_all(state: QueryState, pane: int) -> None:
    """But for what was never sent: there a first copy is under way, and no spare."""
    book = state.book
    unsent = book.unsent_of(pane)
    for update in range(1, book.updates_of(pane) + 1) or (EMPTY_CLOSE,):
        if update not in unsent:
            book.ask(pane, update)


def _alarms(state: QueryState, view: AckView, carriers_of: CarriersOf) -> list[Heard]:
    """A relay is trusted for values, not for presence: a site looks for what it never sent. What it
    finds goes into its state, once for each pane."""
    telling = state.telling
    claims = ranges.normal(
        gap
        for first, last in _claims(state, view)
        for open_first, open_last in state.declined.gaps(first, last)
        for gap in telling.unalarmed(open_first, open_last)
    )
    heard: list[Heard] = []
    for panes in claims:
        first, last = panes
        named = f"pane {first}" if first == last else f"panes {first} to {last}"
        text = (
            f"the root holds an update of {named} that this site never cut; a relay on the way is "
            "wrong or hostile"
        )
        carriers = carriers_of(state.id)
        alarm = Alarm.of(AlarmKind.NEVER_CUT, state.id, telling.ordinal, panes, text, carriers)
        record = telling.raise_alarm(state.record, alarm)
        if record is not state.record:
            state.put(record, News.WORD)
            heard.append(Notice("edge", "alarm", f"{state.id}: {text}"))
    return heard


def _claims(state: QueryState, view: AckView) -> Iterator[Range]:
    """What the root says that it holds of this site, and can't.

    A bit has no incarnation, and may speak of a former cube: its clock may have been ahead of ours.
    So bits are checked beyond the panes that the root may hold from there, when it has told; and
    not at all where a query begins with the earliest record, which a new cube reads again. Of a
    pane that was not drawn here nothing is awaited: it may be called held before it is closed.
    """
    book, record, former_through = state.book, state.record, state.telling.former_through
    for pane, updates in view.updates(is_greeted=state.telling.is_greeted):
        is_above = any(last > book.updates_of(pane) for _, last in updates)
        if pane >= record.done_through and is_above and pane not in book.making:
            yield pane, pane
    may_tell = record.first_pane not in (None, -FOREVER) and not state.is_level
    if may_tell and former_through is not None:
        open_from = max(record.closed_through, former_through)
        bits = (pane for pane in view.panes if _is_unsent(book, pane, open_from))
        yield from ((pane, pane) for pane in bits if state.takes(pane))
        for first, last in view.held:
            for gap in book.filled.gaps(max(first, open_from), last):
                yield from state.taken_of(gap)


def _is_unsent(book: PaneBook, pane: int, open_from: int) -> bool:
    """It is open, and nothing left before its close."""
    return pane >= open_from and not book.updates_of(pane)
