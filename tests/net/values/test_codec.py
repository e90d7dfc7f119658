"""Every message travels and comes back equal; what no peer would say is refused with its reason."""

import math
from functools import reduce
from typing import Any, get_args

import msgspec
import pytest
import zstandard
from fuzz import examples
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.route import Route
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.sets import ranges
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import (
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    RoundsHeld,
    with_leaves,
)
from headwater.algebra.words.alarm import ALARMS_TOLD_MAX, Alarm, AlarmKind
from headwater.algebra.words.as_of import SiteAsOf
from headwater.algebra.words.close_digest import Asked, BlockDigest, Closes
from headwater.algebra.words.degraded import Degraded, Why
from headwater.algebra.words.pause import Pause
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import FOREVER, Declined, Reason, SiteState, Tally, Unread
from headwater.algebra.words.update_proof import UpdateProof
from headwater.net.identity.signing import KeySignatures, MemoryKeys
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.codec import _LAYOUTS, Codec
from headwater.net.values.wire import CertificateTold
from headwater.overlay.messages import (
    AbsenceMessage,
    AckMessage,
    AlterMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    CoordinatesMessage,
    Heartbeat,
    Message,
    Placed,
    StatesMessage,
    SummaryMessage,
)
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Count, Install, Remove
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.tree import Tree

codec = Codec(lambda query: None)

times = st.floats(0, 1e9)
panes = st.integers(-FOREVER, FOREVER)
ordinals = st.integers(0, 2000)
words = st.integers(0, 2**64 - 1)
numbers = st.integers(0, 2**63 - 1)
names = st.text(max_size=40)
pane_ranges = st.lists(st.tuples(panes, panes), max_size=4).map(ranges.normal)
updates = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=3).map(ranges.normal)


@st.composite
def coverages(draw: st.DrawFn) -> Coverage:
    """Each site in one form, as ``Coverage.merge`` makes them."""
    place = draw(st.dictionaries(ordinals, st.integers(0, 4), max_size=12))
    whole = sum(1 << site for site, group in place.items() if group == 0)
    empty = sum(1 << site for site, group in place.items() if group == 1)
    parts = tuple(
        SitePart(
            ordinal=site,
            incarnation=draw(words),
            updates=draw(updates),
            closed_at=draw(st.none() | st.integers(0, 40)),
        )
        for site, group in sorted(place.items())
        if group == 2
    )
    plain = Coverage(whole=whole, empty=empty, tag=draw(words), parts=parts)
    grouped = (
        Coverage.of_group(site, 7, updates=((2, 2 + site % 3),), closed_at=(None, 4)[form - 3])
        for site, form in place.items()
        if form > 2
    )
    return reduce(Coverage.merge, grouped, plain)


routes = st.builds(
    Route, st.integers(0, 15), st.lists(st.integers(0, 99), max_size=4).map(tuple), numbers
)
summaries = st.builds(
    SummaryMessage,
    st.builds(
        Summary,
        query=names,
        pane=panes,
        coverage=coverages(),
        rows=st.none() | st.binary(max_size=300),
        lane=st.sampled_from(Lane),
        age_s=times,
        roster_version=numbers,
        plan_version=numbers,
        route=routes,
        more=st.just(0) | st.integers(0, STATE_PANES_MAX - 1),
    ).filter(lambda summary: summary.last <= FOREVER),
)
alarms = st.builds(
    Alarm.of,
    st.sampled_from(AlarmKind),
    st.just(""),
    st.just(0),
    st.tuples(panes, panes).map(sorted).map(tuple),
    st.text(max_size=400),
    st.lists(names, max_size=20),
)


def _of_its_own(state: SiteState) -> SiteState:
    """A state tells of its own query and site alone."""
    of = {"query": state.query, "ordinal": state.ordinal}
    own = tuple(msgspec.structs.replace(alarm, **of) for alarm in state.alarms)
    return msgspec.structs.replace(state, alarms=own)


states = st.builds(
    SiteState,
    query=names,
    ordinal=ordinals,
    incarnation=words,
    number=numbers,
    first_pane=st.none() | panes,
    status=st.sampled_from(["running", "refused", "suspended"]),
    message=st.text(max_size=200),
    catching_up=st.booleans(),
    ended=st.booleans(),
    sealed_through=panes,
    empty=pane_ranges,
    declined=st.lists(st.builds(Declined, panes, panes, st.sampled_from(Reason)), max_size=3).map(
        tuple
    ),
    damaged=pane_ranges,
    counts=st.lists(st.tuples(panes, numbers), max_size=3).map(tuple),
    tally=st.builds(Tally, *(numbers,) * 6),
    unread=st.sampled_from([Unread(), Unread.of(9, [("a.zip", "can't be expanded")] * 9)]),
    offset_s=st.none() | st.floats(-1e12, 1e12),
    alarms=st.lists(alarms, max_size=ALARMS_TOLD_MAX).map(tuple),
    is_clock_unconfirmed=st.booleans(),
).map(_of_its_own)
heads = st.builds(
    Acknowledgement,
    query=names,
    root_incarnation=words,
    number=numbers,
    done_through=panes,
    held=pane_ranges,
    listed=pane_ranges,
    age_s=times,
    clock_s=st.none() | st.floats(-1e12, 1e12),
    tells_several=st.booleans(),
    unwanted=st.sampled_from([(), ((120, 129),)]),
    largest=st.sampled_from([(), (TopRequest(7, 1 << 40, 2.5, (3, (1 << 32) - 1)),)]),
    travel_s=st.none() | st.integers(0, 1_000).map(lambda parts: parts / 20),
    shares=st.lists(
        st.builds(
            ShareTable,
            number=st.integers(1, 1 << 40),
            first=st.integers(-(1 << 40), 1 << 40),
            last=st.integers(1 << 41, 1 << 42),
            levels=st.sampled_from([(), ((1 << 29, 0b11),), ((9, 0b1), (7, 1 << 600))]),
        ),
        max_size=3,
    ).map(tuple),
)
site_sets = st.sets(ordinals, min_size=1).map(lambda found: sum(1 << n for n in found))
acks = st.builds(
    with_leaves,
    heads,
    panes=st.lists(
        st.builds(PaneHeld, panes, st.sets(ordinals).map(lambda found: sum(1 << n for n in found))),
        max_size=3,
        unique_by=lambda held: held.pane,
    ).map(tuple),
    extra=st.lists(st.builds(ExtraHeld, panes, ordinals, words, updates), max_size=3).map(tuple),
    greetings=st.lists(st.builds(Greeting, ordinals, words, numbers), max_size=3).map(tuple),
    rounds=st.lists(
        st.builds(RoundsHeld, panes, st.integers(1, 9), st.integers(9, 99), site_sets), max_size=3
    ).map(tuple),
)


def a_query(text: str = "SELECT …") -> Query:
    id_ = QueryId("hits", "alpha", 1)
    columns = (Column("at", "timestamp"), Column("domain", "string"))
    source = Source("web", columns, SourceFormat.JSON, "*.json", "at")
    partials = (Partial("p0", "bigint", "sum"),)
    texts, output = (text, source, (columns[1],), partials), (Column("n", "bigint"),)
    program = Program(*texts, "site", "root", "central", ("at",), output, (("zone", "UTC"),))
    return Query(id_, WindowSpec(10, 5), "alpha", program)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Over any ordinals, under any root."""
    members = draw(st.lists(st.integers(0, 300), min_size=1, max_size=12, unique=True))
    above = {member: draw(st.sampled_from(members[:n])) for n, member in enumerate(members) if n}
    return Tree(members[0], tuple(sorted(above.items())))


installs = st.builds(
    Install,
    query=names.map(a_query),
    trees=st.lists(trees(), min_size=1, max_size=3).map(tuple),
    roster_version=numbers,
    age_s=times,
)
removes = st.builds(Remove, st.builds(QueryId, names, names, numbers), names, numbers)
alters = st.builds(
    Alter,
    st.builds(QueryId, names, names, numbers),
    names,
    numbers,
    numbers,
    numbers.map(lambda n: n & 0xFFFF),
    st.builds(
        Settings,
        deadline_s=st.floats(0.0, 1e10),
        revise_every_s=st.floats(0.0, 1e10),
        waits=st.booleans(),
        options=st.lists(st.tuples(names, names), max_size=3).map(tuple),
    ),
)
counts = st.builds(
    Count,
    names,
    numbers,
    numbers,
    st.lists(names, max_size=3).map(tuple),
    st.lists(removes, max_size=2).map(tuple),
    st.lists(st.tuples(names, numbers), max_size=2).map(tuple),
)
moments = st.floats(-1e12, 1e12)
places = st.builds(
    Coordinate,
    *(st.integers(-100_000, 100_000).map(lambda n: n / 10),) * 4,
    st.integers(0, 300).map(lambda n: n / 100),
)
signs = st.lists(
    st.builds(
        RootPulse,
        ordinals,
        st.integers(0, 10**9).map(lambda n: n / 1e3),
        st.none() | moments,
        st.integers(0, 10**9).map(lambda n: n / 1e6),
        st.lists(ordinals, max_size=8).map(tuple),
    ),
    max_size=3,
).map(tuple)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Heartbeat, moments, st.none() | moments, moments, words, signs, st.none() | places),
    summaries,
    st.builds(StatesMessage, st.lists(states, max_size=3).map(tuple), routes, numbers),
    st.lists(st.builds(Placed, ordinals, places), max_size=3).map(
        lambda found: CoordinatesMessage(tuple(found))
    ),
    acks.map(AckMessage),
    st.builds(CommandMessage, installs | removes, st.none() | counts),
    st.builds(AlterMessage, alters, st.none() | counts),
    st.builds(
        AbsenceMessage,
        st.builds(
            Absence,
            query=names,
            speaker=ordinals,
            clock_s=moments,
            lost=st.sets(ordinals, max_size=9).map(lambda found: tuple(sorted(found))),
            guests=st.sets(ordinals, max_size=9).map(lambda found: tuple(sorted(found))),
            age_s=times,
        ),
        routes,
        numbers,
    ),
    st.builds(
        CommandsKnown,
        st.lists(counts, max_size=3).map(tuple),
        st.lists(names, max_size=4).map(tuple),
    ),
    st.lists(names, max_size=4).map(lambda found: AskInstall(tuple(found))),
)


@given(messages)
def test_every_message_comes_back_equal(message: Message) -> None:
    assert codec.decode(codec.encode(message)) == message


def test_every_message_has_a_layout_and_a_number_of_its_own() -> None:
    assert {layout.type for layout in _LAYOUTS} == {*get_args(Message), CertificateTold}
    assert len({layout.number for layout in _LAYOUTS}) == len(_LAYOUTS)


def test_the_fuzzer_has_an_example_of_every_message() -> None:
    knowing = Codec({examples.QUERY: examples.SCHEMA}.get)
    for message in examples.messages():
        assert type(knowing.decode(knowing.encode(message))) is type(message)
    assert {type(message) for message in examples.messages()} == set(get_args(Message))


FULL = [
    Summary(
        query="q@a#1",
        pane=7,
        coverage=Coverage.of_whole(1, 99),
        rows=b"rows",
        lane=Lane.SPARE,
        age_s=2.0,
        roster_version=3,
        plan_version=4,
        route=Route(tree=1, levels=(2,), downs=1),
        more=6,
        proof=UpdateProof(signature=b"s" * 64, key=b"k" * 8, pane=5, more=9, packed=b"rows"),
    ),
    with_leaves(
        Acknowledgement(
            query="q@a#1",
            root_incarnation=8,
            number=3,
            done_through=100,
            held=((101, 110),),
            listed=((101, 111),),
            age_s=1.5,
            sites_clock_s=1.7e9,
            late_s=2.5,
            clock_s=1.6e9,
            agreed=(PaneHeld(128, 5),),
            asked=(Asked(ordinal=3, first=128, last=191),),
            wanted=(PaneHeld(130, 7),),
            awaited_from=105,
            tells_several=True,
            travel_s=1.5,
            unwanted=((115, 119),),
            largest=(TopRequest(116, 2, 7.5, (9,)), TopRequest(117, 2, 0.0)),
            shares=(ShareTable(2, 110, 119, ((1 << 29, 1 << 4),)),),
            pause=Pause(120, 2.0),
            exempt_through=118,
        ),
        panes=(PaneHeld(111, 5), PaneHeld(112, 1 << 300)),
        rounds=(RoundsHeld(pane=113, first=2, last=4, sites=6 | 1 << 300),),
        extra=(ExtraHeld(pane=111, ordinal=3, incarnation=77, updates=((2, 3),)),),
        greetings=(
            Greeting(ordinal=2, incarnation=9, number=4, former_through=105, former_clock_s=1.7e9),
            Greeting(ordinal=300, incarnation=9, number=4),
        ),
    ),
    SiteState(
        query="q@a#1",
        ordinal=3,
        incarnation=9,
        number=4,
        first_pane=5,
        status="suspended",
        message="why",
        catching_up=True,
        ended=True,
        sealed_through=6,
        empty=((7, 8),),
        declined=(Declined(first=9, last=10, reason=Reason.SHED),),
        damaged=((11, 12),),
        counts=((13, 2),),
        tally=Tally(
            unparsed=1, too_late=2, fenced=3, lost_bytes=4, before_begin=5, refused=6, twice_bytes=7
        ),
        offset_s=1.5,
        root_incarnation=8,
        unread=Unread.of(1, [("a.zip", "why")]),
        alarms=(Alarm.of(AlarmKind.DISPUTED, "q@a#1", 3, (14, 15), "why", ["hub"]),),
        is_clock_unconfirmed=True,
        digests=(
            BlockDigest(first=100, last=127, digest=b"d" * 16),
            BlockDigest(first=128, last=FOREVER - 1, digest=b"e" * 16),
        ),
        closes=(Closes(first=128, last=140, asked=77, closes=((128, 1), (131, 3))),),
        remarks=(Remark("no file", "no file matches 'a'"),),
        settings=((1, 20), (2, 24)),
        flush_level=5,
        deferred=((16, 19),),
        degraded=(Degraded(30, 2, Why.CAPACITY),),
        as_of=SiteAsOf("pages@hub#1", 10, 1, 2, 3, 20, 4),
        paused_from=31,
    ),
    Heartbeat(
        sent_s=1.5,
        echo_s=1.0,
        echo_held_s=0.25,
        digest=7,
        roots=(
            RootPulse(root=1, age_s=2.0, clock_s=3.0, spread_s=0.5, via=(4, 2), carries=2048.0),
        ),
        coordinate=Coordinate(x=1.0, y=2.0, z=3.0, height=4.0, error=0.5),
        needs_link=False,
        next_s=4.5,
        marker=3,
        marker_held_s=0.5,
    ),
]


@pytest.mark.parametrize("full", FULL, ids=lambda one: type(one).__name__)
def test_no_field_is_forgotten_on_the_wire(full) -> None:
    """Every field has a value that is not its default, so leaving one out shows."""
    if isinstance(full, Acknowledgement | SiteState):
        full = _signed(full)
    for field in msgspec.structs.fields(full):
        assert field.required or getattr(full, field.name) != field.default, field.name
    wraps = {
        Summary: SummaryMessage,
        Acknowledgement: AckMessage,
        SiteState: lambda one: StatesMessage((one,)),
    }
    wrap = wraps.get(type(full), lambda one: one)
    assert codec.decode(codec.encode(wrap(full))) == wrap(full)


def _signed(said: Acknowledgement | SiteState) -> Acknowledgement | SiteState:
    keys = MemoryKeys()
    own = keys.make("a")
    signatures = KeySignatures("f", own=lambda: own, others=keys, pack=lambda _, rows: rows)
    if isinstance(said, SiteState):
        return signatures.sign_state(said)
    return signatures.sign_ack(said)


def test_ages_grow_by_what_the_transport_knows_of_the_way() -> None:
    summary = Summary(query="q@a#1", pane=1, coverage=Coverage.of_empty(1, 2), age_s=1.5)
    came = codec.decode(codec.encode(SummaryMessage(summary)), delay_s=2.0)
    assert isinstance(came, SummaryMessage)
    assert came.summary.age_s == 3.5


def test_a_field_that_a_newer_version_appends_is_skipped() -> None:
    data = codec.encode(Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7))
    values = [*msgspec.msgpack.decode(data[1:]), {"later": [1, 2]}]
    assert codec.decode(data[:1] + msgspec.msgpack.encode(values)) == Heartbeat(
        sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7
    )


def test_a_field_that_a_newer_version_adds_to_a_command_is_skipped() -> None:
    message = CommandMessage(Remove(id=QueryId("hits", "alpha", 1), installer="alpha", counter=2))
    data = codec.encode(message)
    (tag, (word, *signed)), count = msgspec.msgpack.decode(data[1:])
    longer = msgspec.msgpack.encode([*msgspec.msgpack.decode(word), "because of this"])
    values = [[tag, [longer, *signed], "more"], count, "and more"]
    assert codec.decode(data[:1] + msgspec.msgpack.encode(values)) == message


def test_a_message_that_only_a_newer_version_knows_is_named_as_such() -> None:
    with pytest.raises(Refused) as refused:
        codec.decode(b"\x63whatever")
    assert refused.value.reason is Refusal.UNKNOWN_MESSAGE


def test_a_kind_of_alarm_that_only_a_newer_version_knows_is_heard_all_the_same() -> None:
    alarm = Alarm.of(AlarmKind.DISPUTED, "q@a#1", 1, (7, 7), "why")
    data = codec.encode(
        StatesMessage(
            (
                SiteState(
                    query="q@a#1", ordinal=1, incarnation=2, number=3, first_pane=0, alarms=(alarm,)
                ),
            )
        )
    )
    came = codec.decode(data.replace(b"disputed", b"dissolve"))
    assert isinstance(came, StatesMessage)
    assert came.states[0].alarms == (msgspec.structs.replace(alarm, kind=AlarmKind.UNNAMED),)


def test_an_alarm_about_panes_in_the_wrong_order_is_refused() -> None:
    alarm = Alarm(kind=AlarmKind.DISPUTED, query="q@a#1", ordinal=1, first=8, last=7, text="why")
    with pytest.raises(Refused, match="alarm: panes 8 to 7"):
        codec.decode(
            codec.encode(
                StatesMessage(
                    (
                        SiteState(
                            query="q@a#1",
                            ordinal=1,
                            incarnation=2,
                            number=3,
                            first_pane=0,
                            alarms=(alarm,),
                        ),
                    )
                )
            )
        )


def test_a_reason_that_only_a_newer_version_knows_is_shown_as_failed() -> None:
    state = SiteState(
        query="q@a#1",
        ordinal=1,
        incarnation=2,
        number=3,
        first_pane=0,
        declined=(Declined(first=1, last=2, reason=Reason.SHED),),
    )
    data = codec.encode(StatesMessage((state,)))
    newer = data.replace(b"shed", b"melt")
    came = codec.decode(newer)
    assert isinstance(came, StatesMessage)
    assert came.states[0].declined == (Declined(first=1, last=2, reason=Reason.FAILED),)


def test_a_long_control_message_is_compressed_and_comes_back_equal() -> None:
    known = CommandsKnown((), tuple(f"hits_{n}@alpha#{n}" for n in range(1000)))
    data = codec.encode(known)
    assert len(data) < len(msgspec.msgpack.encode(known)) / 3
    assert codec.decode(data) == known


def test_one_pane_looks_on_the_wire_as_it_did_before_there_were_states() -> None:
    """An agent of the version before reads it, and what such an agent sends is read here."""
    summary = Summary(query="q@a#1", pane=7, coverage=Coverage.of_whole(1, 99), age_s=2.0)
    data = codec.encode(SummaryMessage(summary))
    values = msgspec.msgpack.decode(data[1:])
    assert len(values) == 9
    assert codec.decode(data) == SummaryMessage(summary)
    several = msgspec.structs.replace(summary, more=3)
    longer = msgspec.msgpack.decode(codec.encode(SummaryMessage(several))[1:])
    assert longer == [*values, 3]


def test_a_query_of_records_does_not_name_states_on_the_wire() -> None:
    old = codec.encode(
        CommandMessage(Install(query=a_query(), trees=(Tree(0, ((1, 0),)),), roster_version=1))
    )
    assert b"last_n" not in zstandard.decompress(old[1:])
    query = msgspec.structs.replace(a_query(), window=WindowSpec(5, 5), begin_pane=3, last_n=4)
    message = CommandMessage(Install(query=query, trees=(Tree(0, ((1, 0),)),), roster_version=1))
    assert codec.decode(codec.encode(message)) == message


def _refusal(data: bytes) -> Refusal:
    with pytest.raises(Refused) as refused:
        codec.decode(data)
    return refused.value.reason


def _summary(**changes: Any) -> bytes:
    """A summary on the wire with one of its parts replaced by something no encoder makes."""
    fields = {"pane": 1, "coverage": [b"\x01", b"", 7, []], "age_s": 0.0, "lane": "live"} | changes
    head = ["q@a#1", fields["pane"], fields["coverage"], None, fields["lane"], fields["age_s"]]
    return b"\x02" + msgspec.msgpack.encode([*head, 0, 0, *fields.get("end", [])])


GOOD_GROUP = [[[1, 2]], 3, b"\x02", 9]
BAD_GROUPS = [
    [],
    [GOOD_GROUP, GOOD_GROUP],
    [GOOD_GROUP, [[[1, 1]], 3, b"\x04", 9]],
    [GOOD_GROUP, [[[1, 3]], 3, b"\x06", 9]],
    [[[[1, 2]], 3, b"\x01", 9]],
    [[[[1, 2]], 3, b"", 9]],
    [[[[1, 1]], 1, b"\x02", 9]],
    [[[], 0, b"\x02", 9]],
    [[[[0, 2]], 3, b"\x02", 9]],
    [[[[1, 4]], 3, b"\x02", 9]],
    [[[[2, 1]], 3, b"\x02", 9]],
    [[[[1, 1], [2, 2]], 3, b"\x02", 9]],
    [[[[1, 2]], -1, b"\x02", 9]],
    [[[[1, 2]], 3, bytes(20_000), 9]],
    [[[[2 * n, 2 * n] for n in range(1, 66)], 999, b"\x02", 9]],
    [[[[1, n]], 99, bytes([0] * n) + b"\x02", 9] for n in range(1, 38)],
]
"""Beside a bitmap with site 0."""


def test_the_made_up_summary_is_good_before_it_is_broken() -> None:
    assert isinstance(codec.decode(_summary()), SummaryMessage)
    grouped = codec.decode(_summary(coverage=[[b"\x01", [GOOD_GROUP]], b"", 7, []]))
    assert isinstance(grouped, SummaryMessage)
    assert grouped.summary.coverage.sites == 0b11
    longest = codec.decode(_summary(end=[[0, [], 0], STATE_PANES_MAX - 1]))
    assert isinstance(longest, SummaryMessage)
    assert longest.summary.more == STATE_PANES_MAX - 1


@pytest.mark.parametrize(
    "changes",
    [
        {"coverage": [b"", b"", 7, [[1 << 60, 1, [[1, 1]], None]]]},
        {"coverage": [bytes(20_000), b"", 7, []]},
        {"coverage": [b"\x01", b"\x01", 7, []]},
        {"coverage": [b"\x01", b"", 7, [[0, 1, [[1, 1]], None]]]},
        {"coverage": [b"", b"", 7, [[2, 1, [], None], [1, 1, [], None]]]},
        {"coverage": [b"", b"", 7, [[1, 1, [[5, 1]], None]]]},
        {"coverage": [b"", b"", 7, [[1, 1, [[1, 2], [3, 4]], None]]]},
        *({"coverage": [[b"\x01", groups], b"", 7, []]} for groups in BAD_GROUPS),
        {"coverage": [[b"", [GOOD_GROUP]], b"\x02", 7, []]},
        {"coverage": [[b"", [GOOD_GROUP]], b"", 7, [[1, 1, [[1, 1]], None]]]},
        {"end": [[0, [], 0], 1 << 60]},
        {"end": [[0, [], 0], STATE_PANES_MAX]},
        {"end": [[0, [], 0], -1]},
        {"pane": FOREVER, "end": [[0, [], 0], 1]},
        {"age_s": math.nan},
        {"age_s": -1.0},
        {"age_s": math.inf},
        {"pane": 1 << 63},
        {"lane": "express"},
    ],
    ids=str,
)
def test_a_summary_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    assert _refusal(_summary(**changes)) is Refusal.MALFORMED


def test_a_tree_in_which_a_member_does_not_reach_the_root_is_refused() -> None:
    data = codec.encode(
        CommandMessage(Install(query=a_query(), trees=(Tree(0, ((1, 0),)),), roster_version=1))
    )
    body = zstandard.ZstdDecompressor().decompress(data[1:])
    value = msgspec.msgpack.decode(body)
    plan = msgspec.msgpack.decode(value[0][2][0])
    plan[2][0] = [0, [-1, 2, 1]]
    value[0][2][0] = msgspec.msgpack.encode(plan)
    assert _refusal(b"\x05" + msgspec.msgpack.encode(value)) is Refusal.MALFORMED


def test_a_query_with_the_trees_of_another_is_refused() -> None:
    data = codec.encode(
        CommandMessage(Install(query=a_query(), trees=(Tree(0, ((1, 0),)),), roster_version=1))
    )
    value = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[1:]))
    plan = msgspec.msgpack.decode(value[0][2][0])
    value[0][2][0] = msgspec.msgpack.encode(["other@alpha#9", *plan[1:]])
    assert _refusal(b"\x05" + msgspec.msgpack.encode(value)) is Refusal.MALFORMED


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Refusal.MALFORMED),
        (b"\x01", Refusal.MALFORMED),
        (b"\x01" + b"\x91" * 200_000, Refusal.MALFORMED),
        (b"\x07\x91\xdd\xff\xff\xff\xff", Refusal.MALFORMED),
        (b"\x86not zstd", Refusal.COMPRESSION),
        (b"\x86" + zstandard.compress(bytes(1 << 28)), Refusal.BOMB),
        (b"\x86" + zstandard.compress(b"x" * 1000)[:-3], Refusal.COMPRESSION),
    ],
    ids=["empty", "short", "deep", "length bomb", "not zstd", "zstd bomb", "cut short"],
)
def test_garbage_is_refused_with_its_reason(data: bytes, reason: Refusal) -> None:
    assert _refusal(data) is reason
