"""The members of the recorded federation: keys that anybody can derive, certificates made anew.

No key lies in the repository, and a certificate ends. So every member's key is the number of its
name, and whoever opens the recording issues certificates for it, from the same CA key. What an
operator has signed carries the certificate of that time inside, which has ended long since.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from headwater.net.identity import certs
from headwater.net.identity.certs import Authority, CertFiles, create_authority, issue
from headwater.net.identity.identity import Role

FEDERATION = "recorded"
OPERATOR = "olga"
VIEWER = "vera"
NUMBERS = {"ca": 2, "home": 3, "hub": 4, "north": 5, "south": 6, OPERATOR: 7, VIEWER: 8}
"""Private keys are these numbers: worth nothing, and the same for everybody."""
ROLES = {
    "home": Role.SITE,
    "hub": Role.RELAY,
    "north": Role.SITE,
    "south": Role.SITE,
    OPERATOR: Role.OPERATOR,
    VIEWER: Role.VIEWER,
}
AGENT_DAYS = 1.0
"""Those of the test: it issues new ones at each run."""


class Certificates:
    """In a directory that is thrown away, valid from now on."""

    def __init__(self, directory: Path, *, days: dict[str, float] | None = None) -> None:
        """``days``: for whom it is not a day."""
        self.directory = directory
        authority = _authority(directory)
        for name, role in ROLES.items():
            lasts = (days or {}).get(name, AGENT_DAYS)
            _issue(authority, role, name, days=lasts)

    def files(self, name: str) -> CertFiles:
        at = self.directory
        return CertFiles(at / "ca.pem", at / f"{name}.pem", at / f"{name}.key")


def key_of(name: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(NUMBERS[name], ec.SECP256R1())


def _authority(directory: Path) -> Authority:
    with _key("ca"):
        return create_authority(directory, FEDERATION)


def _issue(authority: Authority, role: Role, name: str, *, days: float) -> CertFiles:
    with _key(name):
        return issue(authority, role, name, hosts=("127.0.0.1",), days=days)


class _key:
    """Whoever makes a key within it gets the derived one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._real = certs.ec
        certs.ec = _Derived(self._real, self._name)  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        certs.ec = self._real


class _Derived:
    """The module ``ec``, but for the making of keys."""

    def __init__(self, real: object, name: str) -> None:
        self._real = real
        self._name = name

    def generate_private_key(self, _curve: ec.EllipticCurve) -> ec.EllipticCurvePrivateKey:
        return key_of(self._name)

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)


def ends_at(der: bytes) -> datetime:
    return x509.load_der_x509_certificate(der).not_valid_after_utc.astimezone(UTC)
