"""Tables in memory that many manifests share, and the transaction that is open on them.

A federation in one process has a thousand cubes that nobody opens again. With a database each,
SQLite read the same schema and prepared the same thirty statements a thousand times, which took
five of a site's some twenty-five milliseconds. In one set of tables they are prepared once. Rows of
two cubes are told apart by the numbers of sources, queries and segments, which no two rows have in
common; what has a name has the cube's number before it (``Manifest.name_prefix``).

The price is one lock: a transaction of one cube waits for another's. Each takes a fraction of a
millisecond, and the sites of such a process take turns anyway.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any


@dataclass
class Transaction:
    """What an open transaction will do in memory once it is committed."""

    thread: int
    is_begun: bool
    """SQLite has begun it."""
    changed: dict[Any, Any] = field(default_factory=dict)
    """By mirror: the copy that takes the place of what is committed."""
    after: list[Callable[[], None]] = field(default_factory=list)


class Tables:
    """Those of one schema. They are there from the first who joins to the last who leaves."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.open: Transaction | None = None
        self.broken: str | None = None
        """Why nothing more is written; None: nothing is wrong."""
        self._connection: sqlite3.Connection | None = None
        self._users = 0
        self._numbers = count(1)

    def new_prefix(self) -> str:
        """For the names of one of those who share them."""
        return f"{next(self._numbers)}/"

    def joined(self) -> tuple[sqlite3.Connection, bool]:
        """One more has a statement. Whether the connection is new, and so without tables."""
        with self.lock:
            self._users += 1
            is_new = self._connection is None
            if self._connection is None:
                self._connection = sqlite3.connect(
                    ":memory:", isolation_level=None, check_same_thread=False
                )
            return self._connection, is_new

    def left(self) -> None:
        """One of those who joined has closed."""
        with self.lock:
            self._users -= 1
            if self._users == 0 and self._connection is not None:
                self._connection.close()
                self._connection = None
