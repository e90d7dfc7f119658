"""The roster as an operator's word: the text as it was written, and who signed it at its end.

A signed roster is the roster's own text, to the byte, with a table ``[signed]`` after it: who
signed it, when, and from when on it holds. All of that is signed; the last two lines, ``signature``
and ``certificate``, prove it. So people can read the file, it is TOML as a whole, and a byte that
was changed shows. Nothing is made of the text before its proof was looked at.

The certificate must have been valid when the roster was signed, by the time that is signed with it.
That it has ended since undoes nothing: a roster outlives the ninety days of an operator's
certificate, and an agent must start with it. The price: whoever has the key of a certificate that
has ended can sign as of a day on which it had not. So a key that was lost is denied, ended or not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from cryptography import x509

from headwater.errors import ConfigurationError
from headwater.net.identity.certs import CertFiles, authorities_in, common_name, write_whole
from headwater.net.identity.identity import Identity, Role
from headwater.net.identity.keyring import read_member
from headwater.net.identity.roster_text import (
    ROSTER_BYTES_MAX,
    RosterText,
    read_roster_text,
    require_successor,
)
from headwater.net.identity.signing import Kind, OperatorSignature, is_signed_with
from headwater.net.identity.tls import Credentials
from headwater.net.refusal import Refused
from headwater.net.values.wire import CERTIFICATE_BYTES_MAX
from headwater.plan.roster import Roster

DIGEST_BYTES = 16
"""Of SHA-256; agents compare it when they greet each other."""

_END = re.compile(
    rb'signature = "([0-9a-f]{128})"\n'
    rb'certificate = "([A-Za-z0-9+/=]{4,%d})"\n' % (CERTIFICATE_BYTES_MAX * 4 // 3 + 4)
)
Found = TypeVar("Found")
_SIGN_IT = "headwater certs roster ROSTER.toml --operator DIR"


class RosterTrust(msgspec.Struct, frozen=True):
    """Whose rosters are believed: an operator's of this federation who is not denied."""

    federation: str
    authorities: tuple[x509.Certificate, ...]
    denied: frozenset[int] = frozenset()

    @classmethod
    def of_agent(cls, credentials: Credentials) -> RosterTrust:
        federation = credentials.identity.federation
        return cls(federation, credentials.authorities, credentials.denied)

    @classmethod
    def of_ca(cls, ca: Path, *, denied: frozenset[int] = frozenset()) -> RosterTrust:
        """For who has no certificate that counts, such as whoever looks at an agent's place."""
        authorities = authorities_in(ca)
        return cls(common_name(authorities[0].subject), authorities, denied)


class SignedRoster(msgspec.Struct, frozen=True):
    federation: str
    roster: Roster
    by: Identity
    """The operator, by the certificate that came with it."""
    signed_at_s: float
    holds_from_s: float
    """Agents take a roster when they start, whenever it holds from; they tell of one that is
    early."""
    given_out: int
    """Ordinals below this one have been given out, by this version or one before it."""
    digest: bytes
    """Of the signed word: stands for it in greetings."""


def is_signed(data: bytes) -> bool:
    """Whether it looks like a signed roster; nothing is proven by that."""
    return _split(data) is not None


def read_signed_roster(data: bytes, trust: RosterTrust) -> SignedRoster:
    """Raises ``ConfigurationError`` for everything else than a roster to be believed."""
    if len(data) > ROSTER_BYTES_MAX:
        raise ConfigurationError(f"roster: it is longer than {ROSTER_BYTES_MAX} bytes")
    parts = _split(data)
    if parts is None:
        raise ConfigurationError(f"roster: it is not signed; sign it with: {_SIGN_IT}")
    word, signature, der = parts
    identity, valid_from_s = _signer(der, signature, word, trust)
    text = read_roster_text(word)
    if (
        text.signed is None
        or text.signed.by != identity.name
        or text.federation != trust.federation
    ):
        raise ConfigurationError(
            f"roster: it is signed by {identity.uri}, and says other things of itself: federation "
            f"{text.federation}, {text.signed}; sign its text anew with: {_SIGN_IT}"
        )
    signed_at_s = text.signed.at.timestamp()
    if not valid_from_s <= signed_at_s <= identity.expires_s:
        raise ConfigurationError(
            f"roster: {identity.uri} signed it at {_utc(signed_at_s)}, and the certificate was "
            f"valid from {_utc(valid_from_s)} to {_utc(identity.expires_s)}; sign it anew with: "
            f"{_SIGN_IT}"
        )
    return SignedRoster(
        text.federation,
        text.roster,
        identity,
        signed_at_s,
        text.signed.holds_from.timestamp(),
        text.signed.ordinals,
        hashlib.sha256(word).digest()[:DIGEST_BYTES],
    )


def load_signed_roster(path: Path, trust: RosterTrust) -> SignedRoster:
    text = path.with_suffix(".toml")
    if not path.exists() and text.exists():
        raise ConfigurationError(
            f"{path}: it is not there, and {text} is not signed; sign it with: headwater certs "
            f"roster {text} --operator DIR"
        )
    data = read_bounded(path)
    if len(data) <= ROSTER_BYTES_MAX and not is_signed(data):
        raise ConfigurationError(
            f"{path}: the roster is not signed, or not to its end; {_how(path)}"
        )
    return _about(path, lambda: read_signed_roster(data, trust))


def _how(path: Path) -> str:
    """What to do about a roster that is not signed."""
    signed = path.with_suffix(".signed")
    if signed != path and signed.exists():
        return f"{signed} beside it may be: let roster in agent.toml name that"
    return (
        f"sign it with: headwater certs roster {path} --operator DIR --into FILE, and let roster "
        "in agent.toml name that FILE"
    )


def load_roster_text(path: Path) -> RosterText:
    """Signed or not, and without a look at by whom: to see what is in it, and nothing else."""

    def read() -> RosterText:
        parts = _split(data)
        return read_roster_text(data if parts is None else parts[0])

    data = read_bounded(path)
    return _about(path, read)


def read_bounded(path: Path) -> bytes:
    """One byte too many at most."""
    try:
        with path.open("rb") as file:
            return file.read(ROSTER_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: can't be read: {error.strerror}; name a roster"
        ) from None


def sign_roster(
    text: bytes,
    signature: OperatorSignature,
    *,
    given_out: int,
    at_s: float,
    holds_from_s: float | None = None,
) -> bytes:
    """The bytes of a signed roster; ``text`` is checked by whoever reads them."""
    lines = (
        f'\n[signed]\nby = "{signature.operator}"\nat = {_utc(at_s)}\n'
        f"holds_from = {_utc(at_s if holds_from_s is None else holds_from_s)}\n"
        f"ordinals = {given_out}\n"
    )
    word = text + (b"" if text.endswith(b"\n") else b"\n") + lines.encode()
    proof = signature.prove(Kind.ROSTER, word)
    certificate = base64.b64encode(proof.certificate).decode()
    end = f'signature = "{proof.signature.hex()}"\ncertificate = "{certificate}"\n'
    return word + end.encode()


def issue_roster(
    source: Path,
    into: Path,
    files: CertFiles,
    *,
    at_s: float,
    holds_from_s: float | None = None,
    former: Path | None = None,
    force: bool = False,
) -> SignedRoster:
    """Signs what ``source`` says, with an operator's key, and reads it as an agent will.

    What is replaced, or ``former``, is the version before: numbers of sites are not used again.
    """
    credentials = Credentials(files)
    who = credentials.identity
    if who.role is not Role.OPERATOR:
        raise ConfigurationError(
            f"certificate {files.cert}: a roster is signed by an operator, this is a {who.role}'s; "
            "make one with: headwater certs operator CA NAME"
        )
    text = read_bounded(source)
    new = _about(source, lambda: _read_unsigned(text, who.federation)).roster
    trust = RosterTrust.of_agent(credentials)
    given_out = new.ordinals
    for path in _versions_before(source, into, former, force=force):
        before = _read_before(path, trust)
        _about(source, partial(require_successor, new, before.roster, given_out=before.given_out))
        given_out = max(given_out, before.given_out)
    signature = OperatorSignature(who.federation, who.name, credentials.own)
    data = sign_roster(text, signature, given_out=given_out, at_s=at_s, holds_from_s=holds_from_s)
    signed = _about(source, lambda: read_signed_roster(data, trust))
    into.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(into, data)
    return signed


def _versions_before(source: Path, into: Path, former: Path | None, *, force: bool) -> list[Path]:
    """``force``: what is there is not asked for anything."""
    if into.resolve() == source.resolve():
        raise ConfigurationError(f"{into}: the text itself stays as it is; choose another file")
    there = [into] if into.exists() and not force else []
    return [*there, *([] if former is None else [former])]


def _read_before(path: Path, trust: RosterTrust) -> SignedRoster:
    try:
        return load_signed_roster(path, trust)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}. It is not taken for a version before this one: choose another file, or say "
            "force if it is not needed"
        ) from None


def _read_unsigned(text: bytes, federation: str) -> RosterText:
    if is_signed(text):
        raise ConfigurationError(
            "roster: it is signed already; sign the text that it was made from, with a higher "
            "version"
        )
    found = read_roster_text(text)
    if found.signed is not None:
        raise ConfigurationError("roster: [signed] is for the signer to write; take it out")
    if found.federation != federation:
        raise ConfigurationError(
            f"roster: it is of federation {found.federation}, and the operator of {federation}; "
            "sign it with an operator's certificate of its own federation"
        )
    return found


def _split(data: bytes) -> tuple[bytes, bytes, bytes] | None:
    """(the signed word, its signature, the certificate), if it ends as a signed roster does."""
    at = data.rfind(b"\nsignature = ") + 1
    found = _END.fullmatch(data, at) if at else None
    if found is None:
        return None
    try:
        der = base64.b64decode(found[2], validate=True)
    except binascii.Error:
        return None
    if base64.b64encode(der) != found[2]:  # bits that mean nothing: one certificate, one text
        return None
    return (data[:at], bytes.fromhex(found[1].decode()), der)


def _signer(
    der: bytes, signature: bytes, word: bytes, trust: RosterTrust
) -> tuple[Identity, float]:
    """(who signed it, since when the certificate was valid); all of it proven."""
    try:
        identity, public = read_member(der, trust.authorities)
    except Refused as refused:
        raise ConfigurationError(
            f"roster: its signer's certificate is not one of this federation ({refused}); sign it "
            f"with one of {trust.federation}'s CA: {_SIGN_IT}"
        ) from None
    if identity.federation != trust.federation:
        raise ConfigurationError(
            f"roster: it is signed by {identity.uri}, and this is federation {trust.federation}; "
            "put the roster of this federation there"
        )
    if identity.role is not Role.OPERATOR:
        raise ConfigurationError(
            f"roster: it is signed by {identity.uri}, who is no operator; sign it with an "
            f"operator's certificate: {_SIGN_IT}"
        )
    if identity.serial in trust.denied:
        raise ConfigurationError(
            f"roster: it is signed by {identity.uri}, whose certificate {identity.serial:x} is "
            f"denied; raise its version and sign it with another: {_SIGN_IT}"
        )
    if not is_signed_with(public, Kind.ROSTER, trust.federation, word, signature):
        raise ConfigurationError(
            f"roster: it was changed after {identity.uri} signed it, or the signature was; change "
            f"the text that it was made from, raise its version, and sign that: {_SIGN_IT}"
        )
    certificate = x509.load_der_x509_certificate(der)
    return identity, certificate.not_valid_before_utc.timestamp()


def _about(path: Path, read: Callable[[], Found]) -> Found:
    try:
        return read()
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _utc(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
