"""Queries that may have ended a JVM run apart from the others: the next death then tells more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Suspicion(Protocol):
    """Asked at each batch, from Spark's thread."""

    def suspects(self) -> Collection[str]: ...

    def survived(self, query_id: str) -> None:
        """It ran alone, and the JVM lives."""


class NoSuspicion:
    """Where nobody writes down how JVMs end."""

    def suspects(self) -> Collection[str]:
        return ()

    def survived(self, query_id: str) -> None:
        """Nobody was suspected."""


def apart(queries: Sequence[str], suspects: Collection[str]) -> list[tuple[str, ...]]:
    """Who runs with whom: those that nobody suspects together and first, each other one alone.

    >>> apart(["a", "b", "c"], {"b"})
    [('a', 'c'), ('b',)]
    >>> apart(["a", "b"], ())
    [('a', 'b')]
    """
    others = tuple(query for query in queries if query not in suspects)
    alone: list[tuple[str, ...]] = [(query,) for query in queries if query in suspects]
    return [others, *alone] if others or not alone else alone
