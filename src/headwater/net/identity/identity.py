"""Who a certificate speaks for: a name and a role in one federation, read from its URI SAN.

Addresses change and can be shared, so identity is not a host name. A certificate carries exactly
one URI, ``headwater://<federation>/<role>/<name>``, and that is who its holder is.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from headwater.net.refusal import Refusal, Refused

_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"
_URI = re.compile(rf"headwater://({_NAME})/(site|relay|operator|viewer)/({_NAME})")


class Role(StrEnum):
    SITE = "site"
    """An agent: carries, merges and originates summaries."""
    RELAY = "relay"
    """An agent that carries and merges, and never originates."""
    OPERATOR = "operator"
    """A person or a program that commands: installs, removes, asks."""
    VIEWER = "viewer"
    """One that asks, and changes nothing."""


AGENTS = (Role.SITE, Role.RELAY)
"""Who may be a peer."""
PEOPLE = (Role.OPERATOR, Role.VIEWER)
"""Who may speak on the operators' channel."""


class Identity(msgspec.Struct, frozen=True):
    federation: str
    role: Role
    name: str
    serial: int = 0
    expires_s: float = 0.0
    """Seconds since the epoch after which the certificate is not valid."""

    @property
    def uri(self) -> str:
        return f"headwater://{self.federation}/{self.role}/{self.name}"


def is_name(text: str) -> bool:
    """Whether a site, an operator or a federation may be called so."""
    return re.fullmatch(_NAME, text) is not None


def parse_uri(uri: str) -> Identity | None:
    match = _URI.fullmatch(uri)
    return None if match is None else Identity(match[1], Role(match[2]), match[3])


def identity_of(peer: Mapping[str, Any] | None, *, expires_s: float = 0.0) -> Identity:
    """From the dictionary that ``ssl`` gives for a certificate it has verified."""
    if not peer:
        raise Refused(Refusal.NO_CERTIFICATE, "the other side showed none")
    uris = [value for kind, value in peer.get("subjectAltName", ()) if kind == "URI"]
    identity = parse_uri(uris[0]) if len(uris) == 1 else None
    if identity is None:
        raise Refused(
            Refusal.FOREIGN_CERTIFICATE,
            f"wanted one URI headwater://<federation>/<role>/<name>, got {uris[:4]}",
        )
    return msgspec.structs.replace(
        identity, serial=int(peer["serialNumber"], 16), expires_s=expires_s
    )
