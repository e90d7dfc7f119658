"""A roster as people write it: what is read back, what is refused, and what may follow what."""

import msgspec
import pytest

from headwater.errors import ConfigurationError
from headwater.net.identity.roster_text import (
    ROSTER_BYTES_MAX,
    ROSTER_LINE_BYTES_MAX,
    ROSTER_SITES_MAX,
    read_roster_text,
    require_successor,
    roster_toml,
)
from headwater.plan.roster import Roster, Site

ROSTER = Roster(
    version=3,
    sites=(
        Site(0, "oslo", "10.0.0.1", 4100, region='north "ö"'),
        Site(4, "rome", "fe80::1", 4100, has_data=False),
        Site(7, "bonn", dialable=False),
    ),
    home="oslo",
)
TEXT = roster_toml("acme", ROSTER)


def test_a_roster_is_read_back_as_it_was_written() -> None:
    found = read_roster_text(TEXT.encode())
    assert (found.federation, found.roster, found.signed) == ("acme", ROSTER, None)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("version = 3", "version = 0", "`int` >= 1"),
        ("version = 3", "version = 9007199254740993", "<= 9007199254740992"),
        ("version = 3", "version = " + "9" * 4_000, "<= 9007199254740992"),
        ("version = 3", "", "missing required field `version`"),
        ("version = 3", "version = 3\nversoin = 4", "unknown field `versoin`"),
        ('"acme"', '"ac me"', "federation: wanted up to 63 letters"),
        ('home = "oslo"', 'home = "bern"', "home 'bern' is not a site"),
        ('name = "rome"', 'name = "oslo"', "name 'oslo' occurs twice"),
        ('name = "rome"', 'name = "ro/me"', "as name, got 'ro/me'"),
        ('name = "rome"', f'name = "{"r" * 64}"', "as name"),
        ("ordinal = 4", "ordinal = 0", "ordinal 0 occurs twice"),
        ("ordinal = 4", "ordinal = -1", "site rome: ordinal: wanted 0 to 131071, got -1"),
        ("ordinal = 4", "ordinal = 131072", "site rome: ordinal"),
        ('host = "fe80::1"', 'hots = "fe80::1"', "unknown field `hots`"),
        ('host = "fe80::1"', 'hots = "fe80::1"', "keys there: ordinal, name, host, port"),
        ('host = "fe80::1"', 'host = "a b"', "site rome: host: wanted a name or an address"),
        ('host = "fe80::1"', f'host = "{"h" * 254}"', "site rome: host"),
        ('host = "fe80::1"', 'host = "10.0.0.1"', "10.0.0.1:4100 is oslo's address"),
        ("port = 4100", "port = 0", "site oslo: port: wanted 1 to 65535, got 0"),
        ("port = 4100", "port = 65536", "site oslo: port"),
        ("dialable = false", "dialable = true", "a site that only dials others says dialable"),
        ('region = ""', 'region = "\\u0007"', "site rome: region"),
        ('region = ""', f'region = "{"r" * 64}"', "site rome: region"),
        ("has_data = false", "has_data = 0", "Expected `bool`"),
        ('home = "oslo"', 'home = "oslo"\nx = ' + "[" * 4_000, "roster: "),
        ('home = "oslo"', 'home = "oslo"\n[signed]\nby = "a"', "missing required field `at`"),
    ],
)
def test_a_mistake_is_refused_and_named(old: str, new: str, wanted: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigurationError, match=r"^roster") as caught:
        read_roster_text(TEXT.replace(old, new, 1).encode())
    assert wanted in str(caught.value)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"#" + b"\n" * ROSTER_BYTES_MAX, f"longer than {ROSTER_BYTES_MAX} bytes"),
        (b"#" * (ROSTER_LINE_BYTES_MAX + 1), "a line of 4097 bytes"),
        (b"a." * 1_000_000 + b"b = 1", "a line of"),
        (b"x = [" + b"\n[" * 100_000, "roster: "),
        (b"\xff\xfe", "roster: "),
        (b"", "missing required field"),
    ],
)
def test_what_is_too_long_or_too_deep_is_not_read(data: bytes, wanted: str) -> None:
    with pytest.raises(ConfigurationError, match=wanted):
        read_roster_text(data)


def test_too_many_sites_are_refused() -> None:
    rows = "{}," * (ROSTER_SITES_MAX + 1)
    lines = rows.replace("},", "},\n")
    with pytest.raises(ConfigurationError, match=f"length <= {ROSTER_SITES_MAX}"):
        read_roster_text(f'federation = "a"\nversion = 1\nhome = "a"\nsite = [{lines}]'.encode())


def changed(**sites: int) -> Roster:
    """The next version, with these sites and their ordinals."""
    return Roster(
        4, tuple(Site(ordinal, name) for name, ordinal in sites.items()), next(iter(sites))
    )


def test_sites_may_come_and_leave() -> None:
    require_successor(changed(oslo=0, bonn=7, bern=8), ROSTER, given_out=8)


@pytest.mark.parametrize(
    ("sites", "wanted"),
    [
        ({"oslo": 0, "bern": 4}, "site bern: ordinal 4 has been given out before"),
        ({"oslo": 0, "bern": 8}, "free are those from 9 on"),
        ({"oslo": 1}, "site oslo: its ordinal is 0, for ever, got 1"),
        ({"oslo": 9}, "site oslo: its ordinal is 0"),
    ],
)
def test_an_ordinal_is_not_used_again_and_does_not_change(
    sites: dict[str, int], wanted: str
) -> None:
    """Numbers up to 8 are gone: a version before this one had a site with that number."""
    with pytest.raises(ConfigurationError, match=wanted):
        require_successor(changed(**sites), ROSTER, given_out=9)


@pytest.mark.parametrize("version", [2, 3])
def test_a_version_rises(version: int) -> None:
    new = msgspec.structs.replace(ROSTER, version=version)
    with pytest.raises(ConfigurationError, match=f"version 3 is signed already, got {version}"):
        require_successor(new, ROSTER, given_out=8)


@pytest.mark.parametrize("at", ["2026-01-01T00:00:00", "1969-12-31T23:59:59Z"])
def test_a_time_without_a_zone_is_another_one_at_each_agent(at: str) -> None:
    """So it is none; nor is one that no clock has shown."""
    for key in ("at", "holds_from"):
        times = {"at": "2026-01-01T00:00:00Z", "holds_from": "2026-01-01T00:00:00Z", key: at}
        lines = "".join(f"{name} = {time}\n" for name, time in times.items())
        signed = f'\n[signed]\nby = "olga"\n{lines}ordinals = 8\n'
        with pytest.raises(ConfigurationError, match="wanted a time with its zone"):
            read_roster_text((TEXT + signed).encode())
