"""How ``try`` ends: what was read, what could not be, and why.

Nothing is silent: a source of which every line is malformed, or whose path matches no file, gives
no answer, and without these lines nobody would know why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from headwater.algebra.words.malformed import Malformed
    from headwater.local.trial.reading import SiteReading
    from headwater.local.trial.results import StreamResult
    from headwater.plan.sources.source import Source

REASONS_SHOWN = 5
SITES_SHOWN = 5


class Report(msgspec.Struct, frozen=True):
    lines: tuple[str, ...]
    failures: tuple[str, ...]
    """What makes it a failure; none: it is not."""


def reading_report(results: Sequence[StreamResult]) -> Report:
    """Of all sources, each once, though several streams read it."""
    sources = {result.query.source_name: result.query.program.source for result in results}
    lines: list[str] = []
    failures: list[str] = []
    for name, source in sources.items():
        found = _of_source([one for one in results if one.query.source_name == name])
        if found:
            lines += source_lines(name, found)
            failures += source_failures(source, found)
    return Report(tuple(lines), tuple(failures))


def _of_source(results: Sequence[StreamResult]) -> tuple[SiteReading, ...]:
    """All streams of it have the same, but one Spark reads for each by itself: the worst counts."""
    found = [one.readings for one in results if one.readings]
    return max(found, key=lambda of: sum(one.malformed for one in of), default=())


def source_lines(name: str, found: Sequence[SiteReading]) -> list[str]:
    files, lines = sum(one.files for one in found), sum(one.lines for one in found)
    malformed = sum(one.malformed for one in found)
    where = "" if not found[0].site else f" at {_many(len(found), 'site')}"
    where += _empty(sum(one.empty for one in found))
    share = f" ({malformed / lines:.2%})" if malformed and lines else ""
    said = [
        f"{name}: read {_many(files, 'file')}{where}: {_many(lines, 'line')}, "
        f"{_many(sum(one.records for one in found), 'record')}, {malformed:,} malformed{share}"
    ]
    said += _reasons(found, malformed)
    said += _guessed(found)
    said += _first([_at(one, one.no_file) for one in found if one.no_file], "site")
    said += _first(
        [_at(one, _all_empty(one)) for one in found if one.empty and not one.files], "site"
    )
    said += _first([_at(one, one.unread.text()) for one in found if one.unread], "site")
    return said


def _empty(count: int) -> str:
    if not count:
        return ""
    return f" ({count:,} more {'is' if count == 1 else 'are'} empty)"


def _all_empty(one: SiteReading) -> str:
    if one.empty == 1:
        return "the file that matches is empty"
    return f"all {one.empty:,} files that match are empty"


def source_failures(source: Source, found: Sequence[SiteReading]) -> list[str]:
    """Too much is malformed at a site, or at all together; or there is nothing to read at all."""
    most = source.malformed_max
    lines, malformed = sum(one.lines for one in found), sum(one.malformed for one in found)
    if not any(one.files for one in found):
        return [f"{source.name}: nothing was read: no file that matches {source.path!r} has a line"]
    bad = [one for one in found if most.is_exceeded(one.malformed, lines=one.lines)]
    said = f"malformed, more than malformed_max = '{most.text}'"
    if bad:
        told = [
            _at(one, f"{one.malformed:,} of {_many(one.lines, 'line')} are {said}") for one in bad
        ]
        return [f"{source.name}: {line.strip()}" for line in _first(told, "site")]
    if most.share is not None and most.is_exceeded(malformed, lines=lines):
        return [f"{source.name}: {malformed:,} of {_many(lines, 'line')} are {said}"]
    return []


def _reasons(found: Sequence[SiteReading], malformed: int) -> list[str]:
    """The most frequent ones of all sites, each with a line of the worst site that has it, and with
    how many others do: the count is of them all."""
    from headwater.algebra.words.malformed import added

    worst = sorted(found, key=lambda one: -one.malformed)
    kinds: tuple[Malformed, ...] = ()
    sites_of: dict[str, list[str]] = {}
    for one in worst:
        kinds = added(kinds, one.kinds)
        for kind in one.kinds:
            sites_of.setdefault(kind.reason, []).append(one.site)
    said = []
    for kind in kinds[:REASONS_SHOWN]:
        site, *others = sites_of.get(kind.reason, [""])
        more = f" and {_many(len(others), 'site')} more" if others else ""
        said.append(f"  {site}{more}: {kind.text()}" if site else f"  {kind.text()}")
    rest = malformed - sum(kind.lines for kind in kinds[:REASONS_SHOWN])
    if rest > 0:
        said.append(f"  {_many(rest, 'line')} for other reasons")
    return said


def _guessed(found: Sequence[SiteReading]) -> list[str]:
    """Of all sites together: that is a matter of the source."""
    total, *others = [one.guessed for one in found]
    for one in others:
        total += one
    return [f"  {line}" for line in total.lines()]


def _first(lines: Sequence[str], what: str) -> list[str]:
    rest = len(lines) - SITES_SHOWN
    more = [f"  and {_many(rest, what)} more"] if rest > 0 else []
    return [*lines[:SITES_SHOWN], *more]


def _at(one: SiteReading, text: str) -> str:
    return f"  {one.site}: {text}" if one.site else f"  {text}"


def _many(count: int, what: str) -> str:
    """
    >>> _many(1, "line"), _many(1200, "line")
    ('1 line', '1,200 lines')
    """
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"
