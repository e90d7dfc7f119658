"""Which certificates of others are believed, and whose words they prove."""

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from headwater.algebra.words.proof import Proof
from headwater.net.identity.certs import Authority, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.keyring import CERTIFICATES_PER_MEMBER_MAX, Keyring
from headwater.net.refusal import Refusal, Refused

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def der_of(path: Path) -> bytes:
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    return certificate.public_bytes(serialization.Encoding.DER)


class Bench:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority: Authority = create_authority(directory / "ca", "testland")
        self.denied: frozenset[int] = frozenset()
        self.wall_s = time.time()
        self.count = 0
        self.keyring = Keyring(
            "testland",
            {"alpha", "bravo", "hub"},
            relays={"hub"},
            authorities=lambda: (self.authority.certificate,),
            denied=lambda: self.denied,
            wall_s=lambda: self.wall_s,
        )

    def certificate(self, name: str, role: Role = Role.SITE, **more: Any) -> bytes:
        self.count += 1
        authority = more.pop("authority", self.authority)
        into = self.directory / f"{self.count}"
        return der_of(issue(authority, role, name, into=into, **more).cert)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def by(key: bytes) -> Proof:
    """A proof with this key; what was signed is nothing that a keyring looks at."""
    return Proof(word=b"word", signature=b"signature", key=key)


def refusal(bench: Bench, der: bytes) -> Refusal:
    with pytest.raises(Refused) as refused:
        bench.keyring.learn(der)
    return refused.value.reason


def test_a_members_certificate_proves_its_own_words_and_no_others(bench: Bench) -> None:
    der = bench.certificate("alpha")
    key = bench.keyring.learn(der)
    assert bench.keyring.of("alpha", by(key)) is not None
    assert bench.keyring.of("bravo", by(key)) is None
    assert bench.keyring.certificate(key) == der
    assert bench.keyring.learn(der) == key


def test_a_certificate_of_another_authority_is_refused(bench: Bench, tmp_path: Path) -> None:
    other = create_authority(tmp_path / "other", "testland")
    der = bench.certificate("alpha", authority=other)
    assert refusal(bench, der) is Refusal.FOREIGN_CERTIFICATE


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_a_certificate_that_was_changed_is_refused_and_nothing_else_happens(bench: Bench) -> None:
    """The library has many errors for odd certificates; none of them may reach an agent's loop."""
    der = bench.certificate("alpha")
    said = x509.load_der_x509_certificate(der).tbs_certificate_bytes
    for at in range(len(der)):
        for bit in (1, 0x80):
            changed = der[:at] + bytes([der[at] ^ bit]) + der[at + 1 :]
            if said in changed:
                with suppress(Refused):  # the CA's own signature can be written in several ways
                    bench.keyring.learn(changed)
            else:
                assert refusal(bench, changed) is Refusal.FOREIGN_CERTIFICATE


def test_one_certificate_has_one_name_however_it_is_written(bench: Bench) -> None:
    """Or whoever tells of it in many ways pushes a member's other certificates out."""
    former = bench.keyring.learn(bench.certificate("alpha", days=2))
    der = bench.certificate("alpha")
    signature = x509.load_der_x509_certificate(der).signature
    r, s = decode_dss_signature(signature)
    other = encode_dss_signature(r, P256_ORDER - s)
    bits = bytes([0x03, len(other) + 1, 0])
    body = der[4 : -len(signature) - len(bits)] + bits + other
    again = der[:2] + len(body).to_bytes(2) + body
    assert again != der
    names = {bench.keyring.learn(der), bench.keyring.learn(again)}
    assert len(names) == 1
    assert bench.keyring.of("alpha", by(former)) is not None


def test_one_that_a_member_has_signed_is_refused(bench: Bench) -> None:
    """A stolen site's key makes no members."""
    files = issue(bench.authority, Role.SITE, "alpha", into=bench.directory / "stolen")
    key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
    stolen = x509.load_pem_x509_certificate(files.cert.read_bytes())
    forger = Authority("testland", bench.directory, stolen, key)  # type: ignore[arg-type]
    bench.keyring.learn(der_of(files.cert))
    assert refusal(bench, bench.certificate("bravo", authority=forger)) is (
        Refusal.FOREIGN_CERTIFICATE
    )


def test_the_authoritys_own_certificate_signs_no_words(bench: Bench) -> None:
    der = bench.authority.certificate.public_bytes(serialization.Encoding.DER)
    assert refusal(bench, der) is Refusal.FOREIGN_CERTIFICATE


def test_who_is_not_in_the_roster_is_refused(bench: Bench) -> None:
    assert refusal(bench, bench.certificate("stranger")) is Refusal.NOT_IN_ROSTER


def test_a_member_of_another_federation_of_the_same_authority_is_refused(bench: Bench) -> None:
    other = Keyring(
        "otherland",
        {"alpha"},
        authorities=lambda: (bench.authority.certificate,),
        denied=frozenset,
        wall_s=lambda: bench.wall_s,
    )
    for role in (Role.SITE, Role.OPERATOR):
        with pytest.raises(Refused) as refused:
            other.learn(bench.certificate("alpha", role=role))
        assert refused.value.reason is Refusal.NOT_IN_ROSTER


def test_a_key_of_another_curve_is_refused(bench: Bench) -> None:
    """Signatures have the size of P-256's wherever they are kept."""
    usual = x509.load_der_x509_certificate(bench.certificate("alpha"))
    builder = x509.CertificateBuilder(
        usual.issuer,
        usual.subject,
        ec.generate_private_key(ec.SECP384R1()).public_key(),
        usual.serial_number,
        usual.not_valid_before_utc,
        usual.not_valid_after_utc,
        list(usual.extensions),
    )
    der = builder.sign(bench.authority.key, hashes.SHA256()).public_bytes(
        serialization.Encoding.DER
    )
    assert refusal(bench, der) is Refusal.FOREIGN_CERTIFICATE


def test_an_operator_with_a_sites_name_does_not_speak_for_the_site(bench: Bench) -> None:
    key = bench.keyring.learn(bench.certificate("alpha", role=Role.OPERATOR))
    assert bench.keyring.of("alpha", by(key)) is None


def test_a_relays_certificate_speaks_for_a_site_without_data_alone(bench: Bench) -> None:
    relay = bench.keyring.learn(bench.certificate("hub", role=Role.RELAY))
    assert bench.keyring.of("hub", by(relay)) is not None
    with_data = bench.keyring.learn(bench.certificate("alpha", role=Role.RELAY))
    assert bench.keyring.of("alpha", by(with_data)) is None
    assert refusal(bench, bench.certificate("stranger", role=Role.RELAY)) is Refusal.NOT_IN_ROSTER


def test_a_viewer_commands_nothing(bench: Bench) -> None:
    key = bench.keyring.learn(bench.certificate("walter", role=Role.VIEWER))
    assert bench.keyring.of_operator("walter", by(key), is_counted=True) is None


def test_a_viewer_is_named_with_the_role_and_no_operator_passes_for_one(bench: Bench) -> None:
    viewer = bench.keyring.learn(bench.certificate("walter", role=Role.VIEWER))
    assert bench.keyring.of_operator("viewer/walter", by(viewer), is_counted=False) is not None
    assert bench.keyring.of_operator("viewer/olga", by(viewer), is_counted=False) is None
    operator = bench.keyring.learn(bench.certificate("olga", role=Role.OPERATOR))
    assert bench.keyring.of_operator("viewer/olga", by(operator), is_counted=False) is None


@pytest.mark.parametrize("der", [b"", b"\x30\x03", b"x" * 4096])
def test_what_is_no_certificate_is_refused(bench: Bench, der: bytes) -> None:
    assert refusal(bench, der) is Refusal.FOREIGN_CERTIFICATE


def test_a_certificate_that_has_ended_proves_nothing(bench: Bench) -> None:
    key = bench.keyring.learn(bench.certificate("alpha", days=2))
    bench.wall_s += timedelta(days=3).total_seconds()
    assert bench.keyring.of("alpha", by(key)) is None


def test_an_operators_certificate_that_has_ended_proves_only_what_was_counted_before(
    bench: Bench,
) -> None:
    key = bench.keyring.learn(bench.certificate("olga", role=Role.OPERATOR, days=2))
    bench.wall_s += timedelta(days=3).total_seconds()
    assert bench.keyring.of_operator("olga", by(key), is_counted=False) is None
    assert bench.keyring.of_operator("olga", by(key), is_counted=True) is not None


def test_a_denied_certificate_proves_nothing_from_then_on(bench: Bench) -> None:
    der = bench.certificate("alpha")
    key = bench.keyring.learn(der)
    bench.denied = frozenset({x509.load_der_x509_certificate(der).serial_number})
    assert bench.keyring.of("alpha", by(key)) is None


def test_of_many_certificates_of_one_member_those_that_end_last_are_kept(bench: Bench) -> None:
    now = datetime.now(UTC)
    keys = [
        bench.keyring.learn(bench.certificate("alpha", days=days, now=now))
        for days in range(10, 10 + 2 * CERTIFICATES_PER_MEMBER_MAX)
    ]
    known = [key for key in keys if bench.keyring.of("alpha", by(key)) is not None]
    assert known == keys[-CERTIFICATES_PER_MEMBER_MAX:]
    assert bench.keyring.certificate(keys[0]) is None


def test_of_many_operators_the_oldest_is_let_go_and_learned_again_from_its_command(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.net.identity.keyring.OPERATORS_MAX", 3)
    shown = [bench.certificate(f"o{n}", role=Role.OPERATOR) for n in range(5)]
    keys = [bench.keyring.learn(der) for der in shown]
    assert [bench.keyring.certificate(key) is not None for key in keys] == [
        False,
        False,
        *[True] * 3,
    ]
    again = Proof(word=b"word", signature=b"signature", key=keys[0], certificate=shown[0])
    assert bench.keyring.of_operator("o0", again, is_counted=False) is not None
    assert (
        len(bench.keyring._members)
        == len(bench.keyring._people)
        == len(bench.keyring._by_owner)
        == 3
    )
