"""Keys in the simulator: objects that only their owners have, so that nobody can forge a word.

A proof holds the key and the word that was signed with it. Whoever has a proof can hand it on,
replay it, or put it beside another word, which shows; making one takes the key.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.algebra.site_state import SiteState

Word = TypeVar("Word", SiteState, Acknowledgement)


class SimulatedKey:
    """One for each site, for ever: where a disk is lost, the certificate is put in place again."""


class SimulatedProof:
    __slots__ = ("key", "word")

    def __init__(self, key: SimulatedKey, word: SiteState | Acknowledgement) -> None:
        self.key = key
        self.word = word


class SimulatedSignatures:
    """What ``Signatures`` are here; ``keys`` are looked at, and only ``own`` is signed with."""

    def __init__(self, own: SimulatedKey, keys: dict[str, SimulatedKey]) -> None:
        self._own = own
        self._keys = keys

    def sign_state(self, state: SiteState) -> SiteState:
        return msgspec.structs.replace(state, proof=SimulatedProof(self._own, _bare(state)))

    def sign_ack(self, ack: Acknowledgement) -> Acknowledgement:
        return msgspec.structs.replace(ack, proof=SimulatedProof(self._own, _bare(ack)))

    def is_state_of(self, site: str, state: SiteState) -> bool:
        return self._is_by(site, state)

    def is_ack_of(self, root: str, ack: Acknowledgement) -> bool:
        return self._is_by(root, ack)

    def _is_by(self, name: str, word: Word) -> bool:
        proof = word.proof
        is_proof = isinstance(proof, SimulatedProof) and proof.key is self._keys.get(name)
        return is_proof and proof.word == _bare(word)


def _bare(word: Word) -> Word:
    """Without its proof, and without what grows on the way."""
    if isinstance(word, Acknowledgement):
        return msgspec.structs.replace(word, proof=None, age_s=0.0, late_s=0.0)
    return msgspec.structs.replace(word, proof=None)
