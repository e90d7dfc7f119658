"""A source whose files are read as a whole, one after the other as they are complete.

Parquet, ORC and Avro, and files that are one JSON array, can't be read up to somewhere. A poll
registers every file that is complete and that it did not register before, as it is: a link in the
spool, no copy. One that is not complete is named, and looked at again when it has changed; it makes
no poll unclean, for a damaged one would do that for ever.

A file is known by its inode, its size and its time. One that was written again, or replaced under
its name, is read again as a whole: what it has in common with its former content nobody can tell,
so its records are marked as perhaps read before. Copies are read like any other file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from headwater.errors import DiskFull
from headwater.reading.form import Form
from headwater.reading.whole import Damaged, Incomplete
from headwater.store.follow.directories import reason_of
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Glob, Listing
from headwater.store.follow.poll import REFUSED_SHOWN_MAX, Poll, Start
from headwater.store.input.cuts import CutLog
from headwater.store.input.file_chunks import file_cut, whole_header
from headwater.store.input.new_cut import NewCut
from headwater.store.recognise.identity import Print

WRITTEN_AGAIN = "written again: read as a whole; its records may have been read before"


class WholeFiles:
    """The same verbs as a ``LogFollower``."""

    def __init__(self, cuts: CutLog, glob: Glob, *, source: str, start: Start, form: Form) -> None:
        self.source = source
        self._cuts = cuts
        self._glob = glob
        self._disk = glob.disk
        self._start = start
        self._form = form
        self._state = cuts.open_source(source)
        self._known = {file.id: file for file in cuts.files(self._state)}
        self._faults: dict[tuple[int, ...], str] = {}
        """By what a file that is not complete is known by: why it is not read."""

    def poll(self, *, now_s: float) -> Poll:
        """Look at all files, once. Raises ``StoreError`` where the manifest can't be written."""
        listing = self._glob.look()
        round_ = _Round(dict(listing.refused))
        is_in_sight = self._state.is_begun or self._glob.base not in listing.unlisted
        if is_in_sight:
            self._look(listing, round_)
            round_.stalled = self._register(listing, round_, now_s=now_s)
        is_clean = is_in_sight and listing.is_whole and not round_.stalled and not round_.is_unclean
        report = self._cuts.polled(
            self._state,
            started_s=now_s,
            is_clean=is_clean,
            has_unread=not is_clean,
            is_behind=bool(round_.stalled),
        )
        return Poll(
            started_s=now_s,
            files=len(self._known),
            cuts=0 if round_.stalled else len(round_.cuts),
            bytes=0 if round_.stalled else sum(cut.bytes for cut in round_.cuts),
            is_clean=is_clean,
            stalled=round_.stalled,
            refused=tuple(sorted(round_.refused.items())[:REFUSED_SHOWN_MAX]),
            refused_count=len(round_.refused),
            told=tuple(round_.told[:REFUSED_SHOWN_MAX]),
            twice_bytes=sum(cut.bytes for cut in round_.cuts if cut.is_doubtful),
            report=report,
        )

    @property
    def is_quiet(self) -> bool:
        """Never: files may come at any time."""
        return False

    def close(self) -> None:
        """There is nothing to let go of."""

    def _look(self, listing: Listing, round_: _Round) -> None:
        stamps = {_stamp_of(file): file for file in self._known.values()}
        paths = {file.path: file for file in self._known.values()}
        for found in sorted(listing.matching.values(), key=lambda one: one.modified_ns):
            known = stamps.get(_stamp(found))
            if known is not None:
                if known.path != found.path:
                    round_.files.append(msgspec.structs.replace(known, path=found.path))
                continue
            is_old = not self._state.is_begun and self._start is Start.END
            if is_old or self._take(found, round_, was=paths.get(found.path)):
                self._remember(found, round_)
        if listing.is_whole:
            there = {_stamp(found) for found in listing.matching.values()}
            round_.gone = {file.id for stamp, file in stamps.items() if stamp not in there}
            self._faults = {stamp: why for stamp, why in self._faults.items() if stamp in there}

    def _take(self, found: Found, round_: _Round, *, was: Followed | None) -> bool:
        """Whether it is registered, or has nothing in it."""
        if not found.size:
            return True
        why = self._faults.get(_stamp(found), "")
        header = ""
        if not why:
            try:
                header = whole_header(self._disk, found.path, found, self._form)
            except (Incomplete, Damaged) as error:
                why = self._faults[_stamp(found)] = reason_of(error)
            except OSError as error:
                why = reason_of(error)
                round_.is_unclean = True
        if why:
            round_.refused[found.path] = why
            return False
        spool, source, is_again = self._cuts.spool, self._state.id, was is not None
        round_.cuts.append(
            file_cut(spool, self._disk, source=source, file=found, header=header, is_again=is_again)
        )
        if was is not None:
            round_.told.append((found.path, WRITTEN_AGAIN))
        return True

    def _remember(self, found: Found, round_: _Round) -> None:
        number = max([*self._known, *(file.id for file in round_.files)], default=0) + 1
        round_.files.append(
            Followed(
                number,
                found.device,
                found.inode,
                found.path,
                Print(found.size),
                checked=True,
                size_seen=found.size,
                modified_ns=found.modified_ns,
            )
        )

    def _register(self, listing: Listing, round_: _Round, *, now_s: float) -> str:
        """Empty, or why it was not possible now."""
        is_news = round_.cuts or round_.files or round_.gone or not self._state.is_begun
        if not is_news:
            return ""
        try:
            self._cuts.spool.sync(())
            self._cuts.register(
                self._state, round_.cuts, poll_s=now_s, files=round_.files, gone=round_.gone
            )
        except (DiskFull, OSError) as error:
            ours = [cut.chunk for cut in round_.cuts if not Path(cut.chunk).is_absolute()]
            self._cuts.spool.remove(ours, bytes_freed=0)
            return str(error)
        for number in round_.gone:
            del self._known[number]
        self._known |= {file.id: file for file in round_.files}
        return ""


class _Round(msgspec.Struct):
    """What one poll has found."""

    refused: dict[str, str]
    cuts: list[NewCut] = []
    files: list[Followed] = []
    gone: set[int] = set()
    told: list[tuple[str, str]] = []
    stalled: str = ""
    is_unclean: bool = False
    """Something could not be looked at now."""


def _stamp(found: Found) -> tuple[int, ...]:
    return (found.inode, found.size, found.modified_ns)


def _stamp_of(file: Followed) -> tuple[int, ...]:
    return (file.inode, file.size_seen, file.modified_ns)
