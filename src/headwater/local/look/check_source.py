"""What each site's files give for the sources of a file of statements, before any query runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from headwater.algebra.panes import MICROS
from headwater.errors import ConfigurationError
from headwater.plan.sources.source import Source
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.source_check import SiteCheck, lines_of
from headwater.sql.compile import parse_script
from headwater.store.input.site_files import empty_count, look_below

DISORDERS = (
    (0, "0s"),
    (1, "1s"),
    (2, "2s"),
    (5, "5s"),
    (10, "10s"),
    (30, "30s"),
    (60, "1 minute"),
    (300, "5 minutes"),
    (900, "15 minutes"),
    (3_600, "1 hour"),
    (6 * 3_600, "6 hours"),
    (86_400, "1 day"),
)
"""Lengths that are suggested: the first that is not shorter."""


class SiteGives(msgspec.Struct, frozen=True):
    """One site's files of one source."""

    source: str
    site: str
    files: int
    bytes: int
    left_alone: dict[str, str]
    """By path below the site's folder: why it is not read."""
    found: SiteCheck
    empty: int = 0
    """How many of the files have nothing in them."""

    @property
    def disorder(self) -> str:
        """What would let all but one record in a thousand be on time; empty: nobody knows."""
        return suggested_disorder(self.found.behind_us)


def suggested_disorder(behind_us: int | None) -> str:
    """
    >>> suggested_disorder(1_200_000), suggested_disorder(0), suggested_disorder(None)
    ('2s', '0s', '')
    """
    if behind_us is None:
        return ""
    longest = f"{-(-behind_us // (86_400 * MICROS))} days"
    return next((text for s, text in DISORDERS if behind_us <= s * MICROS), longest)


def sources_of(text: str) -> list[Source]:
    """Raises where there is none."""
    sources = list(parse_script(text).sources)
    if not sources:
        raise ConfigurationError(
            "no CREATE SOURCE in the file: there is nothing to check; write one with: "
            "headwater infer PATH"
        )
    return sources


def check_folders(
    source: Source, folders: Mapping[str, Path], spark: RunningSpark
) -> list[SiteGives]:
    """All sites, in one job of Spark."""
    looks = {name: look_below(folder, source.path) for name, folder in folders.items()}
    files = [sorted(Path(one.path) for one in look.matching.values()) for look in looks.values()]
    checks = [SiteCheck() for _ in folders]
    unread: Sequence[Mapping[Path, str]] = [{} for _ in folders]
    if any(files):
        with lines_of(spark.session, source, files) as lines:
            checks, unread = lines.sites(), lines.unread
    return [
        SiteGives(
            source=source.name,
            site=name,
            files=len(looks[name].matching) - len(not_read),
            empty=empty_count(looks[name].matching.values()),
            bytes=sum(one.size for one in looks[name].matching.values()),
            left_alone={
                path.removeprefix(f"{folders[name]}/"): reason
                for path, reason in sorted({**looks[name].refused, **_as_text(not_read)}.items())
            },
            found=check,
        )
        for name, check, not_read in zip(folders, checks, unread, strict=True)
    ]


def _as_text(unread: Mapping[Path, str]) -> dict[str, str]:
    return {str(path): reason for path, reason in unread.items()}
