"""Rows that are too many to be held at once, read a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pyarrow as pa


class RowPieces(Protocol):
    """Tables of one schema, one after the other, as often as one asks. Who makes them sees to it
    that each is small and that what they are read from stays where it is."""

    @property
    def num_rows(self) -> int:
        """Of all pieces together."""

    def __iter__(self) -> Iterator[pa.Table]: ...
