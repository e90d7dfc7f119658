"""Node sets: which sites a query asks, by names with globs or by labels.

::

    eu-*, !eu-test                  names; * and ? stand for letters, ! leaves out
    region = eu and tier = edge     labels of the roster; also != for what is not so

A set is a text in the query, and each member holds it against its own roster: so it means the same
of every version, and a site that joins is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from headwater.algebra.rows.places import LABEL, REGION, SITE
from headwater.plan.query import Query
from headwater.plan.roster import Site

NODE_SET_LENGTH_MAX = 1_000
NAMES_SHOWN = 20
EXAMPLES = "sites = 'eu-*, !eu-test' or sites = 'region = eu and tier = edge'"
_TERM = re.compile(r"\s*([a-z][a-z0-9_]*)\s*(!?=)\s*([\w.*?/ -]*?\w[\w.*?/-]*|\*)\s*", re.ASCII)
_NAME = re.compile(r"!?\s*[A-Za-z0-9._*?-]+", re.ASCII)


class NodeSet(msgspec.Struct, frozen=True):
    wanted: tuple[str, ...] = ()
    """Globs of names; empty: all."""
    left_out: tuple[str, ...] = ()
    terms: tuple[tuple[str, bool, str], ...] = ()
    """(what of a site, whether it is to be so, a glob)."""

    def has(self, site: Site) -> bool:
        is_named = not self.wanted or any(fnmatchcase(site.name, one) for one in self.wanted)
        is_left_out = any(fnmatchcase(site.name, one) for one in self.left_out)
        return (
            is_named
            and not is_left_out
            and all(
                fnmatchcase(site.place(what) or "", glob) is is_so
                for what, is_so, glob in self.terms
            )
        )


@lru_cache(maxsize=1_000)
def node_set(text: str) -> NodeSet:
    """Raises ``ValueError`` with what was wanted."""
    if len(text) > NODE_SET_LENGTH_MAX:
        raise ValueError(f"a node set has at most {NODE_SET_LENGTH_MAX} characters")
    if "=" in text:
        return NodeSet(terms=tuple(map(_term, re.split(r"\s+and\s+", text, flags=re.IGNORECASE))))
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"`{name[:60]}` is no name of sites; write {EXAMPLES}")
    left_out = tuple(name[1:].strip() for name in names if name.startswith("!"))
    return NodeSet(tuple(name for name in names if not name.startswith("!")), left_out)


def _term(text: str) -> tuple[str, bool, str]:
    match = _TERM.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text.strip()[:60]}` is no condition on sites; write {EXAMPLES}")
    name, sign, value = match.groups()
    return name if name in (SITE, REGION) else LABEL + name, sign == "=", value.strip()


def is_plain(text: str) -> bool:
    """A list of names, which is what the sites are."""
    return not re.search(r"[*?!=]", text)


def node_set_fault(text: str, sites: Iterable[Site]) -> str | None:
    """What is wrong with a node set over a roster: no label of that name, no site at all."""
    try:
        found = node_set(text)
    except ValueError as error:
        return str(error)
    known = [site for site in sites if site.has_data]
    labels = sorted({label for site in known for label in site.labels})
    for what, _, _ in found.terms:
        if what.startswith(LABEL) and what.removeprefix(LABEL) not in labels:
            there = ", ".join([REGION, SITE, *labels][:NAMES_SHOWN])
            return f"no label `{what.removeprefix(LABEL)}` in the roster; there are: {there}"
    if any(found.has(site) for site in known):
        return None
    return f"no site is in it; {_available(found, known)}"


def _available(found: NodeSet, known: list[Site]) -> str:
    whats = [what for what, _, _ in found.terms] or [SITE]
    texts = []
    for what in whats:
        values = sorted({site.place(what) or "" for site in known} - {""})[:NAMES_SHOWN]
        texts.append(f"{what.removeprefix(LABEL)}: {', '.join(values) or 'none'}")
    return "; ".join(texts)


def is_asked(query: Query, site: Site) -> bool:
    """Whether the site's panes are ones that the query is about."""
    if isinstance(query.node_set, str):
        return site.has_data and node_set(query.node_set).has(site)
    return site.name in query.sites if query.sites else site.has_data
