"""What was read of a source, and what was not: for whoever runs ``try``."""

from __future__ import annotations

import msgspec

from headwater.algebra.words.malformed import Malformed
from headwater.algebra.words.remark import RemarkKind
from headwater.algebra.words.site_state import Unread
from headwater.local.federation import Federation
from headwater.plan.sources.local_times import Guessed
from headwater.plan.sources.source import Source


class SiteReading(msgspec.Struct, frozen=True):
    """Of one source at one site, to its end."""

    site: str
    """Empty: one plain Spark read the files of all sites."""
    files: int = 0
    """That have something in them."""
    lines: int = 0
    """But for those that are passed over: empty ones, headers."""
    records: int = 0
    malformed: int = 0
    """Lines that some stream of the source can't use."""
    kinds: tuple[Malformed, ...] = ()
    no_file: str = ""
    """That none matches, in words."""
    unread: Unread = Unread()
    empty: int = 0
    """Files that have nothing in them."""
    guessed: Guessed = Guessed()


def readings_of(federation: Federation, source: Source) -> tuple[SiteReading, ...]:
    """Of all sites that read it."""
    found = []
    for site, runtime in federation.runtimes.items():
        followed = runtime.feeder.followed.get(source.name)
        if followed is None:
            continue
        remarks = [one.text for one in followed.remarks.current if one.kind == RemarkKind.NO_FILE]
        found.append(
            SiteReading(
                site=site,
                files=0 if followed.poll is None else followed.poll.files,
                empty=0 if followed.poll is None else followed.poll.empty,
                lines=followed.line_count,
                records=followed.record_count,
                malformed=followed.unparsed_count,
                kinds=followed.malformed,
                no_file=remarks[0] if remarks else "",
                unread=followed.unread,
            )
        )
    return tuple(found)
