"""Who wins when two sites dial each other: both ends must keep the same pair of connections."""

import msgspec
import pytest

from headwater.net.frames import Frame, Kind, Stream
from headwater.net.hello import Channel, Goodbye, Heard, Hello, decode_hello, settle_dial
from headwater.net.refusal import Refusal, Refused


def _hello(name: str = "bravo", life: int = 5, dial: int = 1) -> Hello:
    return Hello(name, "alpha", Channel.CONTROL, life=life, dial=dial)


def _keeps(hello: Hello, *, me: str, is_out: bool, heard: Heard | None = None) -> bool:
    try:
        settle_dial(hello, me=me, hello_is_out=is_out, heard=heard)
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
    values = msgspec.to_builtins(_hello()) | {"protocol": 9, "protocol_oldest": 1, "more": "x"}
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
