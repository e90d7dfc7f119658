"""A value in memory that changes only together with the disk.

What a manifest has is kept decoded in memory too, since it is asked for with every batch. A copy
that is changed before its transaction is committed, and mended by reading anew when that fails, is
wrong in between, and another thread may look just then. So nobody changes what is committed: a
transaction changes a copy of its own, which takes the other's place in one step once the commit is
done and vanishes with the transaction otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from headwater.store.manifest import Manifest

T = TypeVar("T")


class Mirror(Generic[T]):
    """Read by anybody at any time, changed inside a transaction only."""

    def __init__(self, manifest: Manifest, value: T, copied: Callable[[T], T]) -> None:
        """``copied`` makes a copy whose change leaves the first one as it is."""
        self._manifest = manifest
        self.committed = value
        """Set by the manifest, with the commit."""
        self._copied = copied

    @property
    def value(self) -> T:
        """What is committed; for whoever is inside a transaction, as that has changed it."""
        opened = self._manifest.own
        return self.committed if opened is None else opened.changed.get(self, self.committed)

    def change(self) -> T:
        """Inside a transaction: the copy that takes the place of the value when it commits."""
        opened = self._manifest.own
        assert opened is not None, "only a transaction of this thread changes what memory has of it"
        if self not in opened.changed:
            opened.changed[self] = self._copied(self.committed)
        changed: T = opened.changed[self]
        return changed
