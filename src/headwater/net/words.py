"""Words that somebody signs, as the exact bytes that are signed and travel.

A word that came with a proof is never written anew: its bytes are handed on as they came.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.algebra.proof import Proof
from headwater.algebra.site_state import SiteState
from headwater.net.wire import (
    WireAck,
    WireAckOnItsWay,
    WireSigned,
    WireState,
    checked_ack,
    checked_state,
    wire_ack,
    wire_state,
)

_states = msgspec.msgpack.Decoder(WireState)
_acks = msgspec.msgpack.Decoder(WireAck)


def state_word(state: SiteState) -> bytes:
    return msgspec.msgpack.encode(wire_state(state))


def ack_word(ack: Acknowledgement) -> bytes:
    return msgspec.msgpack.encode(wire_ack(ack))


def signed_state(state: SiteState) -> WireSigned:
    return _as_it_came(state.proof) or WireSigned(state_word(state))


def signed_ack(ack: Acknowledgement) -> WireSigned:
    return _as_it_came(ack.proof) or WireSigned(ack_word(ack))


def state_in(signed: WireSigned) -> SiteState:
    """Its proof is what is to be looked at; nothing is proven yet."""
    return checked_state(_states.decode(signed.word), signed)


def ack_in(way: WireAckOnItsWay) -> Acknowledgement:
    return checked_ack(_acks.decode(way.signed.word), way)


def _as_it_came(proof: Proof | None) -> WireSigned | None:
    return None if proof is None else WireSigned(proof.word, proof.signature, proof.key)
