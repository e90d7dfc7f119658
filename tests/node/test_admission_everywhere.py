"""Whoever runs a text admits it, and a query that can't be admitted stops nobody but itself.

A root, a relay and a site are given queries that a compiler never wrote, over the wire's own
values and again from the disk at a start.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import query_kit
from pane_kit import make_roster

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.query_book import QueryBook
from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.columns import Column
from headwater.errors import HeadwaterError
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.messages import AskInstall, CommandMessage, CommandsKnown
from headwater.plan.command import Count, Install
from headwater.plan.notice import Notice
from headwater.plan.query import Query, Timing
from headwater.plan.tree import Tree
from headwater.root.outputs import RootKept
from headwater.sql.compile import compile_statements

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, ms BIGINT)
WITH (format = 'csv', path = 'access.log', time = 'ts');
CREATE STREAM slow AS
SELECT domain, max(ms) AS worst, count(*) AS n FROM hits WHERE ms > 0
GROUP BY window(ts, '5 seconds'), domain;
"""


def count_of(number: int, *live: Query) -> Count:
    return Count(
        installer="s2", number=number, revision=number, live=tuple(str(query.id) for query in live)
    )


TREE = Tree(0, ((1, 0), (2, 1)))
ROSTER = make_roster(3)
GOOD = compile_statements(TEXT, root="s0", installer="s2", next_counter=1, now_us=10**15)[0]


OTHER = msgspec.structs.replace(GOOD, id=msgspec.structs.replace(GOOD.id, name="other", counter=2))


def changed(query: Query = GOOD, **changes: Any) -> Query:
    return query_kit.changed(query, **changes)


def rewritten(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def evil() -> dict[str, Query]:
    source = GOOD.program.source
    many = ", ".join(["ms"] + ["1"] * 3)
    return {
        "a shell at the root": changed(
            root_sql="SELECT TRANSFORM(domain) USING 'sh' AS (x STRING) FROM panes"
        ),
        "a call of Java at the root": changed(
            root_sql=rewritten(
                GOOD.program.root_sql, "count_2", "REFLECT('java.lang.System', 'exit')"
            )
        ),
        "settings of its own": changed(settings=(("spark.sql.extensions", "evil.Extension"),)),
        "an unknown type": changed(keys=(Column("domain", "cheese"),)),
        "an unknown type of the source": changed(
            source=msgspec.structs.replace(source, columns=(Column("ts", "cheese"),))
        ),
        "a number of 4,400 digits": changed(
            site_sql=rewritten(GOOD.program.site_sql, "ms > 0", f"ms > {'9' * 4400}")
        ),
        "a number of 4,400 digits in an option": changed(
            source=msgspec.structs.replace(source, options=(("future_tolerance", "9" * 900),))
        ),
        "an enormous window": changed(window=WindowSpec(1 << 62, 1)),
        "a window of ages": changed(window=WindowSpec(1 << 62, 1 << 62)),
        "a begin before all time": changed(begin_pane=-(1 << 62)),
        "a begin after all time": changed(begin_pane=1 << 62),
        "a deadline for ever": changed(timing=Timing(deadline_s=1e300)),
        "a deadline that is no number": changed(timing=Timing(deadline_s=float("nan"))),
        "a unit without an end": changed(unit_last=1 << 52),
        "deep nesting": changed(
            site_sql=rewritten(GOOD.program.site_sql, "ms > 0", "ms" + " + 1" * 5000 + " > 0")
        ),
        "a tower of doubling work": changed(
            site_sql=rewritten(GOOD.program.site_sql, "ms > 0", "ms" + " + 1" * 60 + " > 0")
        ),
        "an empty root part": changed(root_sql=""),
        "a lone surrogate": changed(text="\ud800", root_sql="\ud800"),
        f"a name that nobody knows {many}": changed(root_sql=f"SELECT {'x' * 100_000}(1)"),
    }


EVIL = evil()
SOUND = {"a tower of doubling work"}
"""What is strange and still means something: it is admitted or not, in a moment."""


def node_at(site: str) -> Node:
    book = QueryBook()
    return Node(
        site=site,
        roster=ROSTER,
        trees=(TREE,),
        config=NodeConfig(),
        merger_of=book.merger_of,
        incarnation=1000,
        admit=admit_with(PolicyConfig(), SourcesConfig(data="/srv")),
    )


def install(query: Query) -> Install:
    return Install(query, (TREE,), roster_version=ROSTER.version)


def drive(node: Node) -> list[do.Effect]:
    found = node.take()
    for second in range(20, 24):
        node.tick(now_s=float(second))
        found += node.take()
    return found


def received(site: str, query: Query) -> tuple[Node, list[do.Effect]]:
    node = node_at(site)
    node.restore(commands=[], counts=[], now_s=10.0)
    sender = "s1" if site == "s0" else "s0"
    node.link_up(sender, now_s=10.0)
    node.receive(sender, CommandMessage(install(query)), now_s=11.0)
    return node, drive(node)


def restored(site: str, query: Query) -> tuple[Node, list[do.Effect]]:
    node = node_at(site)
    node.restore(commands=[install(query)], counts=[count_of(1, GOOD)], now_s=10.0)
    return node, drive(node)


def words(effects: list[do.Effect], kind: str) -> list[str]:
    return [one.text for one in effects if isinstance(one, Notice) and one.kind == kind]


@pytest.mark.parametrize("way", [received, restored])
def test_a_sound_query_is_answered_carried_and_read(way) -> None:
    root, effects = way("s0", GOOD)
    assert root.root(str(GOOD.id)) is not None
    assert not words(effects, "refused")
    _, effects = way("s1", GOOD)
    assert not words(effects, "no-merger")
    assert any(isinstance(one, do.Installed) for one in effects)


@pytest.mark.parametrize("way", [received, restored])
@pytest.mark.parametrize("what", [key for key in EVIL if key not in SOUND])
def test_a_root_answers_nothing_that_it_would_not_admit_at_its_site(what: str, way) -> None:
    node, effects = way("s0", EVIL[what])
    assert node.root(str(GOOD.id)) is None
    assert not any(isinstance(one, do.AnswersBegun | do.Installed) for one in effects)
    assert words(effects, "refused")


@pytest.mark.parametrize("way", [received, restored])
@pytest.mark.parametrize("what", [key for key in EVIL if key not in SOUND])
def test_a_relay_merges_and_reads_nothing_of_a_query_that_is_not_admitted(what: str, way) -> None:
    _, effects = way("s1", EVIL[what])
    assert words(effects, "no-merger")
    assert words(effects, "refused"), "its own site declines with the reason"
    assert not any(isinstance(one, do.Installed) for one in effects)


@pytest.mark.parametrize("what", EVIL)
def test_an_agent_starts_with_all_it_can_start_with(what: str) -> None:
    """A bad query beside a good one, from the disk."""
    node = node_at("s0")
    both = [install(EVIL[what]), install(OTHER)]
    node.restore(commands=both, counts=[count_of(2, GOOD, OTHER)], now_s=10.0)
    effects = drive(node)
    assert node.root(str(OTHER.id)) is not None
    installed = [str(one.query.id) for one in effects if isinstance(one, do.Installed)]
    assert str(OTHER.id) in installed


def test_why_says_at_the_root_that_it_refuses() -> None:
    node, _ = received("s0", EVIL["a shell at the root"])
    with pytest.raises(HeadwaterError, match=r"not answered here.*root part"):
        node.why(str(GOOD.id), 7)


def test_the_ledger_of_a_refused_query_is_kept_for_the_day_it_is_admitted() -> None:
    """A policy, or a version, may change back; what a query's root holds is not forgotten."""
    node = node_at("s0")
    query = EVIL["settings of its own"]
    gone = "gone@s2#9"
    kept = [RootKept(str(query.id)), RootKept(gone)]
    node.restore(commands=[install(query)], counts=[count_of(9, GOOD)], ledgers=kept, now_s=10.0)
    ended = [one.query for one in node.take() if isinstance(one, do.AnswersEnded)]
    assert ended == [gone]


def test_an_install_that_cannot_be_read_is_set_aside_and_asked_for() -> None:
    """Its installer says that it lives, so whoever has it is asked, and what it had stays."""
    node = node_at("s1")
    aside = {str(GOOD.id): "ValidationError: bad", "not an id": "what is this"}
    node.restore(
        commands=[install(OTHER)],
        counts=[count_of(2, GOOD, OTHER)],
        aside=aside,
        ledgers=[RootKept(str(GOOD.id))],
        now_s=10.0,
    )
    effects = node.take()
    assert "2 installs that can't be used" in words(effects, "set aside")[0]
    assert not any(isinstance(one, do.AnswersEnded) for one in effects)
    node.link_up("s2", now_s=10.0)
    known = CommandsKnown((count_of(2, GOOD, OTHER),), (str(GOOD.id), str(OTHER.id)))
    node.receive("s2", known, now_s=11.0)
    sent = [one.message for one in node.take() if isinstance(one, do.Transmit)]
    assert AskInstall((str(GOOD.id),)) in sent
    node.receive("s2", CommandMessage(install(GOOD)), now_s=12.0)
    assert str(GOOD.id) in node.progress().queries, "the others had it, and so it is here again"


def test_what_is_set_aside_and_was_removed_meanwhile_is_forgotten() -> None:
    node = node_at("s1")
    aside = {str(GOOD.id): "ValidationError: bad"}
    kept = [RootKept(str(GOOD.id))]
    node.restore(commands=[], counts=[count_of(2)], aside=aside, ledgers=kept, now_s=10.0)
    ended = [one.query for one in node.take() if isinstance(one, do.AnswersEnded)]
    assert ended == [str(GOOD.id)]


def test_an_install_whose_root_has_left_the_roster_ends_no_start() -> None:
    node = node_at("s1")
    left = [install(changed(root="gone")), install(OTHER)]
    node.restore(commands=left, counts=[count_of(2, GOOD, OTHER)], now_s=10.0)
    assert words(node.take(), "set aside")
    assert node.progress().queries == (str(OTHER.id),)


def test_new_trees_bring_no_other_question() -> None:
    """A plan is newer trees; with another text under the name it is no plan of that query."""
    node, _ = received("s1", GOOD)
    other = changed(text="another one")
    for number, query, version in ((1, other, 0), (2, GOOD, 2)):
        plan = msgspec.structs.replace(install(query), plan_version=number)
        node.receive("s0", CommandMessage(plan), now_s=30.0)
        live = node.peer.live_queries()[str(GOOD.id)]
        assert (live.query.program.text, live.plan_version) == (GOOD.program.text, version)
