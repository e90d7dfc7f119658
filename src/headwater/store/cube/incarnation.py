"""Whose a cube is, and by which incarnation it goes: found out when it is opened."""

from __future__ import annotations

import secrets

import msgspec

from headwater.algebra.incarnation import CHANCE_BITS, new_incarnation
from headwater.errors import StoreError
from headwater.store.manifest import Manifest


class Claim(msgspec.Struct, frozen=True):
    """Whose a cube is, as it is told from its former lives."""

    incarnation: int
    born_s: float
    is_new: bool
    """It was made by this process."""


def rebase(manifest: Manifest, *, now_s: float) -> None:
    """Times of writing are those of a former process's clock. How long ago they are nobody knows,
    so what was written last counts as written now, and all else as long before it as it was: a
    clock that is set between two lives makes nothing expire."""
    with manifest.transaction():
        (newest_s,) = manifest.one("SELECT max(written_s) FROM panes")
        if newest_s is not None:
            manifest.run("UPDATE panes SET written_s = written_s + ?", (now_s - newest_s,))


def claim_of(manifest: Manifest, *, site: str, born_s: float) -> Claim:
    """Name a new cube, or check that an old one is this site's."""
    incarnation = new_incarnation(now_s=born_s, chance=secrets.randbits(CHANCE_BITS))
    new = Claim(incarnation, born_s, is_new=True)
    if manifest.is_untouched:
        return new
    with manifest.transaction():
        meta: dict[str, str] = dict(manifest.all("SELECT key, value FROM meta"))
        if not meta:
            values = {"site": site, "incarnation": str(incarnation), "born_s": repr(born_s)}
            manifest.run_many("INSERT INTO meta VALUES (?, ?)", values.items())
            return new
    if meta["site"] != site:
        raise StoreError(
            f"{manifest.path}: wanted the cube of site {site!r}, found that of {meta['site']!r}"
        )
    return Claim(int(meta["incarnation"]), float(meta["born_s"]), is_new=False)
