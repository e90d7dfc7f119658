"""Why lines of a source are malformed: reasons, each with how many lines it is of.

What is wrong can be told with the value that came and without. Values stay at the site, and unseen
where a column is protected; what travels is the reason. ``added`` is associative, and keeps the
first sample of a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

KINDS_MAX = 20
"""Kinds that are kept of one site's lines; those with the most lines."""
OTHER = "for other reasons"


class Malformed(msgspec.Struct, frozen=True):
    """Lines of one site that are malformed for the same reason, and the first of them."""

    reason: str
    """Which field, and what was wanted, without any value: it may travel."""
    lines: int = 1
    came: str | None = None
    """What stood in the field of the first line; None: nothing, or it is not to be shown."""
    sample: str | None = None
    """The first line; None: it is not to be shown."""

    def without_values(self) -> Malformed:
        return Malformed(self.reason, self.lines)

    def text(self) -> str:
        """
        >>> Malformed("bytes: wanted bigint", 2, "many", "12:00,many").text()
        "bytes: wanted bigint, came 'many' (2 lines; the first: '12:00,many')"
        """
        came = "" if self.came is None else f", came '{self.came}'"
        count = "1 line" if self.lines == 1 else f"{self.lines:,} lines"
        if self.sample is None:
            return f"{self.reason}{came} ({count})"
        first = f": '{self.sample}'" if self.lines == 1 else f"; the first: '{self.sample}'"
        return f"{self.reason}{came} ({count}{first})"


def added(one: Iterable[Malformed], other: Iterable[Malformed]) -> tuple[Malformed, ...]:
    """Both, each reason once, with the first one's sample."""
    found: dict[str, Malformed] = {}
    for kind in (*one, *other):
        known = found.get(kind.reason)
        lines = kind.lines + (0 if known is None else known.lines)
        found[kind.reason] = msgspec.structs.replace(known or kind, lines=lines)
    return most_frequent(found.values())


def most_frequent(kinds: Iterable[Malformed]) -> tuple[Malformed, ...]:
    """In order, within the limit; the rest as one."""
    ordered = sorted(kinds, key=lambda kind: (-kind.lines, kind.reason))
    if len(ordered) <= KINDS_MAX:
        return tuple(ordered)
    kept, rest = ordered[: KINDS_MAX - 1], ordered[KINDS_MAX - 1 :]
    return (*kept, Malformed(OTHER, sum(kind.lines for kind in rest)))


def without_values(kinds: Sequence[Malformed]) -> tuple[Malformed, ...]:
    """Reasons and counts alone: for what leaves the site, and for columns that are protected."""
    return tuple(kind.without_values() for kind in kinds)
