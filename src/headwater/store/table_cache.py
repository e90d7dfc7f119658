"""Arrow tables that stay in memory, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

import pyarrow as pa


class TableCache:
    """The least recently used tables leave when the bytes run out."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._tables: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._lock = Lock()

    def get(self, name: Hashable) -> pa.Table | None:
        with self._lock:
            table = self._tables.get(name)
            if table is not None:
                self._tables.move_to_end(name)
            return table

    def put(self, name: Hashable, table: pa.Table) -> None:
        with self._lock:
            self._forget(name)
            self._tables[name] = table
            self._bytes += table.nbytes
            while self._bytes > self._bytes_max:
                self._forget(next(iter(self._tables)))

    def drop(self, name: Hashable) -> None:
        with self._lock:
            self._forget(name)

    def _forget(self, name: Hashable) -> None:
        table = self._tables.pop(name, None)
        if table is not None:
            self._bytes -= table.nbytes
