"""*A plan says what it needs*: agents that know less read the rest, decline, forward apart, refuse.

The plan below is what a later version may write: fields that nobody here has, a rule, a function
and a grid that nobody here knows, a time and a format with other names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pane_kit import make_roster

from headwater import __version__
from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.query_book import QueryBook
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import Reason
from headwater.net.values.wire_commands import WireInstall, WireQuery
from headwater.net.values.words import command_in, signed_command
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.messages import CommandMessage
from headwater.plan.command import Install
from headwater.plan.flat_query import FlatQuery
from headwater.plan.notice import Notice
from headwater.plan.query import Query, TimeKind
from headwater.plan.sources.source import SourceFormat
from headwater.plan.tree import Tree
from headwater.sql.compile import compile_statements
from headwater.store.commands import CommandStore

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, ms BIGINT)
WITH (format = 'csv', path = 'access.log', time = 'ts');
CREATE STREAM slow AS
SELECT domain, max(ms) AS worst, {more} AS more FROM hits GROUP BY window(ts, '5 seconds'), domain;
"""
TREE = Tree(0, ((1, 0), (2, 1)))
ROSTER = make_roster(3)


def query_of(more: str = "count(*)") -> Query:
    (query,) = compile_statements(
        TEXT.replace("{more}", more), root="s0", installer="s2", next_counter=1, now_us=10**15
    )
    return query


def word_of(query: Query, **changes: Any) -> bytes:
    """A plan with these fields, as it travels."""
    flat = msgspec.to_builtins(FlatQuery.of(query)) | changes
    return msgspec.msgpack.encode([flat, 1, "erna"])


FUTURE: dict[str, dict[str, Any]] = {
    "a rule": {"needs": ["rule braid"]},
    "a function": {"needs": ["function weave", "rule sum"]},
    "a kind of grid, in a field that nobody has": {
        "needs": ["grid spiral"],
        "spiral": {"turns": 3},
    },
    "a kind of time": {"needs": ["time lunar"], "time": "lunar"},
    "a kind of time that it does not name": {"time": "lunar"},
}


def from_the_future(what: str, query: Query | None = None) -> Install:
    query = query or query_of()
    sent = signed_command(Install(query, (TREE,), roster_version=1))
    assert isinstance(sent, WireInstall)
    word = word_of(query, **FUTURE[what])
    signed = msgspec.structs.replace(sent.query, word=word, signature=b"s" * 64, key=b"k" * 8)
    came = command_in(msgspec.structs.replace(sent, query=signed))
    assert isinstance(came, Install)
    return came


def node_at(site: str) -> Node:
    book = QueryBook()
    return Node(
        site=site,
        roster=ROSTER,
        trees=(TREE,),
        config=NodeConfig(),
        merger_of=book.merger_of,
        incarnation=1000,
        admit=admit_with(PolicyConfig(), SourcesConfig(data="/srv"), site=site),
    )


def hears(site: str, install: Install) -> tuple[Node, list[do.Effect]]:
    node = node_at(site)
    sender = "s1" if site == "s0" else "s0"
    node.restore(commands=[], counts=[], now_s=10.0)
    node.link_up(sender, now_s=10.0)
    node.receive(sender, CommandMessage(install), now_s=11.0)
    found = node.take()
    for second in range(20, 24):
        node.tick(now_s=float(second))
        found += node.take()
    return node, found


def notices(effects: list[do.Effect], kind: str) -> list[str]:
    return [one.text for one in effects if isinstance(one, Notice) and one.kind == kind]


@pytest.mark.parametrize("what", FUTURE)
def test_what_nobody_here_knows_is_no_fault_of_decoding(what: str) -> None:
    install, query = from_the_future(what), query_of()
    assert install.query.id == query.id
    assert install.query.program.site_sql == query.program.site_sql, "the rest is read"


@pytest.mark.parametrize("what", FUTURE)
def test_a_site_declines_by_version_with_a_sentence(what: str) -> None:
    _, effects = hears("s1", from_the_future(what))
    assert not any(isinstance(one, do.Installed) for one in effects)
    (said,) = notices(effects, "refused")
    assert f"which this agent ({__version__}) does not know; upgrade it" in said
    record = [one.record for one in effects if isinstance(one, do.Remember)][-1]
    assert [one.reason for one in record.declined] == [Reason.VERSION]


@pytest.mark.parametrize("what", FUTURE)
def test_a_relay_forwards_apart(what: str) -> None:
    _, effects = hears("s1", from_the_future(what))
    assert notices(effects, "no-merger")


@pytest.mark.parametrize("what", FUTURE)
def test_a_root_refuses(what: str) -> None:
    node, effects = hears("s0", from_the_future(what))
    assert node.root(str(query_of().id)) is None
    assert any("upgrade it" in text for text in notices(effects, "refused"))


@pytest.mark.parametrize("what", FUTURE)
def test_who_hands_it_on_hands_on_all_of_it(what: str) -> None:
    """Also the words that it does not know: those behind it may."""
    install = from_the_future(what)
    again = signed_command(msgspec.structs.replace(install, age_s=3.0))
    assert isinstance(again, WireInstall)
    assert again.query.word == word_of(query_of(), **FUTURE[what])


def test_an_upgraded_agent_finds_all_of_it_on_its_disk(tmp_path: Path) -> None:
    """The version before kept what it knew, and the word as it was signed."""
    query = query_of("stddev_pop(ms)")
    assert query.needs
    word = msgspec.msgpack.encode(WireQuery(FlatQuery.of(query), 1, "erna"))
    less = msgspec.structs.replace(query, needs=msgspec.UNSET)
    install = Install(less, (TREE,), 1, operator="erna", proof=Proof(word, b"signature", b"key"))
    store = CommandStore(tmp_path)
    store.write([do.KeepCommand(install, ())])
    (kept,) = store.live()
    store.close()
    assert kept.query == query


def test_a_format_of_later_is_one_that_a_site_declines() -> None:
    query = query_of()
    source = msgspec.to_builtins(query.program.source) | {"format": "holograms"}
    flat = msgspec.to_builtins(FlatQuery.of(query)) | {"source": source}
    assert msgspec.convert(flat, FlatQuery).source.format is SourceFormat.OTHER
    assert TimeKind("lunar") is TimeKind.OTHER


def test_a_plan_that_0_3_knew_all_of_has_the_bytes_that_it_had() -> None:
    query = query_of()
    assert query.needs is msgspec.UNSET
    assert b"needs" not in msgspec.msgpack.encode(FlatQuery.of(query))


@pytest.mark.parametrize(
    ("more", "needs"),
    [("stddev_pop(ms)", ("rule variance",)), ("bit_and(ms)", ("function bit_and", "rule bit_and"))],
)
def test_a_plan_names_what_came_after_0_3(more: str, needs: tuple[str, ...]) -> None:
    found = query_of(more).needs
    assert isinstance(found, tuple)
    assert set(needs) <= set(found)
