"""Who wins when two sites dial each other: both ends must keep the same pair of connections."""

import msgspec
import pytest

from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.frames import Frame, Kind, Stream
from headwater.net.transport.hello import (
    DIGEST_BYTES_MAX,
    Channel,
    Goodbye,
    Heard,
    Hello,
    RosterHeld,
    decide_dial,
    decide_roster,
    decode_hello,
)


def _hello(name: str = "bravo", life: int = 5, dial: int = 1) -> Hello:
    return Hello(name, "alpha", Channel.CONTROL, life=life, dial=dial)


def _keeps(hello: Hello, *, me: str, is_out: bool, heard: Heard | None = None) -> bool:
    try:
        decide_dial(hello, me=me, hello_is_out=is_out, heard=heard)
    except Refused:
        return False
    return True


@pytest.mark.parametrize(("one", "other"), [("alpha", "bravo"), ("bravo", "alpha")])
def test_of_two_dials_at_once_exactly_one_is_kept(one: str, other: str) -> None:
    """Both hellos are out and cross each other on the way."""
    one_keeps = _keeps(_hello(other), me=one, is_out=True)
    other_keeps = _keeps(_hello(one), me=other, is_out=True)
    assert one_keeps != other_keeps


def test_a_dial_whose_hello_has_not_left_gives_way_to_one_that_has_come() -> None:
    assert _keeps(_hello("bravo"), me="alpha", is_out=False)


def test_the_echo_of_a_dial_that_was_given_up_is_refused() -> None:
    assert not _keeps(_hello(life=5, dial=3), me="alpha", is_out=False, heard=Heard(5, 3))


def test_a_newer_dial_and_one_of_a_new_life_are_kept() -> None:
    assert _keeps(_hello(life=5, dial=4), me="alpha", is_out=False, heard=Heard(5, 3))
    assert _keeps(_hello(life=6, dial=1), me="alpha", is_out=False, heard=Heard(5, 3))


def _frame(value: object, kind: Kind = Kind.HELLO) -> Frame:
    return Frame(kind, Stream.CONTROL, msgspec.msgpack.encode(value))


def _reason(frame: Frame) -> Refusal:
    with pytest.raises(Refused) as refused:
        decode_hello(frame, sender="bravo")
    return refused.value.reason


def test_a_hello_of_a_newer_version_that_still_speaks_ours_is_understood() -> None:
    values = msgspec.structs.asdict(_hello()) | {"protocol": 9, "protocol_oldest": 1, "more": "x"}
    assert decode_hello(_frame(values), sender="bravo").protocol == 9


def test_versions_without_a_common_one_part_with_a_reason() -> None:
    newer = msgspec.structs.replace(_hello(), protocol=9, protocol_oldest=8)
    assert _reason(_frame(newer)) is Refusal.PROTOCOL_VERSION
    older = msgspec.structs.replace(_hello(), protocol=0, protocol_oldest=0)
    assert _reason(_frame(older)) is Refusal.PROTOCOL_VERSION


def test_a_goodbye_says_why() -> None:
    with pytest.raises(Refused, match="bravo says: you are not in the roster"):
        decode_hello(
            _frame(Goodbye("not in roster", "you are not in the roster"), Kind.GOODBYE),
            sender="bravo",
        )


def test_anything_else_is_no_hello() -> None:
    assert _reason(_frame(_hello(), Kind.LAST)) is Refusal.FRAME_KIND
    assert _reason(_frame([1, 2, 3])) is Refusal.MALFORMED
    assert _reason(Frame(Kind.HELLO, Stream.CONTROL, b"\xc1")) is Refusal.MALFORMED


def _with(version: int, digest: bytes) -> Hello:
    return msgspec.structs.replace(_hello(), roster=RosterHeld(version, digest))


def test_the_same_roster_needs_no_word() -> None:
    assert decide_roster(_with(3, b"one"), RosterHeld(3, b"one")) == ""


@pytest.mark.parametrize("digest", [b"other", b""])
def test_two_rosters_of_one_version_make_no_link(digest: bytes) -> None:
    with pytest.raises(Refused, match="bravo has another roster of version 3") as refused:
        decide_roster(_with(3, digest), RosterHeld(3, b"one"))
    assert refused.value.reason is Refusal.OTHER_ROSTER


def test_of_two_versions_the_older_one_is_told_of() -> None:
    assert "this agent 2: give it the newer file" in decide_roster(
        _with(3, b"one"), RosterHeld(2, b"other")
    )
    assert "version 3 of the roster, which is older than 4 here" in decide_roster(
        _with(3, b"one"), RosterHeld(4, b"other")
    )


def test_a_hello_without_a_roster_is_read_and_one_with_a_long_digest_is_not() -> None:
    values = msgspec.structs.asdict(_hello())
    del values["roster"]
    assert decode_hello(_frame(values), sender="bravo").roster == RosterHeld()
    assert _reason(_frame(_with(1, bytes(DIGEST_BYTES_MAX + 1)))) is Refusal.MALFORMED
