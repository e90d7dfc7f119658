"""TLS between members of a federation: version 1.3 only, both sides verified, or not at all.

There is no plain-text mode and no switch that turns verification off. Contexts trust the
federation's CA alone, not the machine's; host names are not compared, because identity is the
name in the certificate's URI, which the caller checks against whom it meant to reach.

Sessions are never resumed: a resumed session would skip the check of a certificate that has
expired or been denied since.
"""

import ssl
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from headwater.errors import ConfigurationError
from headwater.net.identity.certs import CertFiles, authorities_in, identity_in
from headwater.net.identity.identity import AGENTS, Identity, identity_of
from headwater.net.identity.keyring import certificate_name
from headwater.net.identity.signing import OwnKey
from headwater.net.refusal import Refusal, Refused

ALPN = "headwater"

_VERIFY_EXPIRED = 10
_VERIFY_NOT_YET_VALID = 9
STANDS_STILL = (
    "the other side took the connection and did not finish the TLS handshake in time: it stands "
    "still or has too much to do; look at its process and its log"
)


class Credentials:
    """Who we are and whom we trust, as files; ``reload`` reads them again for new connections."""

    def __init__(self, files: CertFiles, *, deny: Path | None = None) -> None:
        self._files = files
        self._deny = deny
        self._site: str | None = None
        self.denied: frozenset[int] = frozenset()
        self.reload()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that ``reload`` reads."""
        files = (self._files.ca, self._files.cert, self._files.key)
        return files if self._deny is None else (*files, self._deny)

    def reload(self) -> None:
        """Raises ``ConfigurationError`` and keeps what it had when the new files can't be used."""
        _require_private(self._files.key)
        server = _context(self._files, ssl.PROTOCOL_TLS_SERVER)
        client = _context(self._files, ssl.PROTOCOL_TLS_CLIENT)
        denied = self._read_denied()
        identity = identity_in(self._files.cert)
        if identity.expires_s <= time.time():
            raise ConfigurationError(
                f"certificate {self._files.cert}: it has expired; issue a new one"
            )
        if self._site is not None:
            self._require(identity, self._site)
        own, der = _own_key(self._files)
        self.authorities = authorities_in(self._files.ca)
        self.own, self.der = own, der
        self.identity, self.denied = identity, denied
        self.server, self.client = server, client

    @property
    def missing_deny(self) -> Path | None:
        """The deny list that was named and is not there: nobody is denied by it. A path that was
        mistyped looks the same, so whoever starts an agent is told."""
        return None if self._deny is None or self._deny.exists() else self._deny

    def _read_denied(self) -> frozenset[int]:
        """A list that was there and is gone denies what it did: a file that is replaced in two
        steps, or a disk that is not mounted, must not admit a stolen key."""
        if self.missing_deny is not None and self.denied:
            raise ConfigurationError(
                f"deny list {self._deny}: it is gone, and what it denied stays denied; to admit a "
                "certificate again take its line out, and leave the file"
            )
        return read_serials(self._deny)

    def require_site(self, site: str) -> None:
        """An agent speaks for one site, and its certificate must say so, now and when reloaded."""
        self._require(self.identity, site)
        self._site = site

    def _require(self, identity: Identity, site: str) -> None:
        if identity.role not in AGENTS or identity.name != site:
            raise ConfigurationError(
                f"certificate {self._files.cert}: wanted one for site {site}, "
                f"got one for {identity.uri}"
            )

    def admit(self, peer: Mapping[str, Any] | None) -> Identity:
        """The identity behind a verified certificate, if it is ours and not on the deny list."""
        expires_s = ssl.cert_time_to_seconds(peer["notAfter"]) if peer else 0.0
        identity = identity_of(peer, expires_s=expires_s)
        if identity.federation != self.identity.federation:
            raise Refused(
                Refusal.FOREIGN_CERTIFICATE,
                f"wanted federation {self.identity.federation!r}, got {identity.uri}",
            )
        if identity.serial in self.denied:
            raise Refused(Refusal.DENIED_CERTIFICATE, f"{identity.uri} serial {identity.serial:x}")
        return identity


def _context(files: CertFiles, protocol: int) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([ALPN])
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    try:
        context.load_verify_locations(files.ca)
        context.load_cert_chain(files.cert, files.key)
    except (OSError, ssl.SSLError) as error:
        three = (files.ca, files.cert, files.key)
        missing = [str(file) for file in three if not file.exists()]
        raise ConfigurationError(
            f"certificates {', '.join(map(str, three))}: wanted a CA, a certificate and its key as "
            f"PEM, got: {f'no file {missing[0]}' if missing else error}"
        ) from None
    require_verifying(context)
    return context


def _own_key(files: CertFiles) -> tuple[OwnKey, bytes]:
    """What words are signed with, and the certificate that shows it. TLS has read both before."""
    key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
    kind = type(key).__name__.removesuffix("PrivateKey")
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
        came = key.curve.name if isinstance(key, ec.EllipticCurvePrivateKey) else kind
        raise ConfigurationError(
            f"key {files.key}: wanted a P-256 key, as 'headwater certs' makes it, got {came}"
        )
    certificate = x509.load_pem_x509_certificate(files.cert.read_bytes())
    der = certificate.public_bytes(serialization.Encoding.DER)
    return OwnKey(certificate_name(certificate), key, der), der


def require_verifying(context: ssl.SSLContext) -> None:
    """The last check before a context is used; having certificate files enforces nothing."""
    if context.verify_mode != ssl.CERT_REQUIRED:
        raise ConfigurationError("tls: wanted verification of the other side, it is off")
    if context.minimum_version < ssl.TLSVersion.TLSv1_3:
        raise ConfigurationError("tls: wanted TLS 1.3 only, an older version is allowed")
    if not context.get_ca_certs():
        raise ConfigurationError("tls: wanted the federation's CA, no CA is loaded")


def handshake_refusal(error: BaseException) -> Refused:
    """What went wrong before a word was spoken, in words that help."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return _verification_refusal(error)
    reason = (getattr(error, "reason", None) or "") if isinstance(error, ssl.SSLError) else ""
    for mark, refusal, text in _MARKS:
        if mark in reason:
            return Refused(refusal, text)
    if isinstance(error, TimeoutError) or "handshake is taking longer" in str(error):
        return Refused(Refusal.HANDSHAKE_TIMEOUT, STANDS_STILL)
    return Refused(Refusal.HANDSHAKE, f"{type(error).__name__}: {error}")


def _verification_refusal(error: ssl.SSLCertVerificationError) -> Refused:
    if error.verify_code == _VERIFY_EXPIRED:
        return Refused(Refusal.EXPIRED_CERTIFICATE, "the other side's certificate has expired")
    if error.verify_code == _VERIFY_NOT_YET_VALID:
        return Refused(
            Refusal.EXPIRED_CERTIFICATE,
            "the other side's certificate is not valid yet: compare the clocks",
        )
    return Refused(
        Refusal.FOREIGN_CERTIFICATE,
        f"the other side's certificate is not from our CA ({error.verify_message})",
    )


CLOSED_UNSAID = (
    "it closed the connection before its hello; in TLS 1.3 that is how a certificate is refused: "
    "ours may be expired, denied or of another federation. Its counters of refusals say which"
)

_MARKS = (
    ("PEER_DID_NOT_RETURN_A_CERTIFICATE", Refusal.NO_CERTIFICATE, "the other side showed none"),
    ("HTTP_REQUEST", Refusal.NOT_TLS, "plain HTTP came instead of TLS"),
    ("WRONG_VERSION_NUMBER", Refusal.NOT_TLS, "something else came instead of TLS"),
    ("UNSUPPORTED_PROTOCOL", Refusal.NOT_TLS, "the other side speaks only an older TLS"),
    ("NO_PROTOCOLS_AVAILABLE", Refusal.NOT_TLS, "the other side speaks only an older TLS"),
    ("ALERT_CERTIFICATE_EXPIRED", Refusal.REFUSED_US, "it says that our certificate has expired"),
    ("ALERT_UNKNOWN_CA", Refusal.REFUSED_US, "it does not know our CA: another federation"),
    ("ALERT_CERTIFICATE_REQUIRED", Refusal.REFUSED_US, "it wants a certificate from us"),
    ("ALERT_BAD_CERTIFICATE", Refusal.REFUSED_US, "it does not accept our certificate"),
    ("ALERT_UNSUPPORTED_CERTIFICATE", Refusal.REFUSED_US, "our certificate has the wrong role"),
)
"""OpenSSL's words for what happened, without their version prefix, and ours."""


def _require_private(key: Path) -> None:
    try:
        mode = stat.S_IMODE(key.stat().st_mode)
    except OSError as error:
        raise ConfigurationError(f"key {key}: {error.strerror}") from None
    if mode & 0o077:
        raise ConfigurationError(
            f"key {key}: wanted a file that only its owner can read (0600), got {mode:04o}; "
            f"run: chmod 600 {key}"
        )


def read_serials(path: Path | None) -> frozenset[int]:
    """One hexadecimal serial a line; '#' begins a comment. No file: nobody is denied."""
    if path is None or not path.exists():
        return frozenset()
    try:
        lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
        return frozenset(int(line, 16) for line in lines if line)
    except OSError as error:
        raise ConfigurationError(f"deny list {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigurationError(f"deny list {path}: wanted hexadecimal serials, {error}") from None
