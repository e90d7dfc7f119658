"""Following growing logs by cuts: no line that was there at a poll is lost or read twice.

A poll lists the files, finds out what became of each (``watch``), copies new whole lines into the
spool, and registers the cuts together with the new positions in one transaction. A crash at any
point leaves either the cuts and the positions, or neither. What could not be spooled (no room, an
error of the disk) stays in its file, and a hard link keeps that file alive until a later poll gets
to it, also across a restart. Bytes that were seen and are gone nevertheless are counted.
"""

from __future__ import annotations

import contextlib

import msgspec

from headwater.errors import DiskFull, StoreBroken, StoreError
from headwater.reading.form import Form
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Glob, Listing, joined
from headwater.store.follow.open_records import OpenRecords
from headwater.store.follow.poll import REFUSED_SHOWN_MAX, FollowConfig, Poll, Start
from headwater.store.follow.poll_round import Round
from headwater.store.follow.watch import Watch
from headwater.store.input.cuts import CutLog
from headwater.store.input.cutting import Cutter, Reading
from headwater.store.input.new_cut import NewCut
from headwater.store.input.source_state import Loss
from headwater.store.input.spool import held_name


class SpoolFailed(StoreError):
    """A chunk could not be made durable. Its bytes are still in their file."""


class LogFollower:
    """Follows one source. ``poll`` is called by one thread at a time; nothing else is needed."""

    def __init__(
        self,
        cuts: CutLog,
        glob: Glob,
        *,
        source: str,
        start: Start = Start.END,
        config: FollowConfig | None = None,
        form: Form | None = None,
    ) -> None:
        self._form = form
        self.source = source
        self._cuts = cuts
        self._config = config or FollowConfig()
        self._glob = glob
        self._disk = glob.disk
        self._state = cuts.open_source(source)
        self._open_records = OpenRecords()
        self._watch = Watch(
            cuts.files(self._state),
            places=cuts.places(self._state),
            start=start,
            config=self._config,
            disk=self._disk,
            held=cuts.spool.directory / held_name(self._state.id),
        )

    def begin(self, *, now_s: float) -> Poll:
        """As ``poll``, but of files that are met for the first time nothing is read yet: from where
        each is read is settled, and links keep what is in them for the next poll. With thousands
        of files, or many bytes, this takes a small part of the time of reading them."""
        return self._poll(now_s, reads=self._state.is_begun)

    def poll(self, *, now_s: float) -> Poll:
        """Look at all files, once. Errors of the source and a full disk are in the result; raises
        ``StoreError`` only when the manifest itself can't be written."""
        return self._poll(now_s, reads=True)

    def _poll(self, now_s: float, *, reads: bool) -> Poll:
        listing = self._glob.look()
        if self._watch.misses(listing):
            listing = joined(listing, self._glob.look())
        if self._state.is_begun:
            round_ = self._watch.look(listing, now_s=now_s)
        else:
            if self._glob.base in listing.unlisted:
                return self._not_begun(listing, now_s=now_s)
            round_ = self._watch.begin(listing, now_s=now_s)
        stem = f"{self._state.id}-{self._state.last_cut + 1:09d}"
        cutter = Cutter(self._cuts.spool, self._config, stem=stem, form=self._form)
        readings = self._read(round_, cutter) if reads else _left_unread(round_)
        self._watch.give_up_orphans(round_)
        self._hold(round_)
        self._watch.note_succeeded(round_)
        farewells = self._watch.farewells(round_)
        if not self._is_registered(round_, readings, farewells, cutter):
            self._hold_unread(round_)
            round_ = Round(now_s, refused=round_.refused, is_clean=round_.is_clean)
            return self._told(round_, [], cutter)
        self._release_links(round_)
        self._watch.accept(round_, farewells)
        return self._told(round_, readings, cutter)

    def _not_begun(self, listing: Listing, *, now_s: float) -> Poll:
        """Where the files should be is out of sight; the source begins when it comes in sight."""
        round_ = Round(now_s, refused=dict(listing.refused), is_clean=False)
        return self._told(round_, [], Cutter(self._cuts.spool, self._config, stem=""))

    @property
    def is_quiet(self) -> bool:
        """Never: a log may grow at any time."""
        return False

    def close(self) -> None:
        """Let go of open files; nothing is lost by not calling it."""
        self._watch.open_files.close_all()

    def _read(self, round_: Round, cutter: Cutter) -> list[Reading]:
        """Oldest file first, so that rotated logs come in the order in which they were written."""
        readings = []
        for look in sorted(round_.looks.values(), key=lambda look: look.found.modified_ns):
            if not look.file.checked or look.found.size <= look.file.position:
                continue
            reading = Reading(look.file, [])
            is_still = self._watch.still_s(look, now_s=round_.now_s) >= self._config.record_wait_s
            try:
                cutter.read_on(reading, look.read_at, look.found.size, is_still=is_still)
                is_same = reading.file.print.is_in(look.read_at, reading.file.position)
            except OSError as error:
                round_.refused[look.file.path] = error.strerror or str(error)
                is_same = False
            if is_same:
                look.file = reading.file
                look.is_behind = reading.is_behind
                look.is_open = reading.is_open
                readings.append(reading)
            else:
                cutter.discard(reading.cuts)
                round_.is_clean = False
                look.is_behind = True
        return readings

    def _hold(self, round_: Round) -> None:
        """Link files that whole lines were left in, and no longer those that were caught up. What
        can't be opened, or compared, is linked, too: it may be gone before it can be."""
        for look in round_.looks.values():
            is_unread = look.is_behind or look.file.waits
            if look.file.held != is_unread:
                held = is_unread and self._is_linked(look.file)
                look.file = msgspec.structs.replace(look.file, held=held)
        for file in self._watch.closed_files(round_):
            if not file.held and self._is_linked(file):
                self._watch.hold_closed(file, round_)

    def _hold_unread(self, round_: Round) -> None:
        """The round came to nothing, so all that it had read is still to be read.

        That the files are held is written down if the manifest can still be written.
        """
        held = []
        for look in round_.looks.values():
            old = self._watch.remembered(look.file.id)
            is_held = (old is not None and old.held) or self._is_linked(look.file)
            held.append(self._watch.keep_unread(look, is_held=is_held))
        held += [self._watch.keep_closed(file) for file in round_.kept.values() if file.held]
        if held and self._state.is_begun:
            with contextlib.suppress(DiskFull):
                self._cuts.register(self._state, [], poll_s=round_.now_s, files=held)

    def _is_linked(self, file: Followed) -> bool:
        """Best effort: other file systems and other owners' files can't be linked to."""
        link = self._watch.held_path(file.id)
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                self._disk.link(file.path, link)
            status = self._disk.stat_link(link)
            if (status.st_dev, status.st_ino) == file.key:
                return True
            self._disk.remove(link)
        return False

    def _is_registered(
        self, round_: Round, readings: list[Reading], farewells: list[Followed], cutter: Cutter
    ) -> bool:
        """Make it durable. False when there was no room or the spool failed: nothing happened."""
        cuts = [cut for reading in readings for cut in reading.cuts]
        news = [look.file for look in round_.looks.values() if self._is_news(look.file)]
        files = [file for file in (*news, *round_.kept.values()) if file.id not in round_.gone]
        gone = round_.gone - {file.id for file in farewells}
        places = round_.places if round_.places != self._watch.places else None
        skipped = sum(reading.skipped_lines for reading in readings)
        loss = None
        if round_.lost_bytes or skipped:
            loss = Loss(round_.lost_bytes, skipped, _what_was_lost(round_, skipped))
        is_news = bool(cuts or files or round_.gone or loss or places)
        if not is_news and self._state.is_begun:
            return True
        try:
            self._sync(cuts, files)
            self._cuts.register(
                self._state,
                cuts,
                poll_s=round_.now_s,
                files=[*files, *farewells],
                gone=gone,
                loss=loss,
                places=places,
            )
        except (DiskFull, SpoolFailed) as error:
            cutter.discard(cuts)
            cutter.stalled = str(error)
            return False
        except StoreBroken:
            raise  # whether the chunks are named is not known: they stay
        except StoreError:
            cutter.discard(cuts)
            raise
        return True

    def _sync(self, cuts: list[NewCut], files: list[Followed]) -> None:
        if cuts or any(file.held for file in files):
            try:
                self._cuts.spool.sync([cut.chunk for cut in cuts])
            except OSError as error:
                raise SpoolFailed(f"syncing the spool: {error.strerror or error}") from error

    def _is_news(self, file: Followed) -> bool:
        """Size, path and times alone are not worth a transaction: they are found again."""
        old = self._watch.remembered(file.id)
        return old is None or _worth_writing(old) != _worth_writing(file)

    def _release_links(self, round_: Round) -> None:
        """Of files that are caught up, or gone."""
        caught_up = {number for number, look in round_.looks.items() if not look.file.held}
        for number in sorted(caught_up | round_.gone):
            old = self._watch.remembered(number)
            if old is not None and old.held:
                with contextlib.suppress(OSError):
                    self._disk.remove(self._watch.held_path(number))

    def _told(self, round_: Round, readings: list[Reading], cutter: Cutter) -> Poll:
        is_behind = bool(cutter.stalled) or any(one.is_behind for one in round_.looks.values())
        is_clean = round_.is_clean and not is_behind
        opened = {id_: look.file.position for id_, look in round_.looks.items() if look.is_open}
        all_read_s = None
        if is_clean:
            all_read_s = self._open_records.all_read_s(opened, now_s=round_.now_s)
        report = self._cuts.polled(
            self._state,
            started_s=round_.now_s if all_read_s is None else all_read_s,
            is_clean=all_read_s is not None,
            has_unread=not round_.is_clean,
            is_behind=is_behind,
        )
        refused = sorted(round_.refused.items())[:REFUSED_SHOWN_MAX]
        return Poll(
            started_s=round_.now_s,
            files=len(self._watch),
            cuts=sum(len(reading.cuts) for reading in readings),
            bytes=cutter.bytes,
            is_clean=is_clean and not opened,
            stalled=cutter.stalled,
            lost_bytes=round_.lost_bytes,
            skipped_lines=sum(reading.skipped_lines for reading in readings),
            refused=tuple(refused),
            refused_count=len(round_.refused),
            copies=self._watch.copy_count,
            told=tuple(round_.told[:REFUSED_SHOWN_MAX]),
            twice_bytes=round_.twice_bytes,
            report=report,
        )


def _left_unread(round_: Round) -> list[Reading]:
    """For the next poll."""
    for look in round_.looks.values():
        look.is_behind = look.file.checked and look.found.size > look.file.position
    return []


def _worth_writing(file: Followed) -> tuple[object, ...]:
    return (
        file.print,
        file.skipping,
        file.checked,
        file.waits,
        file.held,
        file.unproven,
        file.succeeded,
        file.unopened,
        file.cut_back,
    )


def _what_was_lost(round_: Round, skipped: int) -> str:
    names = [file.path for file in round_.departed if file.unread_bytes][:3]
    lines = f"{skipped} lines too long" if skipped else ""
    return "; ".join(filter(None, [f"gone before they were read: {names}" if names else "", lines]))
