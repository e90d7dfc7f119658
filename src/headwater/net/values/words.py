"""Words that somebody signs, as the exact bytes that are signed and travel.

A word that came with a proof is never written anew: its bytes are handed on as they came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import msgspec

from headwater.algebra.bounds import ORDINALS_MAX
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.summary import Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import SiteState
from headwater.algebra.words.update_proof import UpdateProof
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.wire import (
    WireAbsence,
    WireSigned,
    WireState,
    WireUpdate,
    checked_absence,
    checked_state,
    proof_of,
    wire_state,
)
from headwater.net.values.wire_acks import (
    WireAckHead,
    WireAckLeaf,
    WireAckOnItsWay,
    checked_ack,
    wire_ack_head,
    wire_ack_leaf,
)
from headwater.net.values.wire_commands import (
    WireAlter,
    WireCommand,
    WireCount,
    WireInstall,
    WirePlan,
    WireQuery,
    WireRemoval,
    WireRemove,
    checked_tree,
    wire_tree,
)
from headwater.plan.altered.site_budget import SiteBudget, budget_word
from headwater.plan.command import Alter, Command, Count, Install, Remove
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query

Said = TypeVar("Said")

_absences = msgspec.msgpack.Decoder(WireAbsence)
_states = msgspec.msgpack.Decoder(WireState)
_ack_heads = msgspec.msgpack.Decoder(WireAckHead)
_ack_leaves = msgspec.msgpack.Decoder(WireAckLeaf)
_queries = msgspec.msgpack.Decoder(WireQuery)
_plans = msgspec.msgpack.Decoder(WirePlan)
_removals = msgspec.msgpack.Decoder(WireRemoval)
_alters = msgspec.msgpack.Decoder(WireAlter)
_counts = msgspec.msgpack.Decoder(WireCount)
_encode = msgspec.msgpack.encode

# The bytes of a word.


def state_word(state: SiteState) -> bytes:
    return _encode(wire_state(state))


def absence_word(absence: Absence) -> bytes:
    return _encode(
        WireAbsence(
            query=absence.query,
            speaker=absence.speaker,
            clock_s=absence.clock_s,
            lost=absence.lost,
            guests=absence.guests,
        )
    )


def update_word(summary: Summary, proof: UpdateProof) -> bytes:
    """What is said of the panes that the proof names; of the rows, as they travel, a digest."""
    rows = b"" if proof.packed is None else hashlib.sha256(proof.packed).digest()
    coverage = PackedCoverage.of(summary.coverage)
    return _encode(
        WireUpdate(
            query=summary.query, pane=proof.pane, more=proof.more, coverage=coverage, rows=rows
        )
    )


def ack_word(ack: Acknowledgement) -> bytes:
    """Its head; the leaves are words of their own, and stand in it by their digests."""
    return _encode(wire_ack_head(ack))


def leaf_word(leaf: AckLeaf) -> bytes:
    return _encode(wire_ack_leaf(leaf))


def plan_word(install: Install) -> bytes:
    trees = tuple(wire_tree(tree) for tree in install.trees)
    return _encode(WirePlan(query=str(install.query.id), version=install.plan_version, trees=trees))


def count_word(count: Count) -> bytes:
    ended = tuple(_signed(removal.proof, command_word, removal) for removal in count.ended)
    return _encode(
        WireCount(
            installer=count.installer,
            number=count.number,
            revision=count.revision,
            live=count.live,
            ended=ended,
            altered=count.altered,
        )
    )


def command_word(command: Command | SiteBudget) -> bytes:
    if isinstance(command, SiteBudget):
        return budget_word(command)
    if isinstance(command, Install):
        return _encode(
            WireQuery(
                query=FlatQuery.of(command.query).as_written(),
                roster_version=command.roster_version,
                operator=command.operator,
            )
        )
    if isinstance(command, Alter):
        return _encode(
            WireAlter(
                id=command.id,
                installer=command.installer,
                counter=command.counter,
                operator=command.operator,
                number=command.number,
                first_pane=command.first_pane,
                settings=command.settings.as_written(),
            )
        )
    return _encode(
        WireRemoval(
            id=command.id,
            installer=command.installer,
            counter=command.counter,
            operator=command.operator,
        )
    )


# Words as they travel: with their signatures, and beside what grows on the way.


def signed_state(state: SiteState) -> WireSigned:
    return _signed(state.proof, state_word, state)


def signed_absence(absence: Absence) -> WireSigned:
    return _signed(absence.proof, absence_word, absence)


def ack_on_its_way(ack: Acknowledgement) -> WireAckOnItsWay:
    leaves = tuple((leaf.number, leaf.word or leaf_word(leaf)) for leaf in ack.leaves)
    return WireAckOnItsWay(
        signed=_signed(ack.proof, ack_word, ack), age_s=ack.age_s, late_s=ack.late_s, leaves=leaves
    )


def signed_count(count: Count) -> WireSigned:
    return _signed(count.proof, count_word, count)


def signed_alter(alter: Alter) -> WireSigned:
    return _signed(alter.proof, command_word, alter)


def signed_command(command: Install | Remove) -> WireCommand:
    said = _signed(command.proof, command_word, command)
    if isinstance(command, Remove):
        return WireRemove(said)
    plan = _signed(command.plan_proof, plan_word, command)
    return WireInstall(
        query=said, plan=plan, age_s=command.age_s, root_clock_s=command.root_clock_s
    )


def state_in(signed: WireSigned) -> SiteState:
    """Its proof is what is to be looked at; nothing is proven yet."""
    return checked_state(_states.decode(signed.word), signed)


def absence_in(signed: WireSigned, *, age_s: float) -> Absence:
    return checked_absence(_absences.decode(signed.word), signed, age_s=age_s)


def ack_in(way: WireAckOnItsWay) -> Acknowledgement:
    """Each leaf once, in rising order. Whether it is the head's own is to be looked at."""
    numbers = [number for number, _ in way.leaves]
    if any(a >= b for a, b in pairwise(numbers)):
        raise Refused(Refusal.MALFORMED, "acknowledgement: wanted leaves in rising order")
    leaves = ((number, _ack_leaves.decode(word), word) for number, word in way.leaves)
    return checked_ack(_ack_heads.decode(way.signed.word), leaves, way)


def count_in(signed: WireSigned) -> Count:
    wire = _counts.decode(signed.word)
    ended = tuple(_removal_in(one) for one in wire.ended)
    return Count(
        installer=wire.installer,
        number=wire.number,
        revision=wire.revision,
        live=wire.live,
        ended=ended,
        altered=wire.altered,
        proof=proof_of(signed),
    )


def command_in(wire: WireCommand, *, ordinals_max: int = ORDINALS_MAX) -> Install | Remove:
    """``ordinals_max``: how many ordinals the roster has, which no tree exceeds."""
    if isinstance(wire, WireRemove):
        return _removal_in(wire.removal)
    said, plan = _queries.decode(wire.query.word), _plans.decode(wire.plan.word)
    if plan.query != str(said.query.id):
        raise Refused(Refusal.MALFORMED, f"install: trees of {plan.query[:80]!r}")
    if any(len(tree.above) > ordinals_max for tree in plan.trees):
        raise Refused(
            Refusal.MALFORMED,
            f"install: a tree with more members than this federation has sites ({ordinals_max})",
        )
    return Install(
        query=said.query.query(),
        trees=tuple(checked_tree(tree) for tree in plan.trees),
        roster_version=said.roster_version,
        plan_version=plan.version,
        age_s=wire.age_s,
        root_clock_s=wire.root_clock_s,
        operator=said.operator,
        proof=proof_of(wire.query),
        plan_proof=proof_of(wire.plan),
    )


def alter_in(signed: WireSigned) -> Alter:
    return msgspec.structs.replace(alteration_in(signed.word), proof=proof_of(signed))


def alteration_in(word: bytes) -> Alter:
    """Of an operator's word."""
    wire = _alters.decode(word)
    fields = {name: getattr(wire, name) for name in WireAlter.__struct_fields__}
    return Alter(**fields)


def query_in(word: bytes) -> tuple[Query, int, str]:
    """(the query, of which version of the roster, commanded by whom) of an operator's word."""
    said = _queries.decode(word)
    return said.query.query(), said.roster_version, said.operator


def removal_in(word: bytes) -> Remove:
    wire = _removals.decode(word)
    return Remove(
        id=wire.id, installer=wire.installer, counter=wire.counter, operator=wire.operator
    )


def _removal_in(signed: WireSigned) -> Remove:
    return msgspec.structs.replace(removal_in(signed.word), proof=proof_of(signed))


def _signed(proof: Proof | None, word_of: Callable[[Said], bytes], said: Said) -> WireSigned:
    if proof is None:
        return WireSigned(word_of(said))
    return WireSigned(
        word=proof.word, signature=proof.signature, key=proof.key, certificate=proof.certificate
    )
