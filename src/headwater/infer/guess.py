"""What was found out about files, and how sure it is: the value that is written as a source."""

from __future__ import annotations

import msgspec


class ColumnGuess(msgspec.Struct, frozen=True):
    name: str
    type: str
    path: str = ""
    """Where the value lies in an object, if not under its name: ``geo.country``."""
    distinct: int = 0
    """Different values in the sample."""
    spread: float = 0.0
    """0: one value has it all; 1: all values are equally frequent."""
    filled: float = 1.0
    """Of the records, how many have a value here."""


class TimeGuess(msgspec.Struct, frozen=True):
    """What places a record in time."""

    columns: tuple[str, ...]
    """One; or a date, in parts or whole, and then the time of day."""
    pattern: str = ""
    """Spark's datetime pattern, ``epoch_s`` or the like; empty: as ISO 8601 writes it."""
    symbols: tuple[str, ...] = ()
    """Between several columns, as the pattern has it."""
    first_us: int | None = None
    last_us: int | None = None
    """Of the sample, where that could be told."""
    before: str = ""
    """What is put before the text, as the pattern has it: the year, where records say none."""

    @property
    def is_computed(self) -> bool:
        """It is no column as it stands."""
        return len(self.columns) > 1 or bool(self.before)


class SourceGuess(msgspec.Struct, frozen=True):
    format: str
    columns: tuple[ColumnGuess, ...]
    time: TimeGuess
    options: tuple[tuple[str, str], ...] = ()
    doubts: tuple[str, ...] = ()
    """In words, each a sentence that stands for itself."""
    records: int = 0
    """Of the sample, as far as they could be told apart."""


class NoGuess(msgspec.Struct, frozen=True):
    """No source can be written; what was looked for and what came instead."""

    reason: str
