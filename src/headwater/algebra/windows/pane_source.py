"""Where the rows of panes come from, and how one knows that they are still the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol

import pyarrow as pa

Stamp = Hashable
"""Equal for the same rows of a pane, and for no others."""
Stamps = Mapping[int, Stamp]
"""By pane; one that is not in it has no rows."""


class PaneSource(Protocol):
    """The panes of one query, as they are while one answer is made."""

    def stamps(self, panes: range) -> Stamps:
        """Of those that have rows, without reading them."""

    def rows(self, pane: int) -> pa.Table:
        """Of a pane that has a stamp."""


class TableStore(Protocol):
    """A place for tables with a limit in bytes: what is put there may be gone when it is asked for,
    and is then made anew."""

    def get(self, name: Hashable) -> pa.Table | None: ...

    def put(self, name: Hashable, table: pa.Table) -> None: ...

    def drop(self, name: Hashable) -> None: ...
