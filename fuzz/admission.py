"""Whole queries, as they travel, against everyone who admits: a site, a relay and the root.

The inputs are installs of compiled queries in which something was changed that a compiler would not
have written: a number, a name, a type, a piece of SQL, an order, or plain bytes. Whatever comes of
it, nobody raises, stands still or begins what its own check refuses, from wire or disk.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import msgspec

from fuzz.change_tree import change
from fuzz.mutate import INPUT_BYTES_MAX, mutated
from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.query_book import QueryBook
from headwater.net.refusal import Refused
from headwater.net.values.codec import Codec
from headwater.net.values.words import command_word, plan_word
from headwater.node import effects as do
from headwater.node.config import NodeConfig
from headwater.node.node import Node
from headwater.overlay.messages import CommandMessage
from headwater.plan.command import Count, Install
from headwater.plan.duty import Admit
from headwater.plan.roster import Roster, Site
from headwater.plan.tree import Tree
from headwater.sql.admit.admit import check_query
from headwater.sql.compile import compile_statements

TEXT = """
CREATE SOURCE web (ts TIMESTAMP, domain STRING, ms BIGINT, cost DECIMAL(10, 2))
WITH (format = 'csv', path = 'logs/**/*.log', time = 'ts', timestamp_format = 'yyyy-MM-dd HH:mm');
CREATE SOURCE lines (ts TIMESTAMP, user STRING)
WITH (format = 'regex', path = '*.log', time = 'ts', pattern = r'(?<ts>\\S+) (?<user>\\S+)');
CREATE STREAM plain AS SELECT domain, sum(ms) AS total, avg(cost) AS mean FROM web WHERE ms > 0
GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM ranked WITH (deadline = '5s') AS SELECT upper(domain) AS d, max(ms) AS worst,
count(*) FILTER (WHERE ms > 1 AND domain LIKE 'a%') AS n, date_format(min(ts), 'HH:mm') AS first
FROM web GROUP BY window(ts, '30 seconds', '10 seconds'), d HAVING n > 1
ORDER BY max(cost) DESC LIMIT 3;
CREATE STREAM parted WITH (roots = 'alpha, bravo') AS SELECT user, count(*) AS n FROM lines
GROUP BY window(ts, '1 minute'), user;
CREATE STREAM aged WITH (time = 'age') AS SELECT count(*) AS n, CASE WHEN max(ms) > 9 THEN
concat('slow', repeat('!', 3)) ELSE 'fine' END AS word FROM web GROUP BY window(ts, '5 seconds');
"""
NAMES = ("alpha", "bravo", "charlie")
ROSTER = Roster(1, tuple(Site(n, name) for n, name in enumerate(NAMES)), home="alpha")
TREE = Tree(0, ((1, 0), (2, 1)))
TREES = {"alpha": TREE, "bravo": Tree(1, ((0, 1), (2, 1)))}
COMMAND = 5
NOW_S = 1e9
CHANGES_MAX = 3


@cache
def good() -> list[bytes]:
    queries = compile_statements(
        TEXT, root="alpha", installer="charlie", next_counter=1, now_us=int(NOW_S * 1e6)
    )
    return [
        _encoded(
            Install(query=query, trees=(TREES[query.root],), roster_version=1, root_clock_s=9.0)
        )
        for query in queries
    ]


def _encoded(install: Install) -> bytes:
    """The two words of an install, side by side, so that changes reach into them."""
    words = [msgspec.msgpack.decode(word(install)) for word in (command_word, plan_word)]
    return msgspec.msgpack.encode([*words, install.age_s, install.root_clock_s])


def _message(data: bytes) -> bytes:
    """As it travels: each word a piece of bytes."""
    try:
        query, plan, *way = msgspec.msgpack.decode(data)
        words = [msgspec.msgpack.encode(word) for word in (query, plan)]
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        words, way = [data, data], []
    install = ["install", *([word] for word in words), *way]
    return bytes((COMMAND,)) + msgspec.msgpack.encode([install])


def changed(inputs: Sequence[bytes], chance: random.Random) -> bytes:
    """One of the installs with something in it replaced; now and then bytes of it as well."""
    tree = msgspec.msgpack.decode(chance.choice(inputs))
    for _ in range(chance.randint(1, CHANGES_MAX)):
        change(tree, chance)
    try:
        data = msgspec.msgpack.encode(tree)
    except (UnicodeEncodeError, OverflowError):
        return chance.choice(inputs)
    if len(data) > INPUT_BYTES_MAX:
        return chance.choice(inputs)
    return mutated([data, *inputs], chance) if chance.random() < 0.2 else data


codec = Codec(lambda query: None, ordinals_max=len(NAMES))


def run(data: bytes) -> bool:
    """True where a root answers it: then its own check admits it, too."""
    try:
        message = codec.decode(_message(data))
    except Refused:
        return False
    if not isinstance(message, CommandMessage) or not isinstance(message.command, Install):
        return False
    is_answered = [_received(name, message) for name in NAMES]
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(message.command), type=Install)
    for name in NAMES:
        _restored(name, stored)
    return any(is_answered)


def _received(name: str, message: CommandMessage) -> bool:
    node = _node(name)
    node.restore(commands=[], counts=[], now_s=NOW_S)
    for other in NAMES:
        if other != name:
            node.link_up(other, now_s=NOW_S)
    node.take()
    node.receive("bravo" if name != "bravo" else "alpha", message, now_s=NOW_S + 1.0)
    return _driven(node)


def _restored(name: str, install: Install) -> bool:
    node = _node(name)
    count = Count(installer="charlie", number=99, revision=1, live=(str(install.query.id),))
    node.restore(commands=[install], counts=[count], now_s=NOW_S)
    return _driven(node)


def _driven(node: Node) -> bool:
    """Nobody raises, and what runs is admitted and can be sent on."""
    begun = False
    for step in range(4):
        for effect in node.take():
            if isinstance(effect, do.AnswersBegun | do.Installed):
                check_query(effect.query)
                begun = True
            elif isinstance(effect, do.Transmit):
                codec.encode(effect.message)
        node.tick(now_s=NOW_S + 40.0 * step)
        node.next_deadline_s()
    node.progress()
    return begun


def _node(name: str) -> Node:
    return Node(
        site=name,
        roster=ROSTER,
        trees=(TREE,),
        config=NodeConfig(),
        merger_of=QueryBook().merger_of,
        incarnation=1000,
        admit=_admit(),
    )


@cache
def _admit() -> Admit:
    return admit_with(PolicyConfig(), SourcesConfig(data="/srv"))
