"""Messages as they travel, one a line: what kind it is, its bytes, and what it says.

::

    SummaryMessage⇥<base64>⇥{"is": "SummaryMessage", …}
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
from readable import readable

from headwater.net.control.control import REQUESTS, Answer
from headwater.net.refusal import Refusal, Refused
from headwater.net.transport.connection import Connection
from headwater.net.transport.frames import Frame, Kind, Stream
from headwater.net.transport.hello import Goodbye, Hello, decode_hello
from headwater.net.values.codec import Codec
from headwater.plan.command import Install

OF_A_KIND_MAX = 3
"""Messages of one kind that are kept, one of each shape: those in which most is said."""
HELLO, GOODBYE, REQUEST, ANSWER = "hello", "goodbye", "request", "answer"
ANSWERS: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


class Line(msgspec.Struct, frozen=True):
    kind: str
    data: bytes
    says: Any

    def text(self) -> str:
        says = json.dumps(self.says, sort_keys=True)
        return f"{self.kind}\t{base64.b64encode(self.data).decode()}\t{says}\n"


class Transcript:
    """Of a run: of each kind those that say most, and all that are wanted by name."""

    def __init__(self) -> None:
        self._wanted: dict[tuple[str, str], Line] = {}
        self._heard: dict[tuple[str, str], Line] = {}

    def want(self, kind: str, name: str, data: bytes, value: Any) -> None:
        """The first of each name."""
        self._wanted.setdefault((kind, name), Line(kind, data, readable(value)))

    def hear(self, kind: str, data: bytes, value: Any) -> None:
        """One of many; the first of each shape."""
        key = (kind, _shape(value))
        if key not in self._heard:
            self._heard[key] = Line(kind, data, readable(value))

    def write(self, path: Path) -> None:
        kinds = {kind for kind, _ in self._heard}
        lines = [*self._wanted.values(), *(line for kind in kinds for line in self._richest(kind))]
        once = {(line.kind, line.data): line for line in lines}
        path.write_text("".join(once[key].text() for key in sorted(once)))

    def _richest(self, kind: str) -> list[Line]:
        shapes = sorted((shape for of, shape in self._heard if of == kind), key=len)
        return [self._heard[kind, shape] for shape in shapes[-OF_A_KIND_MAX:]]


def _shape(value: Any) -> str:
    """Which of its fields say something."""
    if isinstance(value, (tuple, list)):
        return " ".join(sorted({_shape(one) for one in value}))
    if not isinstance(value, msgspec.Struct):
        return ""
    fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return " ".join(f"{name}({_shape(one)})" for name, one in fields if one)


def read_transcript(path: Path) -> list[Line]:
    lines = []
    for text in path.read_text().splitlines():
        kind, data, says = text.split("\t")
        lines.append(Line(kind, base64.b64decode(data), json.loads(says)))
    return lines


class ListeningCodec(Codec):
    """An agent's codec that writes down what it encodes."""

    transcript: Transcript

    def encode(self, message: Any) -> bytes:
        data = super().encode(message)
        kind, inside = type(message).__name__, _types_in(message) + _installed(message)
        self.transcript.want(kind, inside, data, self.decode(data))
        self.transcript.hear(kind, data, self.decode(data))
        return data


def _types_in(message: Any) -> str:
    """A command is an install or a removal: there is to be one of each."""
    fields = (getattr(message, name) for name in getattr(message, "__struct_fields__", ()))
    return " ".join(type(one).__name__ for one in fields if isinstance(one, msgspec.Struct))


def _installed(message: Any) -> str:
    """Which query: rows can't be read without its install, so there is to be one of each."""
    command = getattr(message, "command", None)
    return f" {command.query.id}" if isinstance(command, Install) else ""


def decoded(line: Line, codec: Codec) -> Any:
    """What this version reads in it. Raises ``Refused`` where it understands none of it."""
    if line.kind in (HELLO, GOODBYE):
        kind = Kind.HELLO if line.kind == HELLO else Kind.GOODBYE
        return decode_hello(Frame(kind, Stream.CONTROL, line.data), sender="recorded")
    if line.kind in (REQUEST, ANSWER):
        decoder: msgspec.msgpack.Decoder[Any] = REQUESTS if line.kind == REQUEST else ANSWERS
        try:
            return decoder.decode(line.data)
        except msgspec.MsgspecError as error:
            raise Refused(Refusal.MALFORMED, str(error)) from None
    return codec.decode(line.data)


def listen_to_greetings(transcript: Transcript) -> None:
    """On all connections of this process, from now on."""
    real = Connection.say

    def say(self: Any, word: Hello | Goodbye) -> None:
        kind = HELLO if isinstance(word, Hello) else GOODBYE
        name = str(word.channel) if isinstance(word, Hello) else word.reason
        transcript.want(kind, name, msgspec.msgpack.encode(word), word)
        real(self, word)

    Connection.say = say  # type: ignore[method-assign]
