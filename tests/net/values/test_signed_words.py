"""A word is believed of its speaker alone: by its signature, whoever has carried it."""

from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import utils
from pane_kit import make_query

from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.absence import LOST_MAX, Absence
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld, with_leaves
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import SiteState
from headwater.errors import WireError
from headwater.net.identity.signing import (
    VERIFIED_MAX,
    KeySignatures,
    Kind,
    MemoryKeys,
    OperatorSignature,
)
from headwater.net.values.codec import Codec
from headwater.net.values.words import state_word
from headwater.overlay.messages import AbsenceMessage, AckMessage, StatesMessage
from headwater.plan.command import Install, Remove
from headwater.plan.questions.ask import Ask

QUERY = "hits@alpha#1"
STATE = SiteState(
    query=QUERY,
    ordinal=0,
    incarnation=2**60,
    number=4,
    first_pane=17,
    sealed_through=20,
    counts=((18, 2),),
)
ABSENCE = Absence(QUERY, speaker=0, clock_s=1e9, lost=(3, 4), guests=(7,))
ACK = Acknowledgement(query=QUERY, root_incarnation=2**60, number=4, done_through=17)


@pytest.fixture
def keys() -> MemoryKeys:
    return MemoryKeys()


def signer(keys: MemoryKeys, site: str, federation: str = "testland") -> KeySignatures:
    own = keys.make(site)
    return KeySignatures(federation, own=lambda: own, others=keys, pack=lambda _, rows: rows)


def test_what_a_site_has_signed_is_its_word(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    assert bravo.is_state_of("alpha", alpha.sign_state(STATE))
    assert bravo.is_ack_of("alpha", alpha.sign_ack(ACK))


def test_nobody_speaks_for_another(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    assert not alpha.is_state_of("alpha", bravo.sign_state(STATE))
    assert not alpha.is_ack_of("alpha", bravo.sign_ack(ACK))
    assert not alpha.is_state_of("alpha", STATE)
    assert not alpha.is_ack_of("alpha", ACK)


def test_whom_a_parent_has_lost_is_its_own_word_as_it_travels(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    codec = Codec(lambda query: None)
    sent = codec.encode(AbsenceMessage(alpha.sign_absence(ABSENCE)))
    came = codec.decode(sent, delay_s=1.5)
    assert isinstance(came, AbsenceMessage)
    assert (came.absence.age_s, came.absence.lost) == (1.5, (3, 4))
    assert bravo.is_absence_of("alpha", came.absence)
    assert not bravo.is_absence_of("bravo", came.absence)
    assert not bravo.is_absence_of("alpha", ABSENCE)
    proof = alpha.sign_state(STATE).proof
    assert not bravo.is_absence_of("alpha", msgspec.structs.replace(ABSENCE, proof=proof))


def test_a_request_for_the_largest_that_is_none_is_refused_whoever_signs_it(keys: Any) -> None:
    alpha, codec = signer(keys, "alpha"), Codec(lambda query: None)
    for asked in (TopRequest(1, 1, -1.0), TopRequest(1, 1, 0.0, (2, 1))):
        ack = alpha.sign_ack(msgspec.structs.replace(ACK, largest=(asked,)))
        with pytest.raises(WireError):
            codec.decode(codec.encode(AckMessage(ack)), delay_s=0.0)


@pytest.mark.parametrize(
    "change",
    [
        {"lost": (4, 3)},
        {"guests": (7, 7)},
        {"lost": tuple(range(LOST_MAX + 1))},
        {"guests": tuple(range(LOST_MAX + 1))},
    ],
)
def test_sites_of_a_word_of_absence_rise_and_are_not_too_many(keys: Any, change: Any) -> None:
    alpha, codec = signer(keys, "alpha"), Codec(lambda query: None)
    word = alpha.sign_absence(msgspec.structs.replace(ABSENCE, **change))
    with pytest.raises(WireError):
        codec.decode(codec.encode(AbsenceMessage(word)), delay_s=0.0)


def test_a_signature_of_one_kind_of_word_passes_for_no_other(keys: Any) -> None:
    alpha = signer(keys, "alpha")
    proof = alpha.sign_state(STATE).proof
    assert not alpha.is_ack_of("alpha", msgspec.structs.replace(ACK, proof=proof))


def test_a_signature_holds_in_its_own_federation(keys: Any) -> None:
    there, here = signer(keys, "alpha", "elsewhere"), signer(keys, "bravo")
    assert not here.is_state_of("alpha", there.sign_state(STATE))


@pytest.mark.parametrize("at", [0, 5, -1])
def test_one_bit_of_the_word_or_of_its_signature_matters(keys: Any, at: int) -> None:
    alpha = signer(keys, "alpha")
    proof = alpha.sign_state(STATE).proof

    def flipped(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[at] ^= 1
        return bytes(changed)

    for word, signature in (
        (flipped(proof.word), proof.signature),
        (proof.word, flipped(proof.signature)),
    ):
        bad = msgspec.structs.replace(
            STATE, proof=Proof(word=word, signature=signature, key=proof.key)
        )
        assert not alpha.is_state_of("alpha", bad)
        assert not alpha.is_state_of("alpha", bad), "nor when it is heard again"


LEAFY = with_leaves(ACK, panes=[PaneHeld(18, 1 << 700 | 5), PaneHeld(19, 1 << 300 | 1)])


def over_the_wire(ack: Acknowledgement) -> Acknowledgement:
    codec = Codec(lambda _: None)
    message = codec.decode(codec.encode(AckMessage(ack)))
    assert isinstance(message, AckMessage)
    return message.ack


def test_a_leaf_is_the_heads_whichever_others_are_handed_on(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    said = alpha.sign_ack(LEAFY)
    assert [leaf.number for leaf in said.leaves] == [0, 1, 2]
    for left in ((), said.leaves[:1], said.leaves[1:], said.leaves):
        heard = over_the_wire(msgspec.structs.replace(said, leaves=left))
        assert bravo.is_ack_of("alpha", heard)
        assert heard.leaves == left
        assert all(bravo.is_leaf_of(heard, leaf) for leaf in heard.leaves)
        assert over_the_wire(heard) == heard, "handed on as it came"


def test_a_leaf_of_another_head_of_another_site_or_changed_is_not_the_heads(keys: Any) -> None:
    alpha = signer(keys, "alpha")
    said = over_the_wire(alpha.sign_ack(LEAFY))
    other = over_the_wire(alpha.sign_ack(with_leaves(ACK, panes=[PaneHeld(18, 7)])))
    first, second, _ = said.leaves
    changed = bytearray(first.word)
    changed[-5] ^= 1
    for leaf in (
        *other.leaves,
        msgspec.structs.replace(first, number=1),
        msgspec.structs.replace(first, number=7),
        msgspec.structs.replace(second, word=b""),
        msgspec.structs.replace(first, word=bytes(changed)),
    ):
        assert not alpha.is_leaf_of(said, leaf), leaf
    stripped = msgspec.structs.replace(said, digests=())
    assert not alpha.is_leaf_of(stripped, first), "a head without digests has no leaves"


def test_digests_are_part_of_what_is_signed(keys: Any) -> None:
    """Whoever puts others beside the root's signature has another word, and no proof of it."""
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    said, lie = alpha.sign_ack(LEAFY), bravo.sign_ack(LEAFY)
    assert said.proof.word == lie.proof.word, "the same leaves have the same digests"
    other = bravo.sign_ack(with_leaves(ACK, panes=[PaneHeld(18, 7)]))
    proof = msgspec.structs.replace(said.proof, word=other.proof.word)
    assert not bravo.is_ack_of("alpha", msgspec.structs.replace(other, proof=proof))


def test_nobody_but_the_root_asks_for_the_largest_groups(keys: Any) -> None:
    """A relay that puts another value or other groups into the root's word has no proof of it."""
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    asked = TopRequest(18, 3, 40.0, (7, 9))
    said = over_the_wire(alpha.sign_ack(msgspec.structs.replace(ACK, largest=(asked,))))
    assert said.largest == (asked,)
    assert bravo.is_ack_of("alpha", said)
    for forged in ((), (TopRequest(18, 3, 0.0, (7, 9)),), (TopRequest(18, 3, 40.0, (7,)),)):
        lie = bravo.sign_ack(msgspec.structs.replace(ACK, largest=forged))
        proof = msgspec.structs.replace(said.proof, word=lie.proof.word)
        assert not bravo.is_ack_of("alpha", msgspec.structs.replace(lie, proof=proof))


@pytest.mark.parametrize("signature", [b"", b"\0" * 64, b"\xff" * 64, b"short", b"x" * 63])
def test_what_is_no_signature_is_none(keys: Any, signature: bytes) -> None:
    alpha = signer(keys, "alpha")
    good = alpha.sign_state(STATE).proof
    bad = msgspec.structs.replace(
        STATE, proof=Proof(word=good.word, signature=signature, key=good.key)
    )
    assert not alpha.is_state_of("alpha", bad)


def test_a_relay_hands_on_the_bytes_that_came_also_where_it_knows_fewer_fields(keys: Any) -> None:
    """A later version appends a field; the version between reads the rest and passes on all."""
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    longer = [*msgspec.msgpack.decode(state_word(STATE)), {"later": 1}]
    proof = alpha._signer.sign(Kind.STATE, msgspec.msgpack.encode(longer))
    codec = Codec(lambda _: None)
    sent = codec.encode(StatesMessage((msgspec.structs.replace(STATE, proof=proof),)))
    between = codec.decode(sent)
    assert isinstance(between, StatesMessage)
    assert msgspec.structs.replace(between.states[0], proof=None) == STATE
    handed_on = codec.decode(codec.encode(between))
    assert isinstance(handed_on, StatesMessage)
    assert handed_on.states[0].proof.word == proof.word
    assert bravo.is_state_of("alpha", handed_on.states[0])


def test_age_is_no_part_of_an_acknowledgements_word(keys: Any) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    signed = alpha.sign_ack(ACK)
    codec = Codec(lambda _: None)
    aged = msgspec.structs.replace(signed, age_s=7.5, late_s=2.5)
    came = codec.decode(codec.encode(AckMessage(aged)))
    assert isinstance(came, AckMessage)
    assert (came.ack.age_s, came.ack.late_s) == (7.5, 2.5)
    assert bravo.is_ack_of("alpha", came.ack)


def test_what_is_heard_again_is_not_verified_again_and_no_more_is_remembered_than_the_limit(
    keys: Any, monkeypatch: Any
) -> None:
    alpha, bravo = signer(keys, "alpha"), signer(keys, "bravo")
    monkeypatch.setattr("headwater.net.identity.signing.VERIFIED_MAX", 3)
    assert VERIFIED_MAX > 3
    looked: list[int] = []
    encode = utils.encode_dss_signature
    monkeypatch.setattr(
        utils, "encode_dss_signature", lambda r, s: (looked.append(r), encode(r, s))[1]
    )
    for number in range(10):
        state = alpha.sign_state(msgspec.structs.replace(STATE, number=number))
        assert bravo.is_state_of("alpha", state)
        assert bravo.is_state_of("alpha", state)
    assert len(looked) == 10
    assert len(bravo._verified) == 3


def test_a_viewers_signature_is_believed_of_a_question_alone(keys: Any) -> None:
    """Whatever else it stands under, and however true it is."""
    alpha = signer(keys, "alpha")
    question = msgspec.structs.replace(
        make_query(name="ask_1"), end_pane=6, reads_past=True, ask=Ask(stream=QUERY, until_us=1)
    )
    stream = Install(make_query(), trees=(), roster_version=1)
    asked = msgspec.structs.replace(stream, query=question)
    removal = Remove(question.id, "s0", 3)
    for name, believed in (("viewer/walter", [True, False, False]), ("ann", [True] * 3)):
        signature = OperatorSignature("testland", name, keys.make_operator(name))
        found = [
            alpha.is_command_of(name, signature.sign(one), is_counted=False)
            for one in (asked, stream, removal)
        ]
        assert found == believed
