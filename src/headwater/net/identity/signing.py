"""Signatures of members: ECDSA with the key of their certificate, over a word's exact bytes.

Before the word stands what kind of word it is and in which federation, so that a signature of one
kind never passes for another. Whose key it is says ``PublicKeys``: the keyring of certificates that
came with the links, or, within one process, keys that were made for it and are kept nowhere.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from headwater.algebra.summary import Rows, Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import SiteState
from headwater.algebra.words.update_proof import UpdateProof
from headwater.errors import WireError
from headwater.net.values.wire import DIGEST_BYTES
from headwater.net.values.words import (
    absence_word,
    ack_word,
    command_word,
    count_word,
    leaf_word,
    plan_word,
    state_word,
    update_word,
)
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Alter, Command, Count, Install, Remove
from headwater.plan.questions.viewer import may_sign

Given = TypeVar("Given", Install, Remove, Alter, Command, SiteBudget, Command | SiteBudget)
KEY_BYTES = 8
"""Of a digest, what stands for a key. Two keys with the same ones make signatures invalid, never
valid: the signature itself is looked at in any case."""
VERIFIED_MAX = 4_096
"""Words that are remembered as verified: a site repeats its state until it is greeted."""
_NUMBER_BYTES = 32
_ALGORITHM = ec.ECDSA(hashes.SHA256())


class Kind(StrEnum):
    STATE = "state"
    ABSENCE = "absence"
    UPDATE = "update"
    ACK = "acknowledgement"
    PLAN = "plan"
    COUNT = "count"
    COMMAND = "command"
    SETTINGS = "settings"
    BUDGET = "budget"
    ROSTER = "roster"


def kind_of(command: Command | SiteBudget) -> Kind:
    """Of a kind of their own: read as a removal, the words of settings would be one."""
    if isinstance(command, SiteBudget):
        return Kind.BUDGET
    return Kind.SETTINGS if isinstance(command, Alter) else Kind.COMMAND


class OwnKey(NamedTuple):
    name: bytes
    """How others refer to it."""
    private: ec.EllipticCurvePrivateKey
    certificate: bytes = b""


Pack = Callable[[str, Rows], bytes]
"""The rows of a query as they travel; raises ``WireError`` for what nobody would take."""
KeyOf = Callable[[str, Proof], ec.EllipticCurvePublicKey | None]
"""The key of a proof, if it is that of whoever is named."""


class PublicKeys(Protocol):
    def of(self, site: str, proof: Proof) -> ec.EllipticCurvePublicKey | None:
        """The key of the proof, if it is this site's and still to be believed."""

    def of_operator(
        self, operator: str, proof: Proof, *, is_counted: bool
    ) -> ec.EllipticCurvePublicKey | None:
        """The key of the proof, if it is this operator's, or viewer's (``viewer_of``). Of what is
        counted, also one whose certificate has ended since."""


class MemoryKeys:
    """Keys of sites that live in one process."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, bytes], ec.EllipticCurvePublicKey] = {}
        """By whose it is, and its name."""

    def make(self, site: str) -> OwnKey:
        return self._make(f"site {site}")

    def make_operator(self, operator: str) -> OwnKey:
        return self._make(f"operator {operator}")

    def of(self, site: str, proof: Proof) -> ec.EllipticCurvePublicKey | None:
        return self._keys.get((f"site {site}", proof.key))

    def of_operator(
        self, operator: str, proof: Proof, *, is_counted: bool
    ) -> ec.EllipticCurvePublicKey | None:
        return self._keys.get((f"operator {operator}", proof.key))

    def _make(self, owner: str) -> OwnKey:
        private = ec.generate_private_key(ec.SECP256R1())
        own = OwnKey(key_name(public_bytes(private.public_key())), private)
        self._keys[owner, own.name] = private.public_key()
        return own


class Signer:
    """Signs with one key; ``own`` is asked anew each time: keys are renewed."""

    def __init__(self, federation: str, own: Callable[[], OwnKey]) -> None:
        self._federation = federation
        self._own = own

    @property
    def key(self) -> bytes:
        """The name of the key that it signs with now."""
        return self._own().name

    def sign(self, kind: Kind, word: bytes, *, shows_certificate: bool = False) -> Proof:
        """``shows_certificate``: the word outlives the links, and so must the proof."""
        own = self._own()
        text = signed_text(kind, self._federation, word)
        r, s = utils.decode_dss_signature(own.private.sign(text, _ALGORITHM))
        signature = r.to_bytes(_NUMBER_BYTES) + s.to_bytes(_NUMBER_BYTES)
        return Proof(
            word=word,
            signature=signature,
            key=own.name,
            certificate=own.certificate if shows_certificate else b"",
        )


class OperatorSignature:
    """What an operator's client signs with: commands, and rosters."""

    def __init__(self, federation: str, operator: str, own: OwnKey) -> None:
        self.operator = operator
        self._signer = Signer(federation, lambda: own)

    def sign(self, command: Given) -> Given:
        named = msgspec.structs.replace(command, operator=self.operator)
        proof = self.prove(kind_of(named), command_word(named))
        return msgspec.structs.replace(named, proof=proof)

    def prove(self, kind: Kind, word: bytes) -> Proof:
        return self._signer.sign(kind, word, shows_certificate=True)


class KeySignatures:
    """What ``Signatures`` are in an agent."""

    def __init__(
        self, federation: str, *, own: Callable[[], OwnKey], others: PublicKeys, pack: Pack
    ) -> None:
        self._pack = pack
        self._federation = federation
        self._signer = Signer(federation, own)
        self._others = others
        self._verified: OrderedDict[bytes, None] = OrderedDict()

    def sign_state(self, state: SiteState) -> SiteState:
        return msgspec.structs.replace(
            state, proof=self._signer.sign(Kind.STATE, state_word(state))
        )

    def sign_absence(self, absence: Absence) -> Absence:
        proof = self._signer.sign(Kind.ABSENCE, absence_word(absence))
        return msgspec.structs.replace(absence, proof=proof)

    def sign_update(self, summary: Summary) -> Summary:
        """Rows that can't travel stay unsigned: they are refused and counted where they are sent,
        as ever."""
        try:
            packed = None if summary.rows is None else self._pack(summary.query, summary.rows)
        except WireError:
            return summary
        unsigned = UpdateProof(
            signature=b"", key=b"", pane=summary.pane, more=summary.more, packed=packed
        )
        signed = self._signer.sign(Kind.UPDATE, update_word(summary, unsigned))
        proof = msgspec.structs.replace(unsigned, signature=signed.signature, key=signed.key)
        return msgspec.structs.replace(summary, proof=proof)

    def sign_ack(self, ack: Acknowledgement) -> Acknowledgement:
        leaves = tuple(msgspec.structs.replace(leaf, word=leaf_word(leaf)) for leaf in ack.leaves)
        digests = tuple(leaf_digest(leaf.word) for leaf in leaves)
        whole = msgspec.structs.replace(ack, leaves=leaves, digests=digests)
        return msgspec.structs.replace(whole, proof=self._signer.sign(Kind.ACK, ack_word(whole)))

    def sign_plan(self, install: Install) -> Install:
        proof = self._signer.sign(Kind.PLAN, plan_word(install), shows_certificate=True)
        return msgspec.structs.replace(install, plan_proof=proof)

    def sign_count(self, count: Count) -> Count:
        proof = self._signer.sign(Kind.COUNT, count_word(count), shows_certificate=True)
        return msgspec.structs.replace(count, proof=proof)

    def is_state_of(self, site: str, state: SiteState) -> bool:
        return self._is_by(site, Kind.STATE, state.proof, self._others.of)

    def is_absence_of(self, site: str, absence: Absence) -> bool:
        return self._is_by(site, Kind.ABSENCE, absence.proof, self._others.of)

    def is_update_of(self, site: str, summary: Summary) -> bool:
        """Looked at by whoever it comes to, once: nothing is remembered, since a copy is rare."""
        proof = summary.proof
        if proof is None or not proof.holds_for(summary.pane, summary.last):
            return False
        word = update_word(summary, proof)
        public = self._others.of(site, Proof(word=word, signature=proof.signature, key=proof.key))
        text = signed_text(Kind.UPDATE, self._federation, word)
        return public is not None and _verifies(public, proof.signature, text)

    def is_ack_of(self, root: str, ack: Acknowledgement) -> bool:
        return self._is_by(root, Kind.ACK, ack.proof, self._others.of)

    def is_leaf_of(self, head: Acknowledgement, leaf: AckLeaf) -> bool:
        return leaf_digest(leaf.word) == head.digest_of(leaf.number)

    def is_plan_of(self, site: str, install: Install) -> bool:
        return self._is_by(site, Kind.PLAN, install.plan_proof, self._others.of)

    def is_count_of(self, installer: str, count: Count) -> bool:
        return self._is_by(installer, Kind.COUNT, count.proof, self._others.of)

    def is_command_of(
        self, operator: str, command: Command | SiteBudget, *, is_counted: bool
    ) -> bool:
        if not may_sign(operator, command):
            return False
        key_of = partial(self._others.of_operator, is_counted=is_counted)
        return self._is_by(operator, kind_of(command), command.proof, key_of)

    def is_of_present_key(self, proof: Proof | None) -> bool:
        return proof is not None and proof.key == self._signer.key

    def _is_by(self, who: str, kind: Kind, proof: Proof | None, key_of: KeyOf) -> bool:
        public = None if proof is None else key_of(who, proof)
        if proof is None or public is None:
            return False
        text = signed_text(kind, self._federation, proof.word)
        seen = hashlib.sha256(proof.key + proof.signature + text).digest()
        if seen in self._verified:
            self._verified.move_to_end(seen)
            return True
        if not _verifies(public, proof.signature, text):
            return False
        self._verified[seen] = None
        if len(self._verified) > VERIFIED_MAX:
            self._verified.popitem(last=False)
        return True


def is_signed_with(
    public: ec.EllipticCurvePublicKey, kind: Kind, federation: str, word: bytes, signature: bytes
) -> bool:
    return _verifies(public, signature, signed_text(kind, federation, word))


def _verifies(public: ec.EllipticCurvePublicKey, signature: bytes, text: bytes) -> bool:
    if len(signature) != 2 * _NUMBER_BYTES:
        return False
    r, s = signature[:_NUMBER_BYTES], signature[_NUMBER_BYTES:]
    encoded = utils.encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
    try:
        public.verify(encoded, text, _ALGORITHM)
    except InvalidSignature:
        return False
    return True


def signed_text(kind: Kind, federation: str, word: bytes) -> bytes:
    """What is signed: no word of one kind or federation is one of another."""
    return b"\0".join((b"headwater", kind.encode(), federation.encode(), word))


def leaf_digest(word: bytes) -> bytes:
    """What stands in a head for the leaf with these bytes."""
    return hashlib.sha256(word).digest()[:DIGEST_BYTES]


def key_name(encoded: bytes) -> bytes:
    """What stands for the key with these bytes."""
    return hashlib.sha256(encoded).digest()[:KEY_BYTES]


def public_bytes(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
