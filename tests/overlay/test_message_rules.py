"""A message that breaks the rules is dropped with a notice, and never raises."""

import msgspec
import pyarrow as pa
import pytest
from pane_kit import make_query

from headwater.algebra.coverage import (
    COVERAGE_GROUPS_MAX,
    EARLY_UPDATES_MAX,
    Coverage,
    Group,
    SitePart,
)
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Tolerance, ToleratedColumn
from headwater.algebra.route import NEVER, Route, problem_with_route
from headwater.algebra.rows.columns import Partial
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.windows.sessions import Sessions
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.overlay.commands.live_query import LiveQuery, ThinnedBy
from headwater.overlay.message_rules import problem_with_alter, problem_with_summary
from headwater.overlay.messages import (
    AckMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    Heartbeat,
    StatesMessage,
    SummaryMessage,
)
from headwater.overlay.outputs import Delivered, Transmit
from headwater.overlay.roster_index import RosterIndex
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook
from headwater.plan.command import Alter, Count, Install, Remove
from headwater.plan.query import QueryId
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree

TREE = """
root
  a
    c
    d
  b
"""


@pytest.fixture
def world(overlay):
    world = overlay.World(TREE)
    world.query = world.install(sites=("root", "a", "b", "c"))
    world.run(1.0)
    return world


def is_refused(world, sender, to, message, kind="refused"):
    """True where the message leaves nothing but a notice."""
    world.run(2.0)
    world.outputs[to].clear()
    before = world.peers[to].counts().get(kind, 0)
    world.hand(sender, to, message)
    sent = [t for t in world.of(to, Transmit) if not isinstance(t.message, Heartbeat)]
    return world.peers[to].counts().get(kind, 0) == before + 1 and not sent


BAD_COVERAGE = {
    "a site outside the node set": Coverage(whole=1 << 3),
    "a bitmap beyond the roster": Coverage(whole=1 << 70),
    "an ordinal far beyond the roster": Coverage.of_part(10**12, 1, updates=(), closed_at=None),
    "an ordinal below zero": Coverage(
        parts=(SitePart(ordinal=-1, incarnation=1, updates=(), closed_at=None),)
    ),
    "a bitmap below zero": Coverage(whole=-1),
    "no site at all": Coverage(),
    "one site in both bitmaps": Coverage(whole=1 << 2, empty=1 << 2),
    "one site in two groups": Coverage(
        groups=(Group(((1, 1),), None, 1 << 2, 7), Group(((1, 1),), 2, 1 << 2, 7))
    ),
    "one site in a bitmap and a group": Coverage(
        whole=1 << 2, groups=(Group(((1, 1),), None, 1 << 2, 7),)
    ),
    "a group beyond the roster": Coverage(groups=(Group(((1, 1),), None, 1 << 70, 7),)),
    "a group below zero": Coverage(whole=1 << 2, groups=(Group(((1, 1),), None, -8, 7),)),
    "a group of nobody": Coverage(whole=1 << 2, groups=(Group(((1, 1),), None, 0, 7),)),
    "more updates than the close of a group": Coverage(groups=(Group(((1, 3),), 2, 1 << 2, 7),)),
    "more early updates than there are rounds": Coverage(
        groups=(Group(((1, EARLY_UPDATES_MAX + 1),), None, 1 << 2, 7),)
    ),
    "more groups than there may be": Coverage(
        groups=tuple(
            Group(((1, n + 1),), None, 1 << 2 if n == 0 else 0, 7)
            for n in range(COVERAGE_GROUPS_MAX + 1)
        )
    ),
    "one site twice in parts": Coverage(
        parts=(
            SitePart(ordinal=2, incarnation=1, updates=(), closed_at=0),
            SitePart(ordinal=2, incarnation=2, updates=(), closed_at=0),
        )
    ),
}


@pytest.mark.parametrize("coverage", BAD_COVERAGE.values(), ids=BAD_COVERAGE.keys())
@pytest.mark.parametrize("to", ["a", "root"])
def test_a_summary_with_a_coverage_that_cannot_be_is_refused(world, coverage, to):
    summary = Summary(query=world.query, pane=5, coverage=coverage, rows=(1,))
    sender = "c" if to == "a" else "b"
    assert is_refused(world, sender, to, SummaryMessage(summary))
    assert world.of("root", Delivered) == []


@pytest.mark.parametrize("age_s", [-1.0, float("nan"), float("inf")])
def test_a_summary_with_an_age_that_cannot_be_is_refused(world, age_s):
    summary = Summary(
        query=world.query, pane=5, coverage=Coverage.of_whole(2, 1), rows=(1,), age_s=age_s
    )
    assert is_refused(world, "c", "a", SummaryMessage(summary))


def test_a_spare_of_two_sites_is_refused(world):
    summary = Summary(
        query=world.query, pane=5, coverage=Coverage(whole=0b110), rows=(1,), lane=Lane.SPARE
    )
    assert is_refused(world, "c", "a", SummaryMessage(summary))


def test_a_stranger_is_not_heard(world):
    summary = Summary(query=world.query, pane=5, coverage=Coverage.of_whole(2, 1), rows=(1,))
    assert is_refused(world, "mallory", "a", SummaryMessage(summary), kind="stranger")
    world.peers["a"].link_up("mallory", now_s=world.now_s)
    world.peers["a"].link_down("mallory", unsent=[], now_s=world.now_s)
    assert "mallory" not in world.peers["a"].describe()


def test_a_state_is_of_a_site_of_the_node_set(world):
    def state(ordinal):
        return StatesMessage(
            (SiteState(query=world.query, ordinal=ordinal, incarnation=7, number=1, first_pane=0),)
        )

    ordinal = world.ordinal
    assert is_refused(world, "c", "a", state(-1))
    assert is_refused(world, "c", "a", state(10**12))
    world.hand("a", "root", state(ordinal["c"]))
    assert [s.ordinal for s in world.states()] == [ordinal["c"]]


def test_a_state_on_a_way_that_no_tree_has_is_refused(world):
    state = SiteState(
        query=world.query, ordinal=world.ordinal["c"], incarnation=7, number=1, first_pane=0
    )
    for route in (Route(downs=NEVER + 1), Route(downs=-1), Route(0, (NEVER + 1,)), Route(99)):
        assert is_refused(world, "c", "a", StatesMessage((state,), route))


def test_how_often_a_state_went_astray_is_not_counted_without_end(world):
    """A count that rises with every hop must not leave what can be written."""
    state = SiteState(
        query=world.query, ordinal=world.ordinal["c"], incarnation=7, number=1, first_pane=0
    )
    world.outputs["a"].clear()
    world.hand("c", "a", StatesMessage((state,), Route(downs=NEVER), plan_version=9))
    world.run(2.0)
    sent = [one.message for one in world.of("a", Transmit)]
    routes = [one.route for one in sent if isinstance(one, StatesMessage)]
    assert routes
    assert all(problem_with_route(route) is None for route in routes)


def test_a_state_of_an_unknown_query_goes_nowhere(world):
    message = StatesMessage(
        (SiteState(query="x@root#9", ordinal=2, incarnation=7, number=1, first_pane=0),)
    )
    assert is_refused(world, "c", "a", message, kind="no-way")


def test_an_acknowledgement_comes_from_who_carries_our_summaries(world):
    message = AckMessage(
        Acknowledgement(query=world.query, root_incarnation=1, number=1, done_through=10**6)
    )
    assert is_refused(world, "c", "a", message)
    assert is_refused(world, "b", "root", message)
    assert world.acks("a") == []


def test_only_the_root_gives_acknowledgements(world):
    world.peers["a"].acknowledge(
        Acknowledgement(query=world.query, root_incarnation=1, number=1, done_through=0),
        now_s=world.now_s,
    )
    world.collect("a")
    assert world.acks("a") == []
    assert "refused" in world.notices("a")


def bad_commands(world, a_query):
    good = a_query("p", installer="root", root="root", counter=2)
    replace = msgspec.structs.replace
    tree = world.tree
    return {
        "an installer from elsewhere": Install(
            query=replace(good, id=QueryId("p", "mallory", 1)), trees=(tree,), roster_version=1
        ),
        "a counter of zero": Install(
            query=replace(good, id=QueryId("p", "root", 0)), trees=(tree,), roster_version=1
        ),
        "a name that is no name": Install(
            query=replace(good, id=QueryId("p q", "root", 2)), trees=(tree,), roster_version=1
        ),
        "no tree": Install(query=good, trees=(), roster_version=1),
        "a root from elsewhere": Install(
            query=replace(good, root="mallory"), trees=(tree,), roster_version=1
        ),
        "a tree with another root": Install(query=good, trees=(Tree(1, ()),), roster_version=1),
        "a tree beyond the roster": Install(
            query=good, trees=(Tree(0, ((99, 0),)),), roster_version=1
        ),
        "a remover from elsewhere": Remove(
            id=QueryId.parse(world.query), installer="mallory", counter=1
        ),
        "a removal numbered below zero": Remove(
            id=QueryId.parse(world.query), installer="b", counter=-1
        ),
    }


def test_commands_that_cannot_be_are_refused(world, overlay):
    for what, command in bad_commands(world, overlay.a_query).items():
        assert is_refused(world, "root", "a", CommandMessage(command)), what
    assert world.live("a") == {world.query}


def test_knowledge_that_cannot_be_is_refused(world):
    for known in (
        CommandsKnown((Count(installer="mallory", number=3, revision=1),), ()),
        CommandsKnown((Count(installer="root", number=-3, revision=9),), ()),
        CommandsKnown((Count(installer="root", number=1 << 52, revision=9),), ()),
        CommandsKnown((Count(installer="root", number=9, revision=1 << 52),), ()),
        CommandsKnown((Count(installer="root", number=9, revision=9, live=("no id",)),), ()),
        CommandsKnown((Count(installer="root", number=9, revision=9, live=("q@b#1",)),), ()),
        CommandsKnown(
            (
                Count(
                    installer="root",
                    number=9,
                    revision=9,
                    live=tuple(f"q@root#{n}" for n in range(1, 2_000)),
                ),
            ),
            (),
        ),
        CommandsKnown(
            (
                Count(
                    installer="root",
                    number=9,
                    revision=9,
                    live=(),
                    ended=(Remove(id=QueryId("q", "b", 1), installer="mallory", counter=1),),
                ),
            ),
            (),
        ),
        CommandsKnown(
            tuple(Count(installer="root", number=n, revision=n) for n in range(2, 10)), ()
        ),
        CommandsKnown((), ("no id",)),
        CommandsKnown((), ("q@root#01",)),
        CommandsKnown((), tuple(f"q@root#{n}" for n in range(1, 2_000))),
    ):
        assert is_refused(world, "root", "a", known)
    assert world.live("a") == {world.query}


def test_asking_for_what_is_not_there_is_answered_with_nothing(world):
    world.outputs["a"].clear()
    world.hand("c", "a", AskInstall(("no id", "x@root#9")))
    assert world.of("a", Transmit) == []


def test_a_heartbeat_with_mad_times_is_refused(world):
    assert is_refused(
        world, "c", "a", Heartbeat(sent_s=float("nan"), echo_s=None, echo_held_s=0.0, digest=0)
    )
    assert is_refused(
        world, "c", "a", Heartbeat(sent_s=0.0, echo_s=0.0, echo_held_s=-1e9, digest=0)
    )


def test_a_flood_of_bad_messages_is_not_a_flood_of_notices(world):
    bad = SummaryMessage(Summary(query=world.query, pane=5, coverage=Coverage(), rows=(1,)))
    world.outputs["a"].clear()
    for _ in range(1_000):
        world.hand("c", "a", bad)
    world.run(2.0)
    world.hand("c", "a", bad)
    texts = [n.text for n in world.outputs["a"] if type(n).__name__ == "Notice"]
    assert len(texts) == 2
    assert texts[1].endswith("(1000 of this kind)")
    assert world.peers["a"].counts()["refused"] == 1_001


def test_a_local_command_of_another_site_or_with_a_used_number_is_refused(world):
    for at, counter in (("a", None), ("root", 1)):
        world.outputs[at].clear()
        installer = "root" if at == "a" else at
        command = Remove(id=QueryId.parse(world.query), installer=installer, counter=counter or 2)
        world.peers[at].command(command, now_s=world.now_s)
        world.collect(at)
        assert world.notices(at) == ["refused"]
    assert world.live("root") == {world.query}


def test_no_more_than_the_allowed_queries_are_installed(overlay):
    config = overlay.OverlayConfig(queries_max=2)
    world = overlay.World("root\n  a", config=config)
    for name in ("p", "q", "r"):
        world.install(name)
    assert len(world.live("root")) == 2
    assert "refused" in world.notices("root")


def held_names(peer) -> set[str]:
    """All names under which a peer keeps something of summaries."""
    times = peer._carrier.list._times
    return {*peer._acks._bringers._found, *peer._router._carriers, *times._net_dists}


def test_nothing_is_kept_under_names_that_nobody_knows(world):
    """Any member may make up names without end; only those of queries that are here count."""
    before = held_names(world.peers["a"])
    for number in range(300):
        summary = Summary(
            query=f"made_up@root#{1000 + number}",
            pane=7,
            coverage=Coverage.of_whole(2, 5),
            rows=b"rows",
        )
        world.hand("c", "a", SummaryMessage(summary))
        bad = msgspec.structs.replace(summary, coverage=Coverage())
        world.hand("c", "a", SummaryMessage(bad))
    world.run(1.0)
    assert held_names(world.peers["a"]) == before


def test_fragments_of_sessions_that_lie_beyond_their_pane_are_refused():
    roster = RosterIndex(Roster(1, tuple(Site(n, f"s{n}") for n in range(3)), home="s0"))
    live = LiveQuery(
        id="q@s0#1", root="s0", is_root=True, tree_sets=(), node_set=0b111, merger=None
    )
    times = pa.array([1 << 40]).cast(pa.timestamp("us", tz="UTC"))
    rows = pa.table({"first": times, "last": times})
    summary = Summary(live.id, 5, Coverage(whole=0b110), rows)
    assert problem_with_summary(summary, live, roster) is None
    asked = msgspec.structs.replace(live, sessions=Sessions(10, 40, "first", "last"))
    assert "beyond its pane" in str(problem_with_summary(summary, asked, roster))


def test_relays_leave_nothing_out_of_what_one_site_has_signed():
    roster = RosterIndex(Roster(1, tuple(Site(n, f"s{n}") for n in range(3)), home="s0"))
    tolerance = Tolerance((ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.1),), relays=0.5)
    thinned_by = ThinnedBy(SettingsBook(Settings(tolerance=tolerance)), ("k",), 5.0)
    live = LiveQuery(
        id="q@s0#1",
        root="s0",
        is_root=True,
        tree_sets=(),
        node_set=0b111,
        merger=None,
        thinned_by=thinned_by,
    )
    told = (Remainder(largest=1.0, total=1.0, keys=1, of=3.0),)
    several = Summary(live.id, 5, Coverage(whole=0b110, thinned=told), (1,))
    assert problem_with_summary(several, live, roster) is None
    alone = msgspec.structs.replace(several, coverage=Coverage(whole=0b100, thinned=told))
    assert "one site in it" in str(problem_with_summary(alone, live, roster))


@pytest.mark.parametrize("share", [0.25, 0.75, None])
def test_settings_that_leave_relays_another_part_than_at_the_install_are_refused(share):
    """Relays and the root go by one part, whatever they have heard of."""
    roster = RosterIndex(Roster(1, (Site(0, "s0"),), home="s0"))
    tolerance = Tolerance((ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.1),), relays=0.5)
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    query = msgspec.structs.replace(query, program=program, tolerance=tolerance)
    install = Install(query, (), roster_version=1)

    def problem(relays):
        altered = msgspec.structs.replace(tolerance, relays=relays)
        settings = msgspec.structs.replace(Settings.of(query), tolerance=altered)
        alter = Alter(
            id=query.id, installer="s0", counter=2, number=1, first_pane=9, settings=settings
        )
        return problem_with_alter(alter, install, roster)

    assert problem(0.5) is None
    assert "left to relays" in str(problem(msgspec.UNSET if share is None else share))


@pytest.mark.parametrize("to", ["a", "root"])
def test_groups_left_out_where_no_relay_may_are_refused(world, to):
    """Of one site, and of a query that leaves relays nothing."""
    told = (Remainder(largest=1.0, total=1.0, keys=1, of=3.0),)
    sender = "c" if to == "a" else "b"
    for whole in (1 << 2, 1 << 2 | 1 << 3):
        coverage = Coverage(whole=whole, thinned=told)
        summary = Summary(query=world.query, pane=5, coverage=coverage, rows=(1,))
        assert is_refused(world, sender, to, SummaryMessage(summary))
    assert world.of("root", Delivered) == []
