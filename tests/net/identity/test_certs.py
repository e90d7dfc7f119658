"""A federation's certificates: who they name, who can read them, and that none is lost."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from headwater.errors import ConfigurationError
from headwater.net.identity.certs import (
    Authority,
    CertFiles,
    create_authority,
    identity_in,
    issue,
    load_authority,
)
from headwater.net.identity.identity import Role, identity_of, is_name, parse_uri
from headwater.net.identity.tls import Credentials, require_verifying
from headwater.net.refusal import Refused


def test_a_certificate_names_its_federation_role_and_holder(
    authority: Authority, tmp_path: Path
) -> None:
    files = issue(authority, Role.SITE, "paris-1", into=tmp_path, hosts=("10.0.0.7", "p.example"))
    identity = identity_in(files.cert)
    assert identity.uri == "headwater://testland/site/paris-1"
    assert identity.role is Role.SITE
    assert identity.serial > 0
    days = (identity.expires_s - datetime.now(UTC).timestamp()) / 86_400
    assert 360 < days < 366


def test_every_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    authority = create_authority(tmp_path / "ca", "private")
    issue(authority, Role.SITE, "here", into=tmp_path / "site")
    issue(authority, Role.OPERATOR, "me")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.name for path in written) == [
        "ca.key",
        "ca.pem",
        "ca.pem",
        "here.key",
        "here.pem",
        "me.key",
        "me.pem",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}


def test_nothing_is_overwritten_unless_that_is_asked_for(tmp_path: Path) -> None:
    first = create_authority(tmp_path, "once")
    issue(first, Role.SITE, "here")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigurationError, match=r"ca\.key"):
        create_authority(tmp_path, "once")
    with pytest.raises(ConfigurationError, match=r"here\.key"):
        issue(first, Role.SITE, "here")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    issue(first, Role.SITE, "here", force=True)
    assert (tmp_path / "here.pem").read_bytes() != before["here.pem"]


def test_an_authority_that_was_loaded_signs_like_the_one_that_was_made(tmp_path: Path) -> None:
    create_authority(tmp_path, "again")
    loaded = load_authority(tmp_path)
    assert loaded.federation == "again"
    assert Credentials(issue(loaded, Role.SITE, "here")).identity.name == "here"


def test_a_missing_authority_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="certs init"):
        load_authority(tmp_path)


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", "white space", "x" * 64, "ca"])
def test_a_name_that_would_not_fit_a_uri_or_a_file_is_refused(
    authority: Authority, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigurationError, match="name: wanted"):
        issue(authority, Role.SITE, name, into=tmp_path)


def test_only_a_uri_of_ours_is_an_identity() -> None:
    assert is_name("site-1.eu_west")
    assert parse_uri("headwater://f/operator/me") is not None
    for uri in ("spiffe://f/site/me", "headwater://f/site/me/more", "headwater://f/root/me"):
        assert parse_uri(uri) is None
    both = {"subjectAltName": (("URI", "headwater://f/site/a"), ("URI", "headwater://f/site/b"))}
    with pytest.raises(Refused, match="wanted one URI"):
        identity_of(both)


def test_credentials_verify_the_other_side_or_are_not_made(authority: Authority) -> None:
    at = authority.directory
    credentials = Credentials(CertFiles(at / "ca.pem", at / "alpha.pem", at / "alpha.key"))
    for context in (credentials.server, credentials.client):
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    for spoil in (
        lambda context: setattr(context, "verify_mode", ssl.CERT_OPTIONAL),
        lambda context: setattr(context, "minimum_version", ssl.TLSVersion.TLSv1_2),
    ):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(at / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        require_verifying(context)
        spoil(context)
        with pytest.raises(ConfigurationError, match="tls: wanted"):
            require_verifying(context)


def test_a_key_that_others_can_read_is_refused(authority: Authority, tmp_path: Path) -> None:
    files = issue(authority, Role.SITE, "open", into=tmp_path)
    files.key.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        Credentials(files)


def test_an_agent_does_not_start_with_an_expired_certificate(
    authority: Authority, tmp_path: Path
) -> None:
    past = datetime.now(UTC) - timedelta(days=10)
    files = issue(authority, Role.SITE, "old", into=tmp_path, days=1, now=past)
    with pytest.raises(ConfigurationError, match="expired"):
        Credentials(files)


def test_a_certificate_and_the_key_of_another_are_refused(authority: Authority) -> None:
    at = authority.directory
    with pytest.raises(ConfigurationError, match="its key"):
        Credentials(CertFiles(at / "ca.pem", at / "alpha.pem", at / "bravo.key"))


def test_a_ca_that_nobody_copied_is_named(authority: Authority) -> None:
    at = authority.directory
    with pytest.raises(ConfigurationError, match=r"got: no file .*nowhere\.pem$"):
        Credentials(CertFiles(at / "nowhere.pem", at / "alpha.pem", at / "alpha.key"))


def test_a_reload_that_fails_leaves_the_old_certificates_in_use(
    authority: Authority, tmp_path: Path
) -> None:
    deny = tmp_path / "denied"
    credentials = Credentials(issue(authority, Role.SITE, "here", into=tmp_path), deny=deny)
    assert credentials.denied == frozenset()
    deny.write_text("# who has left\n1aF  # bob\n\n")
    credentials.reload()
    assert credentials.denied == {0x1AF}
    before = (credentials.server, credentials.identity, credentials.denied)
    deny.write_text("not a number")
    with pytest.raises(ConfigurationError, match="deny list"):
        credentials.reload()
    assert (credentials.server, credentials.identity, credentials.denied) == before


def test_a_denied_serial_is_not_admitted(authority: Authority, tmp_path: Path) -> None:
    files = issue(authority, Role.SITE, "here", into=tmp_path)
    deny = tmp_path / "denied"
    credentials = Credentials(files, deny=deny)
    identity = identity_in(files.cert)
    peer = {
        "subjectAltName": (("URI", identity.uri),),
        "serialNumber": f"{identity.serial:X}",
        "notAfter": "Nov 15 12:00:00 2099 GMT",
    }
    admitted = credentials.admit(peer)
    assert msgspec.structs.replace(admitted, expires_s=identity.expires_s) == identity
    deny.write_text(f"{identity.serial:x}\n")
    credentials.reload()
    with pytest.raises(Refused, match="denied certificate"):
        credentials.admit(peer)


def test_a_certificate_that_names_another_federation_is_not_admitted(
    authority: Authority, tmp_path: Path
) -> None:
    """Even where it is signed by our own CA: two federations may have been given one."""
    credentials = Credentials(issue(authority, Role.SITE, "here", into=tmp_path))
    uri = credentials.identity.uri.replace(credentials.identity.federation, "others")
    peer = {
        "subjectAltName": (("URI", uri),),
        "serialNumber": "77",
        "notAfter": "Nov 15 12:00:00 2099 GMT",
    }
    with pytest.raises(Refused, match="wanted federation"):
        credentials.admit(peer)
