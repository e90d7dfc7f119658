"""Whether all that honest agents keep and hand on was truly said: looked at anew, by another hand.

An agent looks at a word before it keeps it, acts on it or hands it on. Here every word among its
effects is looked at once more, by code that shares nothing with the agent's own check but the rule
of what is signed. So a check that was left out shows as soon as one lie gets through, whether or
not it did any harm in so short a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from fuzz import examples
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import SiteState
from headwater.net.identity.signing import OwnKey, leaf_digest
from headwater.net.values.words import update_word
from headwater.node import effects as do
from headwater.overlay.messages import (
    AckMessage,
    AlterMessage,
    CommandMessage,
    CommandsKnown,
    Message,
    StatesMessage,
    SummaryMessage,
)
from headwater.plan.command import Alter, Command, Count, Install
from headwater.root.outputs import KeptSummary

Word = tuple[str, str, Proof | None]
"""(whose word it must be, of which kind, its proof)"""


class Examiner:
    """``names`` in the order of their ordinals; ``own`` holds the keys of all who may speak."""

    def __init__(
        self, federation: str, names: tuple[str, ...], root: str, own: dict[str, OwnKey]
    ) -> None:
        self._federation = federation
        self._names = names
        self._root = root
        self._own = own
        self._seen: set[tuple[str, str, bytes, bytes]] = set()

    def __deepcopy__(self, memo: object) -> Examiner:
        """One for all worlds: what was looked at need not be again."""
        return self

    def check(self, agent: str, effect: do.Effect) -> None:
        for by, kind, proof in self._words(effect):
            assert proof is not None, f"{agent} keeps a {kind} of {by} that nobody has signed"
            is_true = self._is_said(by, kind, proof)
            assert is_true, f"{agent} keeps a {kind} that {by} has not signed"

    def check_ack(self, agent: str, ack: Acknowledgement) -> None:
        assert ack.proof is not None
        is_true = self._is_said(self._root, "acknowledgement", ack.proof)
        assert is_true, f"{agent} goes by an acknowledgement that its root has not signed"
        for leaf in ack.leaves:
            is_own = leaf_digest(leaf.word) == ack.digest_of(leaf.number)
            assert is_own, f"{agent} goes by a leaf that does not stand in its head"

    def _words(self, effect: do.Effect) -> Iterator[Word]:
        match effect:
            case do.Transmit(_, message, _):
                yield from self._words_of(message)
            case do.KeepState(_, state):
                yield self._state(state)
            case do.KeepCommand(command, counts):
                if isinstance(command, Install):  # removals are in a count, where they are signed
                    yield from _command(command)
                yield from _counts(counts)
            case do.KeepCounts(counts):
                yield from _counts(counts)

    def _words_of(self, message: Message) -> Iterator[Word]:
        match message:
            case StatesMessage(states):
                yield from map(self._state, states)
            case AckMessage(ack):
                yield self._root, "acknowledgement", ack.proof
            case AlterMessage(alter, count):
                yield from _command(alter)
                yield from _counts(() if count is None else (count,))
            case CommandMessage(command, count):
                yield from _command(command)
                yield from _counts(() if count is None else (count,))
            case CommandsKnown(counts):
                yield from _counts(counts)
            case SummaryMessage(summary):
                yield from self._update(summary)

    def _state(self, state: SiteState) -> Word:
        return self._names[state.ordinal], "state", state.proof

    def _update(self, summary: Summary) -> Iterator[Word]:
        sites, told = summary.coverage.sites, summary.proof
        if sites & (sites - 1) == 0:
            proof = None
            if told is not None:
                proof = Proof(
                    word=update_word(summary, told), signature=told.signature, key=told.key
                )
            yield self._names[sites.bit_length() - 1], "update", proof

    def _is_said(self, by: str, kind: str, proof: Proof) -> bool:
        own = self._own.get(by)
        if own is None or proof.key != own.name:
            return False
        known = (by, kind, proof.word, proof.signature)
        if known not in self._seen:
            text = b"\0".join((b"headwater", kind.encode(), self._federation.encode(), proof.word))
            r, s = proof.signature[:32], proof.signature[32:]
            encoded = utils.encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
            try:
                own.private.public_key().verify(encoded, text, ec.ECDSA(hashes.SHA256()))
            except InvalidSignature:
                return False
            self._seen.add(known)
        return True


def kept_alone(effect: do.Effect, honest: int) -> Iterator[KeptSummary]:
    """What a root lets in of one honest site alone, which only that site can have said."""
    found: Iterable[KeptSummary] = ()
    if isinstance(effect, do.Keep):
        found = (effect.kept,)
    elif isinstance(effect, do.Replace):
        found = effect.kept
    for kept in found:
        sites = kept.coverage.sites
        if sites & (sites - 1) == 0 and sites & honest:
            yield kept


def is_cut(kept: KeptSummary, updates: int) -> bool:
    """Whether a site that has cut so many updates of the pane can have said it."""
    told = [1] if kept.coverage.whole else []
    for part in (*kept.coverage.groups, *kept.coverage.parts):
        told += [last for _, last in part.updates]
        told += [] if part.closed_at is None else [part.closed_at]
    is_own = kept.rows is None or str(kept.rows) == str(examples.a_table(3))
    return is_own and all(number <= updates for number in told)


def _command(command: Command) -> Iterator[Word]:
    kind = "settings" if isinstance(command, Alter) else "command"
    yield command.operator, kind, command.proof
    if isinstance(command, Install):
        yield command.planner, "plan", command.plan_proof
        for alter in command.alters:
            yield from _command(alter)


def _counts(counts: Iterable[Count]) -> Iterator[Word]:
    for count in counts:
        yield count.installer, "count", count.proof
        for removal in count.ended:
            yield removal.operator, "command", removal.proof
