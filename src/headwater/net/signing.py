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
from typing import NamedTuple, Protocol

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.algebra.proof import Proof
from headwater.algebra.site_state import SiteState
from headwater.net.words import ack_word, state_word

KEY_BYTES = 8
"""Of a digest, what stands for a key. Two keys with the same ones make signatures invalid, never
valid: the signature itself is looked at in any case."""
VERIFIED_MAX = 4_096
"""Words that are remembered as verified: a site repeats its state until it is greeted."""
_NUMBER_BYTES = 32
_ALGORITHM = ec.ECDSA(hashes.SHA256())


class Kind(StrEnum):
    STATE = "state"
    ACK = "acknowledgement"


class OwnKey(NamedTuple):
    name: bytes
    """How others refer to it."""
    private: ec.EllipticCurvePrivateKey


class PublicKeys(Protocol):
    def of(self, site: str, key: bytes) -> ec.EllipticCurvePublicKey | None:
        """The key of this name, if it is this site's and still to be believed."""


class MemoryKeys:
    """Keys of sites that live in one process."""

    def __init__(self) -> None:
        self._keys: dict[bytes, tuple[str, ec.EllipticCurvePublicKey]] = {}

    def make(self, site: str) -> OwnKey:
        private = ec.generate_private_key(ec.SECP256R1())
        own = OwnKey(key_name(public_bytes(private.public_key())), private)
        self._keys[own.name] = (site, private.public_key())
        return own

    def of(self, site: str, key: bytes) -> ec.EllipticCurvePublicKey | None:
        found = self._keys.get(key)
        return found[1] if found is not None and found[0] == site else None


class KeySignatures:
    """What ``Signatures`` are in an agent. ``own`` is asked anew each time: keys are renewed."""

    def __init__(self, federation: str, *, own: Callable[[], OwnKey], others: PublicKeys) -> None:
        self._federation = federation.encode()
        self._own = own
        self._others = others
        self._verified: OrderedDict[bytes, None] = OrderedDict()

    def sign_state(self, state: SiteState) -> SiteState:
        return msgspec.structs.replace(state, proof=self._sign(Kind.STATE, state_word(state)))

    def sign_ack(self, ack: Acknowledgement) -> Acknowledgement:
        return msgspec.structs.replace(ack, proof=self._sign(Kind.ACK, ack_word(ack)))

    def is_state_of(self, site: str, state: SiteState) -> bool:
        return self._is_by(site, Kind.STATE, state.proof)

    def is_ack_of(self, root: str, ack: Acknowledgement) -> bool:
        return self._is_by(root, Kind.ACK, ack.proof)

    def _sign(self, kind: Kind, word: bytes) -> Proof:
        name, private = self._own()
        r, s = utils.decode_dss_signature(private.sign(self._text(kind, word), _ALGORITHM))
        signature = r.to_bytes(_NUMBER_BYTES) + s.to_bytes(_NUMBER_BYTES)
        return Proof(word, signature, name)

    def _is_by(self, name: str, kind: Kind, proof: Proof | None) -> bool:
        if proof is None or len(proof.signature) != 2 * _NUMBER_BYTES:
            return False
        public = self._others.of(name, proof.key)
        return public is not None and self._is_signed(public, kind, proof)

    def _is_signed(self, public: ec.EllipticCurvePublicKey, kind: Kind, proof: Proof) -> bool:
        text = self._text(kind, proof.word)
        seen = hashlib.sha256(proof.key + proof.signature + text).digest()
        if seen in self._verified:
            self._verified.move_to_end(seen)
            return True
        r, s = proof.signature[:_NUMBER_BYTES], proof.signature[_NUMBER_BYTES:]
        encoded = utils.encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
        try:
            public.verify(encoded, text, _ALGORITHM)
        except InvalidSignature:
            return False
        self._verified[seen] = None
        if len(self._verified) > VERIFIED_MAX:
            self._verified.popitem(last=False)
        return True

    def _text(self, kind: Kind, word: bytes) -> bytes:
        return b"\0".join((b"headwater", kind.encode(), self._federation, word))


def key_name(encoded: bytes) -> bytes:
    """What stands for the key, or the certificate, with these bytes."""
    return hashlib.sha256(encoded).digest()[:KEY_BYTES]


def public_bytes(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
