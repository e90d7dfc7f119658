"""Queries that may have ended a JVM run apart from the others: the next death then tells more.

The site part and the root part of a query are suspected apart from each other: they run other texts
on other rows, and where one of them is too much the other may go on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Suspicion(Protocol):
    """Asked at each batch and each answer, from the threads that work on Spark."""

    def suspects(self) -> Collection[str]:
        """Queries whose site parts are suspected."""

    def survived(self, query_id: str) -> None:
        """Its site part ran alone, and the JVM lives."""

    def root_suspects(self) -> Collection[str]:
        """Queries whose root parts are suspected."""

    def root_survived(self, query_id: str) -> None:
        """Its root part ran alone, and the JVM lives."""


class NoSuspicion:
    """Where nobody writes down how JVMs end."""

    def suspects(self) -> Collection[str]:
        return ()

    def survived(self, query_id: str) -> None:
        """Nobody was suspected."""

    def root_suspects(self) -> Collection[str]:
        return ()

    def root_survived(self, query_id: str) -> None:
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
