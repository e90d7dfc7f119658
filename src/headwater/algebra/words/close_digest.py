"""What a site has closed, as a few bytes that it signs: the check on whoever carried it.

A close inside a merged summary is its carriers' word. A site's state therefore tells digests of its
closes, block by block, and the root compares them with what it holds. A digest is over the panes of
its range that the site has closed with updates, and how many; all the others of the range it has
closed with none, or has declined, which its state says by itself. So a range may be of any length,
and one over the whole of a finite input costs as much as one of 64 panes.

>>> digest_of(7, [(1, 1), (2, 3)]) == digest_of(7, [(1, 1), (2, 2)])
False
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Number, Pane

CLOSE_DIGEST_BYTES = 16
"""Nobody finds another set of closes with the same ones."""
CLOSES_MAX = 1 << 14
"""Closes that a state tells one by one, of one range."""

Close = tuple[Pane, Number]
"""(pane, updates)"""

_close = struct.Struct("<qq")


class BlockDigest(msgspec.Struct, frozen=True, array_like=True):
    """Of the closes of panes first … last, all of which are closed or declined."""

    first: Pane
    last: Pane
    digest: Annotated[bytes, Meta(max_length=CLOSE_DIGEST_BYTES)]


class Closes(msgspec.Struct, frozen=True, array_like=True):
    """The answer to a root that asks: every close with updates in panes first … last. Where
    ``last`` is below ``first``: pane ``first`` is not closed yet, so it has no update."""

    first: Pane
    last: Pane
    asked: Number
    """The number of the acknowledgement that asked. All that the root held when it made that one
    was made by the site, if it ever was, before this was said."""
    closes: Annotated[tuple[Close, ...], Meta(max_length=CLOSES_MAX)] = ()

    @classmethod
    def not_yet(cls, pane: int, asked: int) -> Closes:
        return cls(pane, pane - 1, asked)

    @property
    def is_not_yet(self) -> bool:
        return self.last < self.first


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """The root asks a site for its closes of panes first … last, one by one."""

    ordinal: int
    first: int
    last: int


def digest_of(incarnation: int, closes: Iterable[Close]) -> bytes:
    """``closes`` rising by pane, each with at least one update, of one life of the site."""
    digest = hashlib.blake2b(incarnation.to_bytes(8, "little"), digest_size=CLOSE_DIGEST_BYTES)
    for pane, updates in closes:
        digest.update(_close.pack(pane, updates))
    return digest.digest()
