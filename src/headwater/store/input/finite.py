"""A finite input: files that are complete, each read once, as it is.

``headwater try`` asks a question about files that are there. They are not copied: a hard link in
the spool, or where that can't be made the file's own path, is the chunk. Compressed files are
welcome where Spark expands them, and a last line needs no newline. All files are registered by the
first poll that sees all of them, in one transaction; what appears later is not part of the input.

A directory or file that can't be looked at now makes the poll come again. One that may not be read
(EACCES) stays so: its bytes are counted as lost, so that no answer without them is called exact.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from headwater.errors import DiskFull
from headwater.reading.expand import Damaged, Incomplete, head_of, is_empty
from headwater.reading.form import Form
from headwater.reading.headers import HEADER_BYTES_MAX, header_of
from headwater.store.follow.directories import leads_nowhere, reason_of
from headwater.store.follow.listing import FILES_MAX, Found, Glob, Listing
from headwater.store.follow.poll import REFUSED_SHOWN_MAX, Poll
from headwater.store.input.cuts import CutLog
from headwater.store.input.file_chunks import file_cut, whole_header
from headwater.store.input.new_cut import NewCut
from headwater.store.input.source_state import Loss

LOST_NAMED_MAX = 3


class FiniteInput:
    """The same verbs as a ``LogFollower``."""

    def __init__(self, cuts: CutLog, glob: Glob, *, source: str, form: Form | None = None) -> None:
        self._form = form or Form()
        self.source = source
        self._cuts = cuts
        self._glob = glob
        self._disk = glob.disk
        self._state = cuts.open_source(source, ends=True)
        self._refused: dict[str, str] = {}
        """As it was when the files were registered, in this process: nothing is looked at later."""
        self._empty_count = 0

    def poll(self, *, now_s: float) -> Poll:
        """Register all files at the first call; afterwards only tell how far they are read."""
        offer = _Offer()
        stalled = ""
        if not self._state.is_begun:
            offer = self._offered(self._glob.look())
            stalled = offer.why_not or self._register(offer, now_s=now_s)
            if stalled:
                self._withdraw(offer)
            self._refused, self._empty_count = offer.refused, offer.empty_count
        new = offer.cuts
        is_clean = not stalled
        report = self._cuts.polled(self._state, started_s=now_s, is_clean=is_clean)
        return Poll(
            started_s=now_s,
            files=self._state.last_cut,
            empty=self._empty_count,
            cuts=len(new) if is_clean else 0,
            bytes=sum(cut.bytes for cut in new) if is_clean else 0,
            is_clean=is_clean,
            stalled=stalled,
            refused=tuple(sorted(self._refused.items())[:REFUSED_SHOWN_MAX]),
            refused_count=len(self._refused),
            report=report if self._state.is_begun else None,
        )

    @property
    def is_quiet(self) -> bool:
        """All files are registered: a further poll would find what it found."""
        return self._state.is_begun

    def close(self) -> None:
        """There is nothing to let go of."""

    def _offered(self, listing: Listing) -> _Offer:
        offer = _Offer(refused=dict(listing.refused), why_not=self._why_not(listing))
        for file in sorted(listing.matching.values(), key=lambda one: one.path):
            if not offer.why_not:
                self._offer(file, offer)
        return offer

    def _why_not(self, listing: Listing) -> str:
        """Empty, or what is out of sight. A folder that its parent does not have is no trouble."""
        for path, reason in listing.unlisted.items():
            if path == self._glob.base and self._is_absent(path):
                continue
            return f"{path}: {reason}"
        return f"more than {FILES_MAX} files match" if listing.partial else ""

    def _is_absent(self, path: str) -> bool:
        """Whether the source's own directory is there, and this one below it is not."""
        try:
            self._disk.stat(self._glob.directory)
        except OSError:
            return False
        try:
            self._disk.stat(path)
        except OSError as error:
            return leads_nowhere(error)
        return False

    def _offer(self, file: Found, offer: _Offer) -> None:
        try:
            header = self._header(file) if file.size else None
        except (PermissionError, Incomplete, Damaged) as error:
            offer.refused[file.path] = reason_of(error)
            offer.lost.append(file)
            return
        except OSError as error:
            offer.why_not = f"{file.path}: {reason_of(error)}"
            return
        if header is None:
            offer.empty_count += 1
            return
        spool, source = self._cuts.spool, self._state.id
        offer.cuts.append(file_cut(spool, self._disk, source=source, file=file, header=header))

    def _header(self, file: Found) -> str | None:
        """Of a file that can be opened; None: it holds nothing. One that can't be expanded is left
        to whoever reads it; one that is not whole and has to be raises ``Incomplete`` or
        ``Damaged``."""
        if self._form.is_whole:
            return whole_header(self._disk, file.path, file, self._form)
        handle = self._disk.open(file.path)
        try:
            read_at = partial(self._disk.read_at, handle)
            if is_empty(read_at, file.path, file.size):
                return None
            if not self._form.has_heads:
                return ""
            with contextlib.suppress(Incomplete, Damaged):
                return header_of(head_of(read_at, file.path, HEADER_BYTES_MAX), self._form)
            return ""
        finally:
            self._disk.close(handle)

    def _register(self, offer: _Offer, *, now_s: float) -> str:
        """Empty, or why it was not possible now."""
        loss = None
        if offer.lost:
            names = [file.path for file in offer.lost][:LOST_NAMED_MAX]
            count = sum(file.size for file in offer.lost)
            loss = Loss(count, 0, f"can't be read: {names}")
        try:
            self._cuts.spool.sync(())
            self._cuts.register(self._state, offer.cuts, poll_s=now_s, loss=loss)
        except (DiskFull, OSError) as error:
            return str(error)
        return ""

    def _withdraw(self, offer: _Offer) -> None:
        ours = [cut.chunk for cut in offer.cuts if not Path(cut.chunk).is_absolute()]
        self._cuts.spool.remove(ours, bytes_freed=0)


@dataclass
class _Offer:
    """What a poll has to register, unless something is out of sight."""

    cuts: list[NewCut] = field(default_factory=list)
    lost: list[Found] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    empty_count: int = 0
    """Files with nothing in them: there is nothing to register."""
    why_not: str = ""
