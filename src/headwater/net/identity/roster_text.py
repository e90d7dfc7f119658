"""A roster as people write it: a TOML text, bounded before it is read, checked when it is.

The bytes come from a file that somebody else may have written, so how many there are, in all and in
a line, is looked at first: TOML's reader takes time with the square of the dots in a key.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import ORDINALS_MAX
from headwater.algebra.rows.places import LABEL_PATTERN
from headwater.errors import ConfigurationError
from headwater.net.identity.certs import NAME_RULE
from headwater.net.identity.identity import is_name
from headwater.net.identity.toml_hint import hint
from headwater.plan.roster import Roster, Site

ROSTER_BYTES_MAX = 4 << 20
"""Ten thousand sites take 1.2 MB."""
ROSTER_LINE_BYTES_MAX = 4_096
ROSTER_SITES_MAX = 20_000
VERSION_MAX = 1 << 53
REGION_CHARS_MAX = 63
LABELS_MAX = 32
"""Of one site."""
PORT_MAX = 65_535
YEAR_MAX = 9_000

_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:-]{0,252}")
"""A name or an address; what does not resolve is found by whoever dials it."""


class Signed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[signed]``: what a signer adds, before the signature itself."""

    by: str
    """The operator's name."""
    at: datetime
    holds_from: datetime
    ordinals: Annotated[int, Meta(ge=1, le=ORDINALS_MAX)]
    """Numbers that this version and those before it have given out; a new site's is not below."""

    def __post_init__(self) -> None:
        for at in (self.at, self.holds_from):
            if at.tzinfo is None or not 1970 <= at.year < YEAR_MAX:
                raise ValueError(f"wanted a time with its zone, up to {YEAR_MAX}, got {at}")


class RosterText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in the file."""

    federation: str
    version: Annotated[int, Meta(ge=1, le=VERSION_MAX)]
    home: str
    site: Annotated[tuple[Site, ...], Meta(min_length=1, max_length=ROSTER_SITES_MAX)]
    signed: Signed | None = None

    @property
    def roster(self) -> Roster:
        return Roster(version=self.version, sites=self.site, home=self.home)


def read_roster_text(text: bytes) -> RosterText:
    """Raises ``ConfigurationError`` that says what was wanted."""
    _require_bounded(text)
    try:
        found = msgspec.toml.decode(text, type=RosterText)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        wanted = "; ".join(filter(None, (str(error)[:200], hint(RosterText, str(error)))))
        raise ConfigurationError(f"roster: {wanted}") from None
    _check(found)
    return found


def roster_toml(federation: str, roster: Roster) -> str:
    """The text that ``read_roster_text`` reads back."""
    lines = [
        f"federation = {_toml(federation)}",
        f"version = {roster.version}",
        f"home = {_toml(roster.home)}",
    ]
    for site in roster.sites:
        lines += ["", "[[site]]"]
        for name, value in msgspec.structs.asdict(site).items():
            if name != "labels":
                lines.append(f"{name} = {_toml(value)}")
        if site.labels:
            labels = ", ".join(f"{name} = {_toml(value)}" for name, value in site.labels.items())
            lines.append(f"labels = {{ {labels} }}")
    return "\n".join(lines) + "\n"


def require_successor(new: Roster, former: Roster, *, given_out: int) -> None:
    """Whoever has a number keeps it, or leaves and takes it along: in coverage, sites are bits.

    ``given_out`` are the ordinals below which ``former`` and all versions before it have numbered.
    """
    if new.version <= former.version:
        raise ConfigurationError(
            f"roster: version {former.version} is signed already, got {new.version}; raise version "
            "with every change"
        )
    for site in new.sites:
        before = former.by_name.get(site.name)
        if before is None and site.ordinal < given_out:
            raise ConfigurationError(
                f"roster, site {site.name}: ordinal {site.ordinal} has been given out before, and "
                f"none is used again; free are those from {given_out} on"
            )
        if before is not None and before.ordinal != site.ordinal:
            raise ConfigurationError(
                f"roster, site {site.name}: its ordinal is {before.ordinal}, for ever, got "
                f"{site.ordinal}"
            )


def _require_bounded(text: bytes) -> None:
    if len(text) > ROSTER_BYTES_MAX:
        raise ConfigurationError(f"roster: it is longer than {ROSTER_BYTES_MAX} bytes")
    longest = max(map(len, text.split(b"\n")))
    if longest > ROSTER_LINE_BYTES_MAX:
        raise ConfigurationError(
            f"roster: a line of {longest} bytes; up to {ROSTER_LINE_BYTES_MAX} are read"
        )


def _check(found: RosterText) -> None:
    if not is_name(found.federation):
        raise ConfigurationError(
            f"roster, federation: wanted {NAME_RULE}, got {found.federation!r}"
        )
    dialled: dict[tuple[str, int], str] = {}
    for site in found.roster.sites:
        _check_site(site)
        if site.dialable and (same := dialled.setdefault((site.host, site.port), site.name)) != (
            site.name
        ):
            raise ConfigurationError(
                f"roster, site {site.name}: {site.host}:{site.port} is {same}'s address"
            )


def _check_site(site: Site) -> None:
    if not is_name(site.name):
        raise ConfigurationError(f"roster, site: wanted {NAME_RULE} as name, got {site.name!r}")
    if not 0 <= site.ordinal < ORDINALS_MAX:
        raise _unfit(site, "ordinal", f"0 to {ORDINALS_MAX - 1}", site.ordinal)
    if len(site.region) > REGION_CHARS_MAX or not site.region.isprintable():
        raise _unfit(site, "region", f"up to {REGION_CHARS_MAX} characters", site.region[:80])
    if len(site.labels) > LABELS_MAX:
        raise _unfit(site, "labels", f"up to {LABELS_MAX} of them", len(site.labels))
    for name, value in site.labels.items():
        is_short = len(value) <= REGION_CHARS_MAX and value.isprintable() and value.strip() == value
        if re.fullmatch(LABEL_PATTERN, name) is None or not is_short or not value:
            raise _unfit(
                site,
                "labels",
                f"names of small letters, digits and _, with texts of up to {REGION_CHARS_MAX} "
                "characters",
                {name[:80]: value[:80]},
            )
    is_dialled = site.dialable or site.host or site.port
    if is_dialled and _HOST.fullmatch(site.host) is None:
        raise _unfit(site, "host", "a name or an address to dial it by", site.host[:80])
    if is_dialled and not 0 < site.port <= PORT_MAX:
        raise _unfit(site, "port", f"1 to {PORT_MAX}", site.port)


def _unfit(site: Site, key: str, wanted: str, got: object) -> ConfigurationError:
    advice = "; a site that only dials others says dialable = false"
    more = advice if site.dialable and not site.host and not site.port else ""
    return ConfigurationError(
        f"roster, site {site.name}: {key}: wanted {wanted}, got {got!r}{more}"
    )


def _toml(value: object) -> str:
    """TOML's strings are JSON's, for what may stand in a roster."""
    return json.dumps(value, ensure_ascii=False)
