"""A member with a valid key that says what it likes, to real machines: states, acknowledgements and
all other words, with signatures that hold, or with somebody else's.

The inputs are what members of a little federation said to each other, taken apart: signed words
stand in them as what they say. Something in it is changed, the words are signed anew with the
key that the liar has (or left with a signature that no longer fits), and then it goes the whole
way: frames' bytes, words, the overlay's checks, the machines of the node, and what those say next.

Nobody raises, talks without end or stands still; what the liar can't prove changes nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import msgspec

from fuzz import examples
from fuzz import little_federation as little
from fuzz.change_tree import change
from fuzz.little_federation import HONEST, LIAR, NAMES, OPERATOR, QUERY_ID, ROOT, Federation
from fuzz.mutate import INPUT_BYTES_MAX
from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.proof import Proof
from headwater.net.identity.signing import Kind, OperatorSignature, Signer, signed_text
from headwater.net.identity.signing import _verifies as verifies
from headwater.net.refusal import Refused
from headwater.overlay.messages import (
    AlterMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    Message,
    SummaryMessage,
)
from headwater.plan.command import Count, Install
from headwater.plan.query import QueryId

LIES_MAX = 24
"""The three of them take longer to set up than to be lied to."""
CHANGES_MAX = 3
REPLAYED_SHARE = 0.2
AIMED_SHARE = 0.3
LEAVES_SHARE = 0.5
ACK_LEAVES = 3
"""Where the leaves stand in an acknowledgement."""
ELSEWHERE = "elsewhere"
"""Another federation."""
SUMMARIES, STATES, ACKS = 2, 3, 4
"""Numbers of messages."""
AFTERWARDS_S = 40.0
REPAIRED_S = 120.0
SIGNATURE_BYTES = 64

Lie = list[Any]
"""[to whom, number of the message, body]; a signed word in it is a dictionary."""


class Said:
    """What the three have said until now, and all words in it by their bytes."""

    def __init__(self) -> None:
        self.lies: list[Lie] = []
        self.proofs: dict[tuple[str, str, bytes], Proof] = {}
        world = _Listening()
        for _ in range(2):
            world.read(world.pane)
            world.pass_time(little.PANE_S, step_s=2.0)
            world.pane += 1
        kinds: set[tuple[str, int]] = set()
        for to, data in [*world.heard, *little.withheld()]:
            number, body = little.body_of(data)
            if (to, number) not in kinds or number in (STATES, ACKS):
                kinds.add((to, number))
                self.lies.append([to, number, self._taken_apart(body)])
        known = dict(self.proofs)
        for to, data in _never_said():
            number, body = little.body_of(data)
            self.lies.append([to, number, self._taken_apart(body)])
        self.leaves = _distinct([lie[2][ACK_LEAVES] for lie in self.lies if lie[1] == ACKS])
        self.proofs = known  # whoever wants to say the others has to sign them
        self.lies = _distinct(self.lies)

    def _taken_apart(self, tree: Any) -> Any:
        if not isinstance(tree, list):
            return tree
        if len(tree) >= 3 and isinstance(tree[1], bytes) and len(tree[1]) == SIGNATURE_BYTES:
            return self._word(Proof(*tree[:3], *tree[3:4]))
        return [self._taken_apart(one) for one in tree]

    def _word(self, proof: Proof) -> dict[str, Any]:
        kind, by = _signer_of(proof)
        self.proofs[by, kind, proof.word] = proof
        word = self._taken_apart(msgspec.msgpack.decode(proof.word))
        return {"by": by, "kind": kind, "word": word}


class _Listening(Federation):
    """Somebody who hears everything."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bytes]] = []
        self.pane = little.BEGIN_PANE
        super().__init__()
        for to in (ROOT, HONEST):
            self.heard += [(to, little.codec.encode(one)) for one in _of_commands()]

    def hear(self, sender: str, to: str, data: bytes) -> None:
        self.heard.append((to, data))
        super().hear(sender, to, data)


def _of_commands() -> list[Message]:
    """What nobody needs to say where all know the same."""
    install, count = little.commands()
    own = little.keys().signatures(LIAR).sign_count(Count(installer=LIAR, number=1, revision=1))
    return [
        CommandMessage(install, count),
        AlterMessage(little.alter(1)),
        CommandsKnown(counts=(count, own), live=(QUERY_ID,), plans={QUERY_ID: 1}),
        AskInstall((QUERY_ID,)),
    ]


def _never_said() -> list[tuple[str, bytes]]:
    """What a thief would like to have been said: a query that no operator has commanded, and an
    update of the honest site that it has not cut."""
    install, _ = little.commands()
    wanted = msgspec.structs.replace(little.QUERY, id=QueryId("hits", LIAR, 2))
    given = OperatorSignature(little.FEDERATION, OPERATOR, little.keys().own[OPERATOR]).sign(
        Install(query=wanted, trees=install.trees, roster_version=install.roster_version)
    )
    assert isinstance(given, Install)
    own = little.keys().signatures(LIAR)
    count = own.sign_count(Count(installer=LIAR, number=2, revision=2, live=(str(wanted.id),)))
    update = Summary(
        query=QUERY_ID,
        pane=little.BEGIN_PANE + 2,
        coverage=Coverage.of_part(1, 1001, updates=((1, 9),), closed_at=9),
        rows=examples.a_table(5),
    )
    forged = own.sign_update(update)
    messages: list[Message] = [
        CommandMessage(own.sign_plan(given), count),
        SummaryMessage(forged),
        AlterMessage(little.alter(2), own.sign_count(Count(installer=LIAR, number=2, revision=3))),
    ]
    return [(to, little.codec.encode(one)) for to in (ROOT, HONEST) for one in messages]


def _signer_of(proof: Proof) -> tuple[str, str]:
    """Only one of few can have signed it, as one of few kinds."""
    for by, own in little.keys().own.items():
        for kind in Kind:
            text = signed_text(kind, little.FEDERATION, proof.word)
            if own.name == proof.key and verifies(own.private.public_key(), proof.signature, text):
                return str(kind), by
    raise AssertionError("a word that nobody has signed")


def _distinct(lies: list[Any]) -> list[Any]:
    return [one for at, one in enumerate(lies) if one not in lies[:at]]


@cache
def said() -> Said:
    return Said()


def good() -> list[bytes]:
    """Everything that was said."""
    return [msgspec.msgpack.encode([lie]) for lie in said().lies]


def good_states() -> list[bytes]:
    """The liar's own, and those of others, which it can only repeat or forge."""
    found = [lie for name in NAMES for lie in _of(STATES, by=name)]
    assert any(_speaks(lie[2], LIAR) for lie in found), "the liar has told no state"
    return [_encoded(to, lie) for lie in found for to in (ROOT, HONEST)]


def good_acks() -> list[bytes]:
    """The root's: here it is the root that lies."""
    return [_encoded(to, lie) for lie in _of(ACKS, by=ROOT) for to in (HONEST, LIAR)]


def _of(number: int, *, by: str) -> list[Lie]:
    found = [lie for lie in said().lies if lie[1] == number]
    return _distinct([["", *lie[1:]] for lie in found if _speaks(lie[2], by)])


def _speaks(tree: Any, by: str) -> bool:
    if isinstance(tree, dict):
        return bool(tree.get("by") == by)
    return isinstance(tree, list) and any(_speaks(one, by) for one in tree)


def _encoded(to: str, lie: Lie) -> bytes:
    return msgspec.msgpack.encode([[to, *lie[1:]]])


def changed(inputs: Sequence[bytes], chance: random.Random) -> bytes:
    """A few things said one after the other; now and then a true one between them, or one that is
    right in all but its signature."""
    lies: list[Any] = []
    for _ in range(chance.randint(1, LIES_MAX)):
        (lie,) = msgspec.msgpack.decode(chance.choice(inputs))
        share = chance.random()
        if share < AIMED_SHARE:
            aim(lie[2], chance)
        elif share > AIMED_SHARE + REPLAYED_SHARE:
            for _ in range(chance.randint(1, CHANGES_MAX)):
                change(lie[2], chance)
        lies.append(lie)
    try:
        data = msgspec.msgpack.encode(lies)
    except (UnicodeEncodeError, OverflowError):
        return chance.choice(inputs)
    return data if len(data) <= INPUT_BYTES_MAX else chance.choice(inputs)


def run(data: bytes) -> bool:
    """Charlie lies, with its own key: alpha, bravo and what they do stay as they were."""
    world = little.in_mid_work()
    is_heard = _tell(world, data, liar=LIAR)
    _go_on(world)
    _check_untouched(world)
    return is_heard


def run_acks(data: bytes) -> bool:
    """The root itself lies, so its own query may come to harm, and nothing else."""
    world = little.in_mid_work()
    world.liar = ROOT
    is_heard = _tell(world, data, liar=ROOT)
    _go_on(world)
    for agent in world.agents.values():
        assert QUERY_ID in agent.node.peer.live_queries(), "an acknowledgement ended a query"
    return is_heard


def _tell(world: Federation, data: bytes, *, liar: str) -> bool:
    """Whether something of it got past the reader of bytes."""
    heard = 0
    for to, number, body in _lies_in(data):
        try:
            message = bytes((number,)) + msgspec.msgpack.encode(_put_together(body, liar))
            if number == SUMMARIES:
                message = _update_signed(message, liar)
            world.hear(liar, to, message)
        except (Refused, OverflowError, UnicodeEncodeError):
            continue
        heard += 1
        world.deliver()
    return heard > 0


def _update_signed(message: bytes, liar: str) -> bytes:
    """What is said to be one site's own update, signed by the liar under that site's name."""
    told = little.codec.decode(message)
    summary = told.summary if isinstance(told, SummaryMessage) else None
    sites = 0 if summary is None else summary.coverage.sites
    if summary is None or not 0 < sites <= little.ALL or sites & (sites - 1):
        return message
    by = NAMES[sites.bit_length() - 1]
    if little.keys().signatures(HONEST).is_update_of(by, summary):
        return message
    signed = little.keys().signatures(liar).sign_update(summary)
    if signed.proof is None:
        return message
    proof = msgspec.structs.replace(signed.proof, key=little.keys().own[by].name)
    return little.codec.encode(SummaryMessage(msgspec.structs.replace(signed, proof=proof)))


def _lies_in(data: bytes) -> list[tuple[str, int, Any]]:
    """What has the form of lies; the first two fields were not changed, unless a byte was."""
    try:
        lies = msgspec.msgpack.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    return [(to, number, body) for to, number, body in lies if to in NAMES]


def _put_together(tree: Any, liar: str) -> Any:
    if isinstance(tree, dict) and {"by", "kind", "word"} <= tree.keys():
        return _signed(tree, liar)
    if isinstance(tree, dict):
        return {key: _put_together(one, liar) for key, one in tree.items()}
    return [_put_together(one, liar) for one in tree] if isinstance(tree, list) else tree


def _signed(said_word: dict[str, Any], liar: str) -> list[bytes]:
    """A word that was truly said keeps its proof; others are signed with the only key at hand,
    under whatever name, as whatever kind, for whatever federation."""
    by, kind, of = said_word["by"], said_word["kind"], said_word.get("of", little.FEDERATION)
    word = msgspec.msgpack.encode(_put_together(said_word["word"], liar))
    known = said().proofs.get((by, kind, word)) if _are_text(by, kind) else None
    if known is not None and of == little.FEDERATION and "key" not in said_word:
        return [known.word, known.signature, known.key]
    own, named = little.keys().own[liar], said_word.get("key", by)
    proof = Signer(of if isinstance(of, str) else ELSEWHERE, lambda: own).sign(
        Kind(kind) if kind in list(Kind) else Kind.STATE, word
    )
    other = little.keys().own.get(named) if isinstance(named, str) else None
    return [word, proof.signature, own.name if other is None else other.name]


def _are_text(*words: object) -> bool:
    return all(isinstance(word, str) for word in words)


def aim(tree: Any, chance: random.Random) -> None:
    """One signed word in it becomes news, and its signature is wrong in one way: another's key,
    another kind, another federation. Or a true head of an acknowledgement gets another's leaves."""
    words = list(_words_in(tree))
    if not words:
        return
    word = chance.choice(words)
    if word["kind"] == Kind.ACK and chance.random() < LEAVES_SHARE:
        tree[ACK_LEAVES] = deepcopy(chance.choice(said().leaves))
        return
    _make_news(word)
    how = chance.choice(("forged", "own key", "kind", "federation"))
    if how == "own key":
        word["key"] = LIAR
    elif how == "kind":
        word["kind"] = chance.choice([str(kind) for kind in Kind if kind != word["kind"]])
    elif how == "federation":
        word["of"] = ELSEWHERE


def _words_in(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict) and {"by", "kind", "word"} <= tree.keys():
        yield tree
        tree = tree["word"]
    for one in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _words_in(one)


_ORDER = {"state": 3, "acknowledgement": 2, "count": 2, "plan": 1}
"""Which of a word's fields says that it is newer."""


def _make_news(word: dict[str, Any]) -> None:
    at = _ORDER.get(word["kind"])
    if at is not None:
        word["word"][at] += 1_000


def _go_on(world: Federation) -> None:
    """They read, close, answer and acknowledge as if nothing had been."""
    world.read(little.BEGIN_PANE + 3)
    world.pass_time(AFTERWARDS_S, step_s=4.0)
    for agent in world.agents.values():
        agent.node.progress()
        agent.node.next_deadline_s()


def _check_untouched(world: Federation) -> None:
    root = world.agents[ROOT].node.root(QUERY_ID)
    assert root is not None
    for agent in world.agents.values():
        live = agent.node.peer.live_queries()
        assert QUERY_ID in live, "somebody has ended a query"
        assert live[QUERY_ID].plan_version == 0, "somebody has planned for the root"
        if agent.name == HONEST:
            (edge,) = agent.node.progress().edge
            assert edge.record.done_through <= root.windows.done_through, (
                "it believes what is not so"
            )
    assert world.agents[ROOT].node.peer.next_counter() == 2, "the installer's numbers are used up"
    for ordinal, name in ((0, ROOT), (1, HONEST)):
        view = root.table.views[ordinal]
        assert view.state.incarnation == 1000 + ordinal, f"another life of {name} is believed"
        assert not view.state.declined, f"{name} is said to have given something up"
    if _missing(world):
        world.pass_time(REPAIRED_S, step_s=2.0)
    text = root.why(little.BEGIN_PANE + 3).text()
    assert not _missing(world), f"honest sites are missing: {text}"


def _missing(world: Federation) -> set[str]:
    """Honest sites that the newest answer of the pane after the lies lacks. A lie may cost what was
    merged with it, as a silent relay would; then it comes again."""
    answers = [r.envelope for a in world.agents[ROOT].answers for r in a.requests]
    ours = [one for one in answers if one.window == little.BEGIN_PANE + 3]
    return {ROOT, HONEST} & {one.site for one in ours[-1].missing} if ours else {ROOT, HONEST}
