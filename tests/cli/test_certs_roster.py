"""``certs roster`` and ``certs show``: signing a roster, version after version, and reading it."""

import json
from pathlib import Path
from typing import Any

import pytest

from headwater.cli import main

ROSTER = """federation = "acme"
version = {version}
home = "fra"

[[site]]
ordinal = 0
name = "fra"
host = "10.0.0.1"
port = 7400
region = "north"

[[site]]
ordinal = {ordinal}
name = "{name}"
dialable = false
has_data = false
"""


class Place:
    """A directory with a CA, two operators and a roster, and the commands in it."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys
        self("certs", "init", "ca", "--federation", "acme")
        self("certs", "operator", "ca", "alice", "--into", "certs")
        self("certs", "viewer", "ca", "walter", "--into", "walter")
        self.write(version=1)

    def __call__(self, *arguments: str) -> list[dict[str, Any]]:
        code, out, err = self.run(*arguments)
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def refused(self, *arguments: str) -> str:
        code, out, err = self.run(*arguments)
        assert (code, out) == (main.EXIT_REFUSED, "")
        return err

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main.main(arguments)
        out, err = self._capsys.readouterr()
        return int(ended.value.code or 0), out, err

    def write(self, *, version: int, name: str = "hub", ordinal: int = 3) -> None:
        text = ROSTER.format(version=version, name=name, ordinal=ordinal)
        (self.directory / "roster.toml").write_text(text)


@pytest.fixture
def place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Place:
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path, capsys)


def test_a_roster_is_signed_beside_itself_with_the_certificate_that_is_there(place: Place) -> None:
    (made,) = place("certs", "roster", "roster.toml")
    head, fra, hub = place("certs", "show", "roster.signed")
    assert head == made
    assert (head["federation"], head["version"], head["home"], head["sites"]) == (
        "acme",
        1,
        "fra",
        2,
    )
    assert head["signed by"] == "alice"
    (alice,) = place("certs", "show", "certs/alice.pem")
    assert (head["serial"], head["certificate ends"]) == (alice["serial"], alice["expires"])
    assert head["signed at"] == head["holds from"]
    assert fra == {
        "ordinal": 0,
        "site": "fra",
        "address": "10.0.0.1:7400",
        "region": "north",
        "kind": "data",
    }
    assert (hub["address"], hub["kind"]) == ("", "relay")
    assert (
        (place.directory / "roster.signed")
        .read_text()
        .startswith((place.directory / "roster.toml").read_text())
    )


def test_every_next_version_is_held_against_the_one_that_it_replaces(place: Place) -> None:
    place("certs", "roster", "roster.toml")
    assert "version 1 is signed already" in place.refused("certs", "roster", "roster.toml")
    place.write(version=2, name="hub2", ordinal=3)
    assert "ordinal 3 has been given out before" in place.refused("certs", "roster", "roster.toml")
    place.write(version=2, name="hub2", ordinal=4)
    (made,) = place("certs", "roster", "roster.toml")
    assert made["version"] == 2


def test_a_version_that_lies_elsewhere_is_compared_where_it_is_named(place: Place) -> None:
    place("certs", "roster", "roster.toml", "--into", "v1.signed")
    assert not (place.directory / "roster.signed").exists()
    place.write(version=2, name="hub2", ordinal=3)
    said = place.refused("certs", "roster", "roster.toml", "--former", "v1.signed")
    assert "ordinal 3 has been given out before" in said
    place("certs", "roster", "roster.toml")


def test_a_time_from_which_it_holds_can_be_said(place: Place) -> None:
    (made,) = place("certs", "roster", "roster.toml", "--holds-from", "2031-05-01T10:00:00")
    assert made["holds from"] == "2031-05-01T10:00:00Z"
    assert made["signed at"] < made["holds from"]


@pytest.mark.parametrize("text", ["2031-05-01T10:00:00Z", "2031-05-01"])
def test_times_are_utc_however_they_are_written(place: Place, text: str) -> None:
    (made,) = place("certs", "roster", "roster.toml", "--holds-from", text)
    assert made["holds from"].startswith("2031-05-01T")
    assert made["holds from"].endswith("0:00:00Z")


def test_a_viewer_signs_nothing(place: Place) -> None:
    said = place.refused("certs", "roster", "roster.toml", "--operator", "walter")
    assert "a roster is signed by an operator, this is a viewer's" in said
    said = place.refused("certs", "roster", "roster.toml", "--operator", "ca")
    assert "headwater certs operator" in said
    assert not (place.directory / "roster.signed").exists()


def test_a_roster_is_shown_only_where_it_is_proven(place: Place) -> None:
    place("certs", "roster", "roster.toml", "--into", "far/roster.signed")
    assert "give --ca ca.pem" in place.refused("certs", "show", "far/roster.signed")
    head, *_ = place("certs", "show", "far/roster.signed", "--ca", "ca/ca.pem")
    assert head["signed by"] == "alice"
    place("certs", "init", "other", "--federation", "acme")
    said = place.refused("certs", "show", "far/roster.signed", "--ca", "other/ca.pem")
    assert "is not from our CA" in said
    path = place.directory / "far" / "roster.signed"
    path.write_bytes(path.read_bytes().replace(b"10.0.0.1", b"10.0.0.2"))
    said = place.refused("certs", "show", "far/roster.signed", "--ca", "ca/ca.pem")
    assert "it was changed after headwater://acme/operator/alice signed it" in said


def test_mistakes_in_a_roster_are_found_before_it_is_signed(place: Place) -> None:
    path = place.directory / "roster.toml"
    for old, new, wanted in (
        ("port = 7400", "prot = 7400", "unknown field `prot`"),
        ('"acme"', '"emca"', "it is of federation emca, and the operator of acme"),
        ('home = "fra"', 'home = "lhr"', "home 'lhr' is not a site"),
    ):
        place.write(version=1)
        path.write_text(path.read_text().replace(old, new))
        assert wanted in place.refused("certs", "roster", "roster.toml")
    assert not (place.directory / "roster.signed").exists()
    assert "can't be read" in place.refused("certs", "roster", "none.toml")


def test_the_wrong_file_is_answered_with_the_right_one(place: Place) -> None:
    said = place.refused("certs", "show", "roster.toml")
    assert "signed with: headwater certs roster roster.toml --operator DIR" in said
    said = place.refused("certs", "roster", "roster.toml", "--operator", "certs/alice.pem")
    assert "certs/alice.pem: wanted the directory that it lies in, got a file" in said
