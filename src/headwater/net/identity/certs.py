"""A federation's own certificates: its CA, one certificate for each member.

The CA is used for nothing else, so "signed by it" means "belongs to the federation". Keys are
P-256: small on the wire and quick on a small site. A file that exists is never overwritten unless
that is asked for, since a lost CA key means a new certificate for every site.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from headwater.errors import ConfigurationError
from headwater.net.identity.identity import AGENTS, Identity, Role, is_name, parse_uri

CA_DAYS = 3650
SITE_DAYS = 365
OPERATOR_DAYS = 90
BACKDATED = timedelta(hours=1)
"""A certificate is valid from before it was made: clocks of sites differ, and a federation that
starts today must not be refused by a site that is some minutes behind."""

NAME_RULE = "up to 63 letters, digits, '.', '_' and '-'"

_DAYS = {
    Role.SITE: SITE_DAYS,
    Role.RELAY: SITE_DAYS,
    Role.OPERATOR: OPERATOR_DAYS,
    Role.VIEWER: OPERATOR_DAYS,
}


class CertFiles(msgspec.Struct, frozen=True):
    """What one member needs: whom to trust, who it is, and the proof."""

    ca: Path
    """One certificate or several: during a rotation both the old and the new CA are trusted."""
    cert: Path
    key: Path


class Authority(msgspec.Struct, frozen=True):
    """A CA that can sign, with its key in memory."""

    federation: str
    directory: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def create_authority(
    directory: Path,
    federation: str,
    *,
    days: float = CA_DAYS,
    now: datetime | None = None,
    force: bool = False,
) -> Authority:
    """A new federation: ``ca.pem`` for everyone and ``ca.key``, which stays where it was made."""
    if not is_name(federation):
        raise ConfigurationError(f"federation: wanted {NAME_RULE}, got {federation!r}")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(federation)
    certificate = (
        _builder(subject, issuer=subject, key=key, days=days, now=now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = {directory / "ca.key": _key_bytes(key), directory / "ca.pem": _cert_bytes(certificate)}
    _write_new(directory, files, force=force)
    return Authority(federation, directory, certificate, key)


def load_authority(directory: Path) -> Authority:
    """The CA that ``create_authority`` has left in this directory."""
    try:
        certificate = x509.load_pem_x509_certificate((directory / "ca.pem").read_bytes())
        key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"CA in {directory}: wanted ca.pem and ca.key as 'headwater certs init' makes them, "
            f"got: {error}"
        ) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ConfigurationError(f"CA in {directory}: wanted a P-256 key, got {type(key).__name__}")
    return Authority(common_name(certificate.subject), directory, certificate, key)


def issue(
    authority: Authority,
    role: Role,
    name: str,
    *,
    into: Path | None = None,
    hosts: tuple[str, ...] = (),
    days: float | None = None,
    now: datetime | None = None,
    force: bool = False,
) -> CertFiles:
    """A new key and certificate, ``<name>.key`` and ``<name>.pem``, beside a copy of ``ca.pem``."""
    if not is_name(name) or name == "ca":
        raise ConfigurationError(f"{role} name: wanted {NAME_RULE} and not 'ca', got {name!r}")
    directory = into or authority.directory
    key = ec.generate_private_key(ec.SECP256R1())
    who = Identity(authority.federation, role, name)
    lasts_days = _DAYS[role] if days is None else days
    certificate = _sign(authority, who, key, hosts=hosts, days=lasts_days, now=now)
    files = CertFiles(directory / "ca.pem", directory / f"{name}.pem", directory / f"{name}.key")
    contents = {files.key: _key_bytes(key), files.cert: _cert_bytes(certificate)}
    _write_new(directory, contents, force=force)
    if directory != authority.directory:
        write_whole(files.ca, _cert_bytes(authority.certificate))
    return files


def authorities_in(ca: Path) -> tuple[x509.Certificate, ...]:
    """At least one: ``ca.pem`` has several while a CA is replaced."""
    try:
        return tuple(x509.load_pem_x509_certificates(ca.read_bytes()))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"CA {ca}: wanted certificates as PEM, got: {error}") from None


def identity_in(cert: Path) -> Identity:
    """Who a certificate file speaks for, and until when."""
    try:
        return identity_of_certificate(x509.load_pem_x509_certificate(cert.read_bytes()))
    except (OSError, ValueError, x509.ExtensionNotFound) as error:
        raise ConfigurationError(f"certificate {cert}: {error}") from None


def identity_of_certificate(certificate: x509.Certificate) -> Identity:
    """Who it speaks for, whoever has issued it. Raises ``ValueError`` where it names nobody."""
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    found = parse_uri(uris[0]) if len(uris) == 1 else None
    if found is None:
        raise ValueError(f"wanted one headwater:// URI, got {uris[:4]}")
    return msgspec.structs.replace(
        found,
        serial=certificate.serial_number,
        expires_s=certificate.not_valid_after_utc.timestamp(),
    )


def _sign(
    authority: Authority,
    identity: Identity,
    key: ec.EllipticCurvePrivateKey,
    *,
    hosts: tuple[str, ...],
    days: float,
    now: datetime | None,
) -> x509.Certificate:
    names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(identity.uri)]
    names += [_host(host) for host in hosts]
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
    if identity.role in AGENTS:
        usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
    issuer = authority.certificate.subject
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return (
        _builder(_subject(identity.name), issuer=issuer, key=key, days=days, now=now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(signer, critical=False)
        .sign(authority.key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name,
    *,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    days: float,
    now: datetime | None,
) -> x509.CertificateBuilder:
    made = now or datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(made - BACKDATED)
        .not_valid_after(made + timedelta(days=days))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def common_name(subject: x509.Name) -> str:
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1:
        raise ConfigurationError(
            f"CA: wanted the federation's name as its common name, got {names}"
        )
    return str(names[0].value)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _cert_bytes(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_new(directory: Path, files: dict[Path, bytes], *, force: bool) -> None:
    there = [str(path) for path in files if path.exists()]
    if there and not force:
        raise ConfigurationError(
            f"certificates: {', '.join(there)} would be overwritten; choose another directory, "
            "or say force if the old ones are not needed"
        )
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for path, content in files.items():
        write_whole(path, content)


def write_whole(path: Path, content: bytes) -> None:
    """Whole or not at all, and readable by the owner alone from the first moment."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    fresh.replace(path)
