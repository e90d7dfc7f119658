"""An agent starts with a roster that an operator signed, or not at all and with what to do."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from headwater.agent import process
from headwater.agent.config import AgentConfig
from headwater.errors import ConfigurationError
from headwater.local import up
from headwater.local.federation_files import ROSTER, ROSTER_TEXT
from headwater.net.identity.certs import (
    CertFiles,
    create_authority,
    identity_in,
    issue,
    load_authority,
)
from headwater.net.identity.identity import Role
from headwater.net.identity.roster_text import ROSTER_BYTES_MAX, roster_toml
from headwater.net.identity.signed_roster import sign_roster
from headwater.net.identity.signing import OperatorSignature
from headwater.net.identity.tls import Credentials

DAY_S = 86_400.0


@pytest.fixture
def federation(tmp_path: Path) -> Path:
    up.lay_out(tmp_path / "fed", site_count=1, relays=1)
    return tmp_path / "fed"


def configuration(federation: Path) -> AgentConfig:
    return AgentConfig.load(federation / "relay1" / "agent.toml")


def sign(federation: Path, files: CertFiles, *, at_s: float | None = None) -> None:
    """With whatever key this is."""
    credentials = Credentials(files)
    who = credentials.identity
    text = roster_toml(who.federation, up.laid_out_roster(federation).roster).encode()
    signature = OperatorSignature(who.federation, who.name, credentials.own)
    data = sign_roster(text, signature, given_out=2, at_s=time.time() if at_s is None else at_s)
    (federation / ROSTER).write_bytes(data)


def operator(federation: Path) -> CertFiles:
    at = federation / "certs"
    return CertFiles(at / "ca.pem", at / "operator.pem", at / "operator.key")


def unsigned(federation: Path) -> None:
    (federation / ROSTER).write_bytes((federation / ROSTER_TEXT).read_bytes())


def not_there(federation: Path) -> None:
    (federation / ROSTER).unlink()


def of_another_federation(federation: Path) -> None:
    other = up.lay_out(federation.parent / "other", site_count=1, relays=1)
    assert [site.name for site in other.sites] == ["site1", "relay1"]
    (federation / ROSTER).write_bytes((federation.parent / "other" / ROSTER).read_bytes())


def of_another_ca_of_that_name(federation: Path) -> None:
    sign(federation, issue(create_authority(federation / "forged", "fed"), Role.OPERATOR, "alice"))


def by_a_site(federation: Path) -> None:
    at = federation / "certs"
    sign(federation, CertFiles(at / "ca.pem", at / "site1.pem", at / "site1.key"))


def by_somebody_denied(federation: Path) -> None:
    serial = identity_in(operator(federation).cert).serial
    (federation / "certs" / "denied").write_text(f"{serial:x}\n")


def changed_by_a_byte(federation: Path) -> None:
    data = (federation / ROSTER).read_bytes()
    assert data.count(b"has_data = false") == 1
    (federation / ROSTER).write_bytes(data.replace(b"has_data = false", b"has_data = true "))


def after_the_certificate_had_ended(federation: Path) -> None:
    sign(federation, operator(federation), at_s=time.time() + 91 * DAY_S)


def huge(federation: Path) -> None:
    with (federation / ROSTER).open("wb") as file:
        file.truncate(ROSTER_BYTES_MAX + 1)


def without_this_site(federation: Path) -> None:
    text = (federation / ROSTER_TEXT).read_text().replace('"relay1"', '"relay2"')
    (federation / ROSTER_TEXT).write_text(text)
    (federation / ROSTER).unlink()
    up.sign_laid_out(federation)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (unsigned, "headwater certs roster .*roster.signed --operator DIR --into FILE"),
        (not_there, "headwater certs roster .*roster.toml --operator DIR"),
        (of_another_federation, "is not from our CA"),
        (of_another_ca_of_that_name, "is not from our CA"),
        (by_a_site, "fed/site/site1, who is no operator; sign it with an operator's"),
        (by_somebody_denied, "is denied; raise its version and sign it with another"),
        (changed_by_a_byte, "it was changed after headwater://fed/operator/operator signed it"),
        (after_the_certificate_had_ended, "and the certificate was valid from .*; sign it anew"),
        (huge, f"longer than {ROSTER_BYTES_MAX} bytes"),
        (without_this_site, "no site 'relay1'"),
    ],
)
def test_an_agent_with_a_roster_that_proves_nothing_does_not_start(
    federation: Path, make: Callable[[Path], None], wanted: str
) -> None:
    make(federation)
    with pytest.raises(ConfigurationError, match=wanted):
        asyncio.run(process._run(configuration(federation)))
    assert not (federation / "relay1" / "state").exists(), "nothing was opened"


def test_a_roster_of_another_federation_under_our_ca_is_refused(federation: Path) -> None:
    """A CA that made certificates for two: its key is in the wrong hands, or was used twice."""
    authority = load_authority(federation / "certs")
    other = msgspec.structs.replace(authority, federation="elsewhere")
    sign(federation, issue(other, Role.OPERATOR, "alice", into=federation / "alice"))
    with pytest.raises(ConfigurationError, match="alice, and this is federation fed"):
        asyncio.run(process._run(configuration(federation)))


def test_an_agent_takes_a_signed_roster_and_says_who_signed_it(federation: Path) -> None:
    config = configuration(federation)
    credentials = process.credentials_of(config)
    later_s = time.time() + 200 * DAY_S
    with capture_logs() as said:
        signed = process.take_roster(config, credentials, now_s=later_s)
    assert signed == up.laid_out_roster(federation)
    (one,) = said
    assert (one["event"], one["version"]) == ("roster", 1)
    assert one["signed_by"] == "headwater://fed/operator/operator"


def test_a_roster_that_does_not_hold_yet_is_taken_and_told(federation: Path) -> None:
    config = configuration(federation)
    with capture_logs() as said:
        process.take_roster(config, process.credentials_of(config), now_s=0.0)
    assert [one["event"] for one in said] == ["roster", "early roster"]
