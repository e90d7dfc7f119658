"""Rosters, as texts and as signed files: whatever is accepted is used, and signed means the same.

The keys are made anew in each run: what is looked for is in the reading, not in the numbers.
"""

from __future__ import annotations

import tempfile
import time
from functools import cache
from pathlib import Path

from headwater.errors import ConfigurationError
from headwater.net.identity.certs import create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.roster_text import RosterText, read_roster_text, roster_toml
from headwater.net.identity.signed_roster import (
    RosterTrust,
    is_signed,
    read_signed_roster,
    sign_roster,
)
from headwater.net.identity.signing import OperatorSignature
from headwater.net.identity.tls import Credentials

TEXT = b"""federation = "testland"
version = 3
home = "alpha"

[[site]]
ordinal = 0
name = "alpha"
host = "10.0.0.1"
port = 7400

[[site]]
ordinal = 7
name = "bravo"
dialable = false
"""
NOW_S = float(int(time.time()))


def good() -> list[bytes]:
    return [TEXT, _signed(TEXT)]


def run(data: bytes) -> bool:
    """As a file that was found, as a text that is signed, and as one that is written again."""
    found = _found(data)
    text = _text(data)
    if text is None or text.signed is not None or text.federation != "testland":
        return found
    signed = read_signed_roster(_signed(data), _people()[0])
    assert signed.roster == text.roster, "signing changed it"
    again = read_roster_text(roster_toml(text.federation, text.roster).encode())
    assert again.roster == text.roster, "it is written otherwise than it is read"
    assert all(signed.roster.by_ordinal(one.ordinal) is one for one in signed.roster.sites)
    return True


def _found(data: bytes) -> bool:
    try:
        read_signed_roster(data, _people()[0])
    except ConfigurationError:
        return False
    assert is_signed(data)
    return True


def _text(data: bytes) -> RosterText | None:
    try:
        return read_roster_text(data)
    except ConfigurationError:
        return None


def _signed(text: bytes) -> bytes:
    return sign_roster(text, _people()[1], given_out=8, at_s=NOW_S)


@cache
def _people() -> tuple[RosterTrust, OperatorSignature]:
    with tempfile.TemporaryDirectory() as made:
        authority = create_authority(Path(made), "testland")
        own = Credentials(issue(authority, Role.OPERATOR, "olga")).own
    trust = RosterTrust("testland", (authority.certificate,))
    return trust, OperatorSignature("testland", "olga", own)
