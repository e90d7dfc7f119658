"""The certificates of members, as they came with the links: whose key a signature is made with.

TLS shows a neighbour's certificate, and words of others come from further away. So before the first
word of a signer goes over a link, its certificate does; whoever hands on a word has looked at its
signature, and therefore has it. Nobody keeps them on disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec

from headwater.algebra.words.proof import Proof
from headwater.net.identity.certs import identity_of_certificate
from headwater.net.identity.identity import AGENTS, PEOPLE, Identity, Role
from headwater.net.identity.signing import key_name
from headwater.net.refusal import Refusal, Refused
from headwater.plan.questions.viewer import viewer_of

CERTIFICATES_PER_MEMBER_MAX = 4
"""A renewed one, the former one, and some more; the one that ends first makes room."""


OPERATORS_MAX = 256
"""Certificates of operators at hand; further ones are read again from the commands."""

_ODD = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.UnsupportedGeneralNameType,
)
"""What the library says of bytes that are no certificate as ours are."""


class _Member(msgspec.Struct, frozen=True):
    identity: Identity
    public: ec.EllipticCurvePublicKey
    der: bytes


class Keyring:
    """``authorities`` and ``denied`` are asked anew each time: their files may have changed."""

    def __init__(
        self,
        federation: str,
        sites: Container[str],
        *,
        relays: Container[str] = (),
        authorities: Callable[[], tuple[x509.Certificate, ...]],
        denied: Callable[[], frozenset[int]],
        wall_s: Callable[[], float],
    ) -> None:
        self._federation = federation
        self._sites = sites
        self._relays = relays
        """Of the sites, those without data: a relay's certificate is enough for what they say."""
        self._authorities = authorities
        self._denied = denied
        self._wall_s = wall_s
        self._members: dict[bytes, _Member] = {}
        self._by_owner: dict[str, list[bytes]] = {}
        self._people: dict[bytes, None] = {}
        """Those of operators and viewers, the oldest first."""

    def learn(self, der: bytes) -> bytes:
        """The name of its key. Raises ``Refused`` for what is no certificate of a member."""
        certificate = _certificate_in(der)
        name = certificate_name(certificate)
        if name not in self._members:
            member = self._checked(certificate, der)
            self._make_room(member.identity)
            self._keep(name, member)
        return name

    def certificate(self, key: bytes) -> bytes | None:
        member = self._members.get(key)
        return None if member is None else member.der

    def of(self, site: str, proof: Proof) -> ec.EllipticCurvePublicKey | None:
        roles = AGENTS if site in self._relays else (Role.SITE,)
        member = self._behind(proof, roles, site)
        return None if member is None or self._has_ended(member) else member.public

    def of_operator(
        self, operator: str, proof: Proof, *, is_counted: bool
    ) -> ec.EllipticCurvePublicKey | None:
        viewer = viewer_of(operator)
        role = Role.OPERATOR if viewer is None else Role.VIEWER
        member = self._behind(proof, (role,), viewer or operator)
        if member is None or (self._has_ended(member) and not is_counted):
            return None
        return member.public

    def _behind(self, proof: Proof, roles: tuple[Role, ...], name: str) -> _Member | None:
        """Whose proof it is, if it is theirs and they are not denied."""
        if proof.certificate and proof.key not in self._members:
            with contextlib.suppress(Refused):
                self.learn(proof.certificate)
        member = self._members.get(proof.key)
        if member is None or member.identity.name != name or member.identity.role not in roles:
            return None
        return None if member.identity.serial in self._denied() else member

    def _has_ended(self, member: _Member) -> bool:
        return member.identity.expires_s <= self._wall_s()

    def _checked(self, certificate: x509.Certificate, der: bytes) -> _Member:
        identity, public = _member_in(certificate, self._authorities())
        is_agent = identity.role in AGENTS
        if identity.federation != self._federation or (
            is_agent and identity.name not in self._sites
        ):
            raise Refused(Refusal.NOT_IN_ROSTER, f"told: {identity.uri} is not of this roster")
        return _Member(identity, public, der)

    def _make_room(self, identity: Identity) -> None:
        """By the index of owners: a federation of ten thousand tells as many, one by one."""
        same = self._by_owner.get(identity.uri, [])
        if len(same) >= CERTIFICATES_PER_MEMBER_MAX:
            self._drop(min(same, key=lambda name: self._members[name].identity.expires_s))
        if identity.role in PEOPLE and len(self._people) >= OPERATORS_MAX:
            self._drop(next(iter(self._people)))

    def _keep(self, name: bytes, member: _Member) -> None:
        self._members[name] = member
        self._by_owner.setdefault(member.identity.uri, []).append(name)
        if member.identity.role in PEOPLE:
            self._people[name] = None

    def _drop(self, name: bytes) -> None:
        owner = self._members.pop(name).identity.uri
        self._by_owner[owner].remove(name)
        if not self._by_owner[owner]:
            del self._by_owner[owner]
        self._people.pop(name, None)


def certificate_name(certificate: x509.Certificate) -> bytes:
    """What stands for it. The issuer's signature is not in there: it can be written in several
    ways, and everybody could tell others of one certificate under as many names."""
    return key_name(certificate.tbs_certificate_bytes)


def read_member(
    der: bytes, authorities: Iterable[x509.Certificate]
) -> tuple[Identity, ec.EllipticCurvePublicKey]:
    """Who signs with it, and the key. Raises ``Refused`` where no such authority has issued it."""
    return _member_in(_certificate_in(der), authorities)


def _certificate_in(der: bytes) -> x509.Certificate:
    try:
        return x509.load_der_x509_certificate(der)
    except _ODD as error:
        raise Refused(Refusal.FOREIGN_CERTIFICATE, f"told: {str(error)[:200]}") from None


def _member_in(
    certificate: x509.Certificate, authorities: Iterable[x509.Certificate]
) -> tuple[Identity, ec.EllipticCurvePublicKey]:
    """Who has issued it is looked at before anything inside: the library has an error of its own
    for each way in which a certificate can be odd, and whoever sends one is a stranger until then.
    """
    try:
        if not any(_has_issued(authority, certificate) for authority in authorities):
            raise Refused(Refusal.FOREIGN_CERTIFICATE, "told: it is not from our CA")
        identity, public = _identity_in(certificate), certificate.public_key()
    except _ODD as error:
        raise Refused(Refusal.FOREIGN_CERTIFICATE, f"told: {str(error)[:200]}") from None
    if not isinstance(public, ec.EllipticCurvePublicKey) or public.curve.name != "secp256r1":
        raise Refused(Refusal.FOREIGN_CERTIFICATE, "told: wanted a P-256 key")
    return identity, public


def _identity_in(certificate: x509.Certificate) -> Identity:
    if certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca:
        raise ValueError("an authority's certificate signs no words")
    return identity_of_certificate(certificate)


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (*_ODD, InvalidSignature):
        return False
    return True
