"""What ``headwater up --label site1:tier=edge`` says of the sites that it lays out.

A region is said in the same way, ``site1:region=eu``, since a query asks for both alike
(``sites = 'region = eu and tier = edge'``). ``*`` stands for every site.
"""

from collections.abc import Collection, Iterable

import msgspec

from headwater.algebra.rows.places import REGION
from headwater.errors import ConfigurationError
from headwater.plan.roster import Site

EVERY = "*"
SHAPE = "SITE:NAME=VALUE, as in site1:tier=edge, site2:region=eu or '*:owner=web'"

SiteLabels = dict[str, dict[str, str]]
"""By the name of a site, or ``*``."""


def read_labels(written: Iterable[str]) -> SiteLabels:
    """Of the command line. Raises ``ConfigurationError``.

    >>> read_labels(["site1:tier=edge", "*:region=eu"])
    {'site1': {'tier': 'edge'}, '*': {'region': 'eu'}}
    """
    found: SiteLabels = {}
    for one in written:
        site, _, said = one.partition(":")
        name, _, value = said.partition("=")
        if not site or not name or not value:
            raise ConfigurationError(f"up, --label: wanted {SHAPE}; got {one!r:.80}")
        if found.setdefault(site, {}).setdefault(name, value) != value:
            raise ConfigurationError(
                f"up, --label: {site}:{name} is said twice, as {found[site][name]!r:.80} and "
                f"{value!r:.80}; leave one out"
            )
    return found


def require_known(labels: SiteLabels, names: Collection[str]) -> None:
    """Raises ``ConfigurationError`` for a site that is none."""
    for site in labels:
        if site != EVERY and site not in names:
            raise ConfigurationError(
                f"up, --label: no site {site!r:.80}; sites: {', '.join(names)}, or * for all"
            )


def with_labels(site: Site, labels: SiteLabels) -> Site:
    """What is said of the site itself goes before what is said of every one."""
    said = {**labels.get(EVERY, {}), **labels.get(site.name, {})}
    region = said.pop(REGION, site.region)
    return msgspec.structs.replace(site, region=region, labels={**site.labels, **said})


def not_said(sites: Iterable[Site], labels: SiteLabels) -> list[str]:
    """Of these labels, those that a federation has not, as they are written."""
    return [
        f"--label {site.name}:{name}={value}"
        for site in sites
        for name, value in {**labels.get(EVERY, {}), **labels.get(site.name, {})}.items()
        if value != (site.region if name == REGION else site.labels.get(name))
    ]
