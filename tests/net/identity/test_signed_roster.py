"""The roster as an operator's word: who may sign it, when, and that a changed byte shows."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from headwater.errors import ConfigurationError
from headwater.net.identity.certs import Authority, CertFiles, create_authority, identity_in, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.roster_text import ROSTER_BYTES_MAX, roster_toml
from headwater.net.identity.signed_roster import (
    RosterTrust,
    SignedRoster,
    is_signed,
    issue_roster,
    load_roster_text,
    load_signed_roster,
    read_bounded,
    read_signed_roster,
    sign_roster,
)
from headwater.net.identity.signing import Kind, OperatorSignature
from headwater.net.identity.tls import Credentials
from headwater.plan.roster import Roster, Site

DAY_S = 86_400.0
MADE = datetime.now(UTC).replace(microsecond=0)
"""When certificates are made here: keys can be used today only."""
NOW_S = MADE.timestamp()
ROSTER = Roster(1, (Site(0, "oslo", "10.0.0.1", 4100), Site(5, "rome", dialable=False)), "oslo")
TEXT = f"# ours\r\n{roster_toml('acme', ROSTER)}".encode().rstrip(b"\n")
"""Nobody's words but its writer's: other line ends, none at the end."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return create_authority(tmp_path_factory.mktemp("ca"), "acme")


@pytest.fixture(scope="module")
def alice(authority: Authority) -> CertFiles:
    return issue(authority, Role.OPERATOR, "alice", now=MADE)


@pytest.fixture(scope="module")
def trust(authority: Authority) -> RosterTrust:
    return RosterTrust.of_ca(authority.directory / "ca.pem")


def signature(files: CertFiles) -> OperatorSignature:
    """With whatever key this is: what is refused must have been signed first."""
    credentials = Credentials(files)
    who = credentials.identity
    return OperatorSignature(who.federation, who.name, credentials.own)


def signed(files: CertFiles, text: bytes = TEXT, *, at_s: float = NOW_S) -> bytes:
    return sign_roster(text, signature(files), given_out=6, at_s=at_s)


def refusal(data: bytes, trust: RosterTrust) -> str:
    with pytest.raises(ConfigurationError, match=r"^roster: ") as caught:
        read_signed_roster(data, trust)
    return str(caught.value)


def test_a_signed_roster_says_what_was_written_and_by_whom(
    alice: CertFiles, trust: RosterTrust
) -> None:
    data = signed(alice)
    assert data.startswith(TEXT), "to the byte"
    found = read_signed_roster(data, trust)
    assert (found.federation, found.roster, found.given_out) == ("acme", ROSTER, 6)
    assert found.by == identity_in(alice.cert)
    assert (found.signed_at_s, found.holds_from_s) == (NOW_S, NOW_S)


def test_one_word_is_one_roster_however_often_it_is_signed(
    alice: CertFiles, trust: RosterTrust
) -> None:
    """Signatures differ each time; agents that have the same word must not call it two."""
    one, other = signed(alice), signed(alice)
    assert one != other
    assert read_signed_roster(one, trust).digest == read_signed_roster(other, trust).digest
    later = read_signed_roster(signed(alice, at_s=NOW_S + 1.0), trust)
    assert later.digest != read_signed_roster(one, trust).digest


def test_the_time_from_which_it_holds_is_signed_with_it(
    alice: CertFiles, trust: RosterTrust
) -> None:
    data = sign_roster(
        TEXT, signature(alice), given_out=6, at_s=NOW_S, holds_from_s=NOW_S + 30 * DAY_S
    )
    assert read_signed_roster(data, trust).holds_from_s == NOW_S + 30 * DAY_S


@pytest.mark.filterwarnings("ignore:Parsed a serial number")
def test_a_byte_that_was_changed_shows_wherever_it_is(alice: CertFiles, trust: RosterTrust) -> None:
    data = signed(alice)
    true = read_signed_roster(data, trust)
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        if at < data.rindex(b"certificate = "):
            with pytest.raises(ConfigurationError):
                read_signed_roster(changed, trust)
        else:  # the CA's own signature in it can be written in several ways
            with suppress(ConfigurationError):
                assert read_signed_roster(changed, trust) == true


@pytest.mark.parametrize("change", [lambda d: d + b"\n", lambda d: d[:-1], lambda d: d * 2])
def test_what_was_put_to_the_end_or_taken_away_shows(
    alice: CertFiles, trust: RosterTrust, change: object
) -> None:
    refusal(change(signed(alice)), trust)  # type: ignore[operator]


def test_an_unsigned_roster_is_refused_with_the_command_that_signs_it(
    trust: RosterTrust, tmp_path: Path
) -> None:
    assert "it is not signed; sign it with: headwater certs roster" in refusal(TEXT, trust)
    path = tmp_path / "mine.toml"
    path.write_bytes(TEXT)
    wanted = f"headwater certs roster {path} --operator DIR --into FILE"
    with pytest.raises(ConfigurationError, match=wanted):
        load_signed_roster(path, trust)
    (tmp_path / "mine.signed").touch()
    with pytest.raises(ConfigurationError, match=r"mine\.signed beside it may be: let roster in"):
        load_signed_roster(path, trust)
    missing = tmp_path / "mine.signed"
    missing.unlink()
    with pytest.raises(ConfigurationError, match=f"headwater certs roster {path} --operator DIR"):
        load_signed_roster(missing, trust)
    with pytest.raises(ConfigurationError, match=r"none\.signed: can't be read: No such file"):
        load_signed_roster(tmp_path / "none.signed", trust)


@pytest.mark.parametrize("role", [Role.SITE, Role.RELAY, Role.VIEWER])
def test_nobody_but_an_operator_signs_a_roster(
    authority: Authority, trust: RosterTrust, tmp_path: Path, role: Role
) -> None:
    files = issue(authority, role, "alice", into=tmp_path)
    assert f"/{role}/alice, who is no operator" in refusal(signed(files), trust)
    (tmp_path / "roster.toml").write_bytes(TEXT)
    with pytest.raises(ConfigurationError, match=f"signed by an operator, this is a {role}'s"):
        issue_roster(tmp_path / "roster.toml", tmp_path / "roster.signed", files, at_s=NOW_S)
    assert not (tmp_path / "roster.signed").exists()


def test_another_ca_signs_no_roster_of_ours_whatever_it_calls_itself(
    trust: RosterTrust, tmp_path: Path
) -> None:
    for federation in ("acme", "elsewhere"):
        other = create_authority(tmp_path / federation, federation)
        files = issue(other, Role.OPERATOR, "alice")
        text = TEXT.replace(b'"acme"', f'"{federation}"'.encode())
        assert "is not from our CA" in refusal(signed(files, text), trust)


def test_a_roster_of_another_federation_is_refused(
    authority: Authority, alice: CertFiles, trust: RosterTrust
) -> None:
    """By the certificate, and by what the roster says of itself."""
    other = msgspec.structs.replace(trust, federation="elsewhere")
    assert "and this is federation elsewhere" in refusal(signed(alice), other)
    text = TEXT.replace(b'"acme"', b'"elsewhere"')
    assert "says other things of itself: federation elsewhere" in refusal(
        signed(alice, text), trust
    )


def test_a_roster_that_names_another_signer_is_refused(
    alice: CertFiles, trust: RosterTrust
) -> None:
    credentials = Credentials(alice)
    as_bob = OperatorSignature("acme", "bob", credentials.own)
    data = sign_roster(TEXT, as_bob, given_out=6, at_s=NOW_S)
    assert "says other things of itself" in refusal(data, trust)


def test_who_is_denied_has_signed_nothing(alice: CertFiles, trust: RosterTrust) -> None:
    denying = msgspec.structs.replace(trust, denied=frozenset({identity_in(alice.cert).serial}))
    assert "is denied; raise its version and sign it with another" in refusal(
        signed(alice), denying
    )


@pytest.mark.parametrize("days", [-0.05, 89.9])
def test_a_certificate_that_was_valid_then_proves_it_for_ever(
    alice: CertFiles, trust: RosterTrust, days: float
) -> None:
    """``read_signed_roster`` has no clock: what has ended since undoes nothing."""
    at_s = NOW_S + days * DAY_S if days > 0 else NOW_S - 3_600.0
    assert read_signed_roster(signed(alice, at_s=at_s), trust).signed_at_s == int(at_s)


@pytest.mark.parametrize(
    "at_s", [NOW_S - 3_601.0, NOW_S + 90 * DAY_S + 1.0], ids=["not yet", "no longer"]
)
def test_a_certificate_that_was_not_valid_then_proves_nothing(
    alice: CertFiles, trust: RosterTrust, at_s: float
) -> None:
    assert "and the certificate was valid from" in refusal(signed(alice, at_s=at_s), trust)


def test_a_signature_of_another_kind_of_word_is_none(
    alice: CertFiles, trust: RosterTrust, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove = OperatorSignature.prove
    monkeypatch.setattr(
        OperatorSignature, "prove", lambda self, _, word: prove(self, Kind.COMMAND, word)
    )
    assert "it was changed after" in refusal(signed(alice), trust)


def test_nothing_is_made_of_a_text_before_its_proof_was_looked_at(
    alice: CertFiles, trust: RosterTrust, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = signed(alice).replace(b"4100", b"4200")

    def read(text: bytes) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("headwater.net.identity.signed_roster.read_roster_text", read)
    assert "it was changed after" in refusal(data, trust)


def test_a_huge_file_is_not_read_to_its_end(
    alice: CertFiles, trust: RosterTrust, tmp_path: Path
) -> None:
    path = tmp_path / "roster.signed"
    with path.open("wb") as file:
        file.truncate(3 * ROSTER_BYTES_MAX)
    assert len(read_bounded(path)) == ROSTER_BYTES_MAX + 1
    with pytest.raises(ConfigurationError, match=f"longer than {ROSTER_BYTES_MAX} bytes"):
        load_signed_roster(path, trust)
    padded = signed(alice, b"#\n" * (ROSTER_BYTES_MAX // 2) + TEXT)
    assert f"longer than {ROSTER_BYTES_MAX} bytes" in refusal(padded, trust)


def test_a_word_with_a_text_that_no_agent_takes_is_refused_though_it_is_signed(
    alice: CertFiles, trust: RosterTrust
) -> None:
    for text in (b"", b"version = 1", TEXT.replace(b'home = "oslo"', b'home = "bern"')):
        refusal(signed(alice, text), trust)


@pytest.mark.parametrize("end", [b'", "', b"=\n", b"\xff", b"", b"AB=="])
def test_a_certificate_that_is_none_is_no_signed_roster(alice: CertFiles, end: bytes) -> None:
    data = signed(alice)
    assert is_signed(data)
    at = data.rindex(b'certificate = "') + len(b'certificate = "')
    assert not is_signed(data[:at] + end + b'"\n')


# Signing, version after version.


@pytest.fixture
def place(tmp_path: Path, alice: CertFiles) -> Path:
    (tmp_path / "roster.toml").write_bytes(TEXT)
    issue_at(tmp_path, alice)
    return tmp_path


def issue_at(place: Path, files: CertFiles, **more: object) -> SignedRoster:
    into = more.pop("into", place / "roster.signed")
    return issue_roster(place / "roster.toml", into, files, at_s=NOW_S, **more)  # type: ignore[arg-type]


def write(place: Path, version: int, **sites: int) -> None:
    rows = tuple(Site(ordinal, name, dialable=False) for name, ordinal in sites.items())
    text = roster_toml("acme", Roster(version, rows, next(iter(sites))))
    (place / "roster.toml").write_text(text)


def test_a_version_that_is_signed_already_is_not_signed_again(
    place: Path, alice: CertFiles
) -> None:
    before = (place / "roster.signed").read_bytes()
    with pytest.raises(ConfigurationError, match=r"roster\.toml: roster: version 1 is signed"):
        issue_at(place, alice)
    assert (place / "roster.signed").read_bytes() == before


def test_numbers_of_sites_that_left_long_ago_are_not_used_again(
    place: Path, alice: CertFiles
) -> None:
    for version in (2, 3):
        write(place, version, oslo=0)
        assert issue_at(place, alice).given_out == 6
    write(place, 4, oslo=0, bern=1)
    with pytest.raises(ConfigurationError, match="site bern: ordinal 1 has been given out before"):
        issue_at(place, alice)
    write(place, 4, oslo=0, bern=6)
    assert issue_at(place, alice).given_out == 7


def test_the_version_before_may_lie_elsewhere(place: Path, alice: CertFiles) -> None:
    write(place, 2, oslo=3)
    into = place / "new" / "roster.signed"
    with pytest.raises(ConfigurationError, match="site oslo: its ordinal is 0"):
        issue_at(place, alice, into=into, former=place / "roster.signed")
    assert not into.exists()
    write(place, 2, oslo=0)
    assert issue_at(place, alice, into=into, former=place / "roster.signed").given_out == 6


def test_what_is_replaced_and_what_lies_elsewhere_are_both_asked(
    place: Path, alice: CertFiles
) -> None:
    into = place / "new" / "roster.signed"
    write(place, 1, oslo=0)
    issue_at(place, alice, into=into)
    write(place, 2, oslo=0, bern=3)
    with pytest.raises(ConfigurationError, match="site bern: ordinal 3 has been given out before"):
        issue_at(place, alice, into=into, former=place / "roster.signed")
    assert issue_at(place, alice, into=into).given_out == 4


def test_what_is_no_version_before_is_replaced_only_by_force(place: Path, alice: CertFiles) -> None:
    (place / "roster.signed").write_text("something else")
    with pytest.raises(ConfigurationError, match="not taken for a version before this one"):
        issue_at(place, alice)
    assert issue_at(place, alice, force=True).roster == ROSTER


def test_the_text_itself_is_never_replaced(place: Path, alice: CertFiles) -> None:
    with pytest.raises(ConfigurationError, match="the text itself stays as it is"):
        issue_at(place, alice, into=place / "roster.toml", force=True)
    assert (place / "roster.toml").read_bytes() == TEXT


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (TEXT.replace(b'"acme"', b'"other"'), "it is of federation other, and the operator"),
        (
            TEXT + b'\n[signed]\nby = "a"\nat = 2026-01-01T00:00:00Z\nholds_from = '
            b"2026-01-01T00:00:00Z\nordinals = 1",
            "for the signer to write",
        ),
        (TEXT.replace(b"4100", b"0"), "site oslo: port"),
    ],
)
def test_what_agents_would_refuse_is_not_signed(
    alice: CertFiles, tmp_path: Path, text: bytes, wanted: str
) -> None:
    (tmp_path / "roster.toml").write_bytes(text)
    with pytest.raises(ConfigurationError, match=wanted):
        issue_at(tmp_path, alice)
    assert not (tmp_path / "roster.signed").exists()


def test_a_signed_roster_is_not_signed_over(place: Path, alice: CertFiles) -> None:
    (place / "roster.toml").write_bytes((place / "roster.signed").read_bytes())
    with pytest.raises(ConfigurationError, match="sign the text that it was made from"):
        issue_at(place, alice, force=True)


def test_an_operator_of_another_ca_than_its_own_ca_pem_signs_nothing(
    alice: CertFiles, tmp_path: Path
) -> None:
    other = create_authority(tmp_path / "other", "acme")
    files = msgspec.structs.replace(alice, ca=other.directory / "ca.pem")
    (tmp_path / "roster.toml").write_bytes(TEXT)
    with pytest.raises(ConfigurationError, match="is not from our CA"):
        issue_at(tmp_path, files)
    assert not (tmp_path / "roster.signed").exists()


def test_what_is_in_a_file_can_be_looked_at_signed_or_not(place: Path) -> None:
    for name in ("roster.toml", "roster.signed"):
        assert load_roster_text(place / name).roster == ROSTER
