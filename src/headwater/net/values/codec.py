"""Messages between peers to bytes and back: the one place where bytes from outside become values.

::

    u8 kind | body                the high bit of kind: the body is one zstd frame

The kind is a byte of its own, so that a message which only a newer version knows is dropped and
counted instead of looking like garbage. Bodies are MessagePack, decoded into typed values with
limits (``wire.py``); the rows of a summary are packed for themselves (``rows.py``), so that a
relay which does not know the query passes them on without looking inside.

Everything that goes wrong in decoding is a ``Refused`` with the reason to count; nothing else
comes out of here whatever the bytes are, which is what the fuzzer checks.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import msgspec
import zstandard
from msgspec import Meta

from headwater.algebra.bounds import ORDINALS_MAX, Name, Number
from headwater.algebra.route import START
from headwater.errors import HeadwaterError, WireError
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.heartbeats import (
    WireHeartbeat,
    WirePlace,
    beat_in,
    place_in,
    wire_beat,
    wire_place,
)
from headwater.net.values.rows import (
    DEFAULT_ROWS_LIMITS,
    ZSTD_LEVEL,
    RowsCodec,
    RowsLimits,
    SchemaOf,
    TakerOf,
    unpack,
)
from headwater.net.values.wire import (
    Age,
    CertificateTold,
    WireRoute,
    WireSigned,
    WireSummary,
    checked_summary,
    wire_summary,
)
from headwater.net.values.wire_acks import WireAckOnItsWay
from headwater.net.values.wire_commands import WireCommand
from headwater.net.values.words import (
    absence_in,
    ack_in,
    ack_on_its_way,
    alter_in,
    command_in,
    count_in,
    signed_absence,
    signed_alter,
    signed_command,
    signed_count,
    signed_state,
    state_in,
)
from headwater.overlay.carry.state_batch import STATES_PER_MESSAGE_MAX
from headwater.overlay.links.markers import NUMBER_MAX
from headwater.overlay.messages import (
    PAUSES_MAX,
    AbsenceMessage,
    AckMessage,
    AlterMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    CoordinatesMessage,
    Heartbeat,
    Message,
    PausesMessage,
    Placed,
    StatesMessage,
    StreamMarker,
    SummaryMessage,
    TreePause,
    aged,
)

MESSAGE_BYTES_MAX = 32 * 1024 * 1024
"""Before its own compression, rows packed. Nobody makes a longer one, so nobody accepts one."""

COMPRESS_FROM_BYTES = 512
"""Below, zstd's own overhead and time outweigh what a control message could save."""

EXPANDED_BYTES_FREE = 256 * 1024
EXPANSION_MAX = 100
"""A compressed body may unfold to the first, and to so many bytes for each of its own. zstd shrinks
zeros ten thousand times, and each byte may become an object: without this, three kilobytes cost the
reader gigabytes. What shrinks better is sent as it is."""

COMMAND_BYTES_MAX = 8 * 1024 * 1024
"""Trees of 100,000 sites and the texts of a query."""

COMPRESSED = 0x80

Names = Annotated[tuple[Name, ...], Meta(max_length=1 << 16)]


class WireStates(msgspec.Struct, frozen=True, array_like=True):
    states: Annotated[tuple[WireSigned, ...], Meta(max_length=STATES_PER_MESSAGE_MAX)]
    route: WireRoute = START
    plan_version: Number = 0


class WireAbsenceMessage(msgspec.Struct, frozen=True, array_like=True):
    absence: WireSigned
    age_s: Age
    route: WireRoute = START
    plan_version: Number = 0


class WirePauses(msgspec.Struct, frozen=True, array_like=True):
    pauses: Annotated[tuple[TreePause, ...], Meta(max_length=PAUSES_MAX)]


class WireCoordinates(msgspec.Struct, frozen=True, array_like=True):
    placed: Annotated[tuple[tuple[int, WirePlace], ...], Meta(max_length=ORDINALS_MAX)]


class WireCommandsKnown(msgspec.Struct, frozen=True, array_like=True):
    counts: Annotated[tuple[WireSigned, ...], Meta(max_length=ORDINALS_MAX)]
    live: Names
    plans: Annotated[dict[Name, int], Meta(max_length=1 << 16)] = {}


class WireCommandMessage(msgspec.Struct, frozen=True, array_like=True):
    command: WireCommand
    count: WireSigned | None = None


class WireAlterMessage(msgspec.Struct, frozen=True, array_like=True):
    alter: WireSigned
    count: WireSigned | None = None


class WireStreamMarker(msgspec.Struct, frozen=True, array_like=True):
    """Of which query it is only its sender needs to know."""

    number: Annotated[int, Meta(ge=1, le=NUMBER_MAX)]


class WireAskInstall(msgspec.Struct, frozen=True, array_like=True):
    ids: Names


class Codec:
    """One for each agent. ``schema_of`` is asked anew each time, so queries may come and go."""

    def __init__(
        self,
        schema_of: SchemaOf,
        limits: RowsLimits = DEFAULT_ROWS_LIMITS,
        *,
        taker_of: TakerOf = lambda query: None,
        ordinals_max: int = ORDINALS_MAX,
    ) -> None:
        """``ordinals_max``: how many ordinals the roster has, which no tree exceeds."""
        self.rows = RowsCodec(schema_of, limits, taker_of=taker_of)
        self.ordinals_max = ordinals_max
        self._compressor = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=limits.window_bytes_max)

    def encode(self, message: Message | CertificateTold) -> bytes:
        """Raises ``WireError`` for what no peer would accept: that is a mistake of ours."""
        layout = _BY_TYPE[type(message)]
        first, body = layout.number, msgspec.msgpack.encode(layout.to_wire(self, message))
        if len(body) > layout.bytes_max:
            raise WireError(
                f"{layout.type.__name__}: wanted at most {layout.bytes_max} bytes, got {len(body)}"
            )
        if layout.compress and len(body) >= COMPRESS_FROM_BYTES:
            packed = self._compressor.compress(body)
            if len(body) <= _expanded_bytes_max(packed):
                first, body = layout.number | COMPRESSED, packed
        return bytes((first,)) + body

    def decode(self, data: bytes, *, delay_s: float = 0.0) -> Message | CertificateTold:
        """``delay_s`` is what the transport knows of the way; ages in the message grow by it."""
        if not data:
            raise Refused(Refusal.MALFORMED, "an empty message")
        layout = _BY_NUMBER.get(data[0] & ~COMPRESSED)
        if layout is None:
            raise Refused(Refusal.UNKNOWN_MESSAGE, f"kind {data[0] & ~COMPRESSED}")
        body = data[1:]
        if data[0] & COMPRESSED:
            bytes_max = min(layout.bytes_max, _expanded_bytes_max(body))
            body = unpack(body, self._decompressor, bytes_max)
        elif len(body) > layout.bytes_max:
            raise Refused(
                Refusal.MALFORMED,
                f"{layout.type.__name__}: wanted at most {layout.bytes_max} bytes, got {len(body)}",
            )
        try:
            found = layout.from_wire(self, layout.decoder.decode(body))
            return found if isinstance(found, CertificateTold) else aged(found, delay_s)
        except (Refused, MemoryError):
            raise
        except (msgspec.MsgspecError, HeadwaterError, ValueError, RecursionError) as error:
            raise Refused(
                Refusal.MALFORMED, f"{layout.type.__name__}: {str(error)[:200]}"
            ) from None


def _as_it_is(_: Codec, value: Any) -> Any:
    return value


class _Layout(NamedTuple):
    """How one type of message travels. One whose fields have bounds of their own, and are small,
    travels as it is; for others there is a struct of the wire, and ways there and back."""

    number: int
    """Given once and never reused: a neighbouring version reads it."""
    type: type[Any]
    decoder: msgspec.msgpack.Decoder[Any]
    to_wire: Callable[[Codec, Any], Any] = _as_it_is
    from_wire: Callable[[Codec, Any], Message | CertificateTold] = _as_it_is
    compress: bool = True
    bytes_max: int = MESSAGE_BYTES_MAX


def _expanded_bytes_max(packed: bytes) -> int:
    return EXPANDED_BYTES_FREE + EXPANSION_MAX * len(packed)


def _summary_to_wire(codec: Codec, message: SummaryMessage) -> WireSummary | tuple[Any, ...]:
    """Rows that somebody signed travel as they were signed. What is at its default at the end
    is left out: most summaries are of one pane, and what was merged has no proof."""
    summary = message.summary
    if summary.proof is not None:
        rows = summary.proof.packed
    else:
        rows = None if summary.rows is None else codec.rows.encode(summary.query, summary.rows)
    wire = wire_summary(summary, rows)
    if wire.signed is not None:
        return wire
    return msgspec.structs.astuple(wire)[: -1 if wire.more else -2]


def _summary_from_wire(codec: Codec, wire: WireSummary) -> Message:
    rows = None if wire.rows is None else codec.rows.decode(wire.query, wire.rows)
    return SummaryMessage(checked_summary(wire, rows))


_LAYOUTS = (
    _Layout(
        1,
        Heartbeat,
        msgspec.msgpack.Decoder(WireHeartbeat),
        lambda _, beat: wire_beat(beat),
        lambda _, wire: beat_in(wire),
    ),
    _Layout(
        2,
        SummaryMessage,
        msgspec.msgpack.Decoder(WireSummary),
        _summary_to_wire,
        _summary_from_wire,
        compress=False,
    ),
    _Layout(
        3,
        StatesMessage,
        msgspec.msgpack.Decoder(WireStates),
        lambda _, message: WireStates(
            states=tuple(signed_state(state) for state in message.states),
            route=message.route,
            plan_version=message.plan_version,
        ),
        lambda _, wire: StatesMessage(
            states=tuple(state_in(signed) for signed in wire.states),
            route=wire.route,
            plan_version=wire.plan_version,
        ),
    ),
    _Layout(
        4,
        AckMessage,
        msgspec.msgpack.Decoder(WireAckOnItsWay),
        lambda _, message: ack_on_its_way(message.ack),
        lambda _, wire: AckMessage(ack_in(wire)),
    ),
    _Layout(
        5,
        CommandMessage,
        msgspec.msgpack.Decoder(WireCommandMessage),
        lambda _, message: WireCommandMessage(
            command=signed_command(message.command),
            count=None if message.count is None else signed_count(message.count),
        ),
        lambda codec, wire: CommandMessage(
            command=command_in(wire.command, ordinals_max=codec.ordinals_max),
            count=None if wire.count is None else count_in(wire.count),
        ),
        bytes_max=COMMAND_BYTES_MAX,
    ),
    _Layout(
        6,
        CommandsKnown,
        msgspec.msgpack.Decoder(WireCommandsKnown),
        lambda _, known: WireCommandsKnown(
            counts=tuple(signed_count(count) for count in known.counts),
            live=known.live,
            plans=known.plans,
        ),
        lambda _, wire: CommandsKnown(
            counts=tuple(count_in(signed) for signed in wire.counts),
            live=wire.live,
            plans=wire.plans,
        ),
    ),
    _Layout(
        7,
        AskInstall,
        msgspec.msgpack.Decoder(WireAskInstall),
        lambda _, ask: WireAskInstall(ask.ids),
        lambda _, wire: AskInstall(wire.ids),
    ),
    _Layout(
        8,
        CoordinatesMessage,
        msgspec.msgpack.Decoder(WireCoordinates),
        lambda _, message: WireCoordinates(
            tuple((one.ordinal, wire_place(one.coordinate)) for one in message.placed)
        ),
        lambda _, wire: CoordinatesMessage(
            tuple(
                Placed(ordinal=ordinal, coordinate=place_in(place))
                for ordinal, place in wire.placed
            )
        ),
    ),
    _Layout(9, CertificateTold, msgspec.msgpack.Decoder(CertificateTold), compress=False),
    _Layout(
        10,
        AlterMessage,
        msgspec.msgpack.Decoder(WireAlterMessage),
        lambda _, message: WireAlterMessage(
            alter=signed_alter(message.alter),
            count=None if message.count is None else signed_count(message.count),
        ),
        lambda _, wire: AlterMessage(
            alter=alter_in(wire.alter), count=None if wire.count is None else count_in(wire.count)
        ),
        bytes_max=COMMAND_BYTES_MAX,
    ),
    _Layout(
        12,
        StreamMarker,
        msgspec.msgpack.Decoder(WireStreamMarker),
        lambda _, marker: WireStreamMarker(marker.number),
        lambda _, wire: StreamMarker(wire.number),
        compress=False,
    ),
    _Layout(
        13,
        AbsenceMessage,
        msgspec.msgpack.Decoder(WireAbsenceMessage),
        lambda _, message: WireAbsenceMessage(
            absence=signed_absence(message.absence),
            age_s=message.absence.age_s,
            route=message.route,
            plan_version=message.plan_version,
        ),
        lambda _, wire: AbsenceMessage(
            absence=absence_in(wire.absence, age_s=wire.age_s),
            route=wire.route,
            plan_version=wire.plan_version,
        ),
    ),
    _Layout(
        14,
        PausesMessage,
        msgspec.msgpack.Decoder(WirePauses),
        lambda _, message: WirePauses(message.pauses),
        lambda _, wire: PausesMessage(wire.pauses),
    ),
)

_BY_TYPE = {layout.type: layout for layout in _LAYOUTS}
_BY_NUMBER = {layout.number: layout for layout in _LAYOUTS}
