"""Why something from outside was not let in: one word for each reason, and the error that says it.

Every refusal is counted under its word, so an operator sees "foreign certificate: 412" and not a
log full of stack traces, and a test can ask that exactly the right counter rose.
"""

from enum import StrEnum

from headwater.errors import WireError


class Refusal(StrEnum):
    # Before a peer is known.
    NOT_TLS = "not tls"
    NO_CERTIFICATE = "no certificate"
    FOREIGN_CERTIFICATE = "foreign certificate"
    EXPIRED_CERTIFICATE = "expired certificate"
    DENIED_CERTIFICATE = "denied certificate"
    HANDSHAKE = "handshake failed"
    HANDSHAKE_TIMEOUT = "handshake timeout"
    HELLO_TIMEOUT = "hello timeout"
    TOO_MANY_CONNECTIONS = "too many connections"
    # Known, but not welcome.
    NOT_IN_ROSTER = "not in roster"
    WRONG_ROLE = "wrong role"
    WRONG_NAME = "wrong name"
    OTHER_ROSTER = "other roster"
    PROTOCOL_VERSION = "protocol version"
    SILENT = "silent"
    IDLE = "idle"
    SUPERSEDED = "superseded"
    UNREACHABLE = "unreachable"
    REFUSED_US = "refused us"
    # Bytes that break the frame format: the connection ends, nothing behind them can be trusted.
    FRAME_TOO_LONG = "frame too long"
    FRAME_CHECKSUM = "frame checksum"
    FRAME_KIND = "frame kind"
    MESSAGE_TOO_LONG = "message too long"
    # One message that breaks the rules: it is dropped, the link goes on.
    UNKNOWN_MESSAGE = "unknown message"
    MALFORMED = "malformed message"
    COMPRESSION = "bad compression"
    BOMB = "decompression bomb"
    SCHEMA = "wrong schema"
    ROWS_INVALID = "invalid rows"
    ROWS_TOO_MANY = "too many rows"
    # Ours: nothing came, but something could not leave.
    UNSENDABLE = "unsendable"
    QUEUE_FULL = "queue full"
    NO_LINK = "no link"


class Refused(WireError):
    """Raised where bytes or a peer are turned away; ``reason`` is what gets counted."""

    def __init__(self, reason: Refusal, text: str) -> None:
        super().__init__(f"{reason}: {text}")
        self.reason = reason
