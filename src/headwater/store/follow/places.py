"""Which file systems and directories a source has seen: what is new, and what was there before.

With ``start = END`` a source does not want what was in its files when it began. A file that appears
later is new, and read from its beginning; but a file system that is mounted later brings files that
only seem new. The rule: **what is on a file system that the source sees for the first time, and
what is in a directory that could not be listed when the source began, was there before.** All else
that appears is new: a folder for a new date lies on the file system of its parent.

A file system is also known by its files. Device numbers change when a machine starts; where a file
that is remembered goes on under a new number, it is the file system of that file, and what else has
appeared on it is new.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable

import msgspec

from headwater.store.follow.listing import Archive, Found, Listing, is_text

DEVICES_MAX = 1_000
"""Device numbers that are remembered; the oldest are forgotten first."""
UNSEEN_MAX = 10_000
"""Places that could not be looked at when the source began; further ones count as new."""
ARCHIVES_MAX = 10_000
"""Compressed files that were there before, the newest ones; others are read as new."""


class Places(msgspec.Struct, frozen=True):
    """A row of the manifest, for each source."""

    devices: tuple[int, ...] = ()
    unseen: frozenset[str] = frozenset()
    """Directories and files that were there, unread, when the source began."""
    archives: frozenset[Archive] = frozenset()
    """Compressed files that were there before."""

    def is_old(self, found: Found, listing: Listing) -> bool:
        """Whether a file that is met for the first time was there before."""
        device = listing.listed.get(os.path.dirname(found.path))
        return (
            (device is not None and device not in self.devices)
            or (found.is_link and found.device not in self.devices)
            or _is_below(found.path, self.unseen)
        )

    def after(self, listing: Listing) -> Places:
        """As they are once this listing has been taken account of."""
        known = set(self.devices)
        fresh = {path for path, device in listing.listed.items() if device not in known}
        roots = self.unseen | fresh
        unseen = {path for path in self.unseen if _is_below(path, listing.unlisted)}
        unseen |= {path for path in listing.unlisted if _is_below(path, roots)}
        archives = listing.old_archives
        if not listing.is_whole:  # what is out of sight may come back
            archives = archives | self.archives
        return _bounded([*self.devices, *_devices(listing)], unseen, archives)


def at_begin(listing: Listing) -> Places:
    return _bounded(_devices(listing), set(listing.unlisted), listing.old_archives)


def _devices(listing: Listing) -> list[int]:
    links = {found.device for found in listing.matching.values() if found.is_link}
    return sorted(links.union(listing.listed.values()))


def _bounded(devices: Iterable[int], unseen: set[str], archives: Iterable[Archive]) -> Places:
    kept = sorted(path for path in unseen if is_text(path))[:UNSEEN_MAX]
    newest = sorted(archives, key=lambda one: one[2])[-ARCHIVES_MAX:]
    known = tuple(dict.fromkeys(devices))[-DEVICES_MAX:]
    return Places(known, frozenset(kept), frozenset(newest))


def _is_below(path: str, places: Iterable[str]) -> bool:
    """Whether the path, or a directory that it is in, is one of the places."""
    wanted = places if isinstance(places, (set, frozenset, dict)) else set(places)
    while path not in wanted:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True
