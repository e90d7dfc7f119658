"""Who there is: the static list of sites that know each other, numbered for ever."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import msgspec

from headwater.algebra.rows.places import LABEL, SITE
from headwater.errors import ConfigurationError


class Site(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One place. An ordinal is never used again, also not after the site has left."""

    ordinal: int
    """Its number, for ever."""
    name: str
    host: str = ""
    """Where others dial it."""
    port: int = 0
    region: str = ""
    """Sites of one region are near each other: trees keep them together."""
    dialable: bool = True
    """False: it dials others, and nobody dials it."""
    has_data: bool = True
    """False: a relay, which carries and merges but originates nothing."""
    labels: dict[str, str] = {}
    """What its operators say of it, by name: tier, rack, …"""

    def place(self, what: str) -> str | None:
        """What ``site()``, ``region()`` or ``label('…')`` is here; None: nothing is said of it."""
        if what.startswith(LABEL):
            return self.labels.get(what.removeprefix(LABEL))
        return self.name if what == SITE else self.region or None


class Roster(msgspec.Struct, frozen=True, dict=True):
    version: int
    sites: tuple[Site, ...]
    home: str
    """The site at which commands meet and where queries are answered unless they say otherwise."""

    def __post_init__(self) -> None:
        names = [site.name for site in self.sites]
        ordinals = [site.ordinal for site in self.sites]
        for what, found in (("name", names), ("ordinal", ordinals)):
            if len(set(found)) != len(found):
                twice = next(one for one, times in Counter(found).items() if times > 1)
                raise ConfigurationError(
                    f"roster: wanted each name and ordinal once; {what} {twice!r:.80} occurs twice"
                )
        if self.home not in names:
            raise ConfigurationError(
                f"roster: home {self.home!r} is not a site; sites: {names[:20]}"
            )

    @cached_property
    def by_name(self) -> dict[str, Site]:
        return {site.name: site for site in self.sites}

    @cached_property
    def ordinals(self) -> int:
        """Numbers that have been given out: no tree and no bitmap has more members."""
        return max(site.ordinal for site in self.sites) + 1

    def site(self, name: str) -> Site:
        found = self.by_name.get(name)
        if found is None:
            known = [site.name for site in self.sites][:20]
            raise ConfigurationError(f"roster: no site {name!r}; sites: {known}")
        return found

    def by_ordinal(self, ordinal: int) -> Site:
        found = next((site for site in self.sites if site.ordinal == ordinal), None)
        if found is None:
            raise ConfigurationError(
                f"roster: no site with ordinal {ordinal}; wanted one that is in it"
            )
        return found
