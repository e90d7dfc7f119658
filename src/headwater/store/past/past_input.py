"""The past of a source as an input of its own: finite, read once, beside the live reading.

Begun when a query comes late, in the turn of polls, so that the positions of the live reading and
its newest cut belong together: what lies below them is read here, what lies above is read there,
and the live cuts up to then are not for the query (``Past.after_cut``). From then on the files are
held by links of ours, so that rotation takes nothing away, also not into a compressed file.

A poll spools as much as Spark gets through in a while, oldest file first, and registers it with the
new positions in one transaction, as a follower does. So a restart goes on where it was, and the
spool holds little of what may be a year. A file whose first bytes were counted in another one, by
the checksum of all of them, is read from behind those: copies are skipped, compressed or not.

A file that was emptied in place (copytruncate) is looked for among those that the live reading
knows by now, by the print that it had of it. What is nowhere is counted as lost.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from headwater.errors import DiskFull
from headwater.plan.readings import source_of
from headwater.reading.expand import Damaged, Incomplete
from headwater.reading.form import Form
from headwater.store.follow.directories import reason_of
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Glob, found_at
from headwater.store.follow.open_files import OpenFiles
from headwater.store.follow.poll import MEBIBYTE, REFUSED_SHOWN_MAX, FollowConfig, Poll
from headwater.store.input.cuts import CutLog
from headwater.store.input.cutting import Cutter, Reading
from headwater.store.input.file_chunks import file_cut, whole_header
from headwater.store.input.new_cut import NewCut
from headwater.store.input.source_state import Loss
from headwater.store.input.spool import held_name
from headwater.store.past.past_file import UNMEASURED, PastFile
from headwater.store.past.past_files import past_files
from headwater.store.recognise.identity import Print, ReadAt

POLL_BYTES_MAX = 64 * MEBIBYTE
WAITING_BYTES_MAX = 128 * MEBIBYTE
"""Of the past, what waits for Spark in the spool at most: some batches."""
HANDLES_MAX = 8
TORN_WAIT_S = 10.0
"""How long the end of a line is waited for that was half written when the past began; its writer
has most of a line in a buffer. Then the line is counted as one that nobody could read."""
BLOCK_BYTES = 1 << 20


class Gone(OSError):
    """The bytes of a file are not there any more."""


class PastInput:
    """The same verbs as a ``LogFollower``."""

    def __init__(self, cuts: CutLog, glob: Glob, *, source: str, form: Form | None = None) -> None:
        """``source`` is the name of the reading. It begins here, if it has not yet: in the turn of
        polls of its source, which has begun."""
        self._form = form or Form()
        self.source = source
        self._cuts = cuts
        self._glob = glob
        self._disk = glob.disk
        self._open_files = OpenFiles(self._disk, held_files_max=HANDLES_MAX)
        self._config = FollowConfig(poll_bytes_max=POLL_BYTES_MAX)
        self._state = cuts.open_source(source, ends=True)
        if not self._state.is_begun:
            self._begin()
        self._files = {one.id: one for one in cuts.past_files(self._state)}
        self._refused: dict[str, str] = {}
        self._torn_since_s: dict[int, float] = {}

    def _begin(self) -> None:
        live = self._cuts.state(source_of(self.source))
        found = past_files(self._cuts.files(live), self._cuts.places(live), self._glob.look())
        held = [self._held(one) for one in found]
        self._cuts.spool.sync(())
        self._cuts.begin_past(self._state, held, after=live)

    def _held(self, one: PastFile) -> PastFile:
        """Best effort, as of the live reading: what can't be linked is read by its path."""
        link = self._link_of(one.file)
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                self._disk.link(one.file.path, link)
            status = self._disk.stat_link(link)
            if (status.st_dev, status.st_ino) == one.file.key:
                return one.read_on(msgspec.structs.replace(one.file, held=True))
            self._disk.remove(link)
        return one

    def _link_of(self, file: Followed) -> Path:
        return self._cuts.spool.directory / held_name(self._state.id, file.id)

    def poll(self, *, now_s: float) -> Poll:
        """Spool what there is room for. Raises ``StoreError`` where the manifest can't be
        written."""
        stem = f"{self._state.id}-{self._state.last_cut + 1:09d}"
        cutter = Cutter(self._cuts.spool, self._config, stem=stem, form=self._form)
        round_ = _Round()
        if self._state.waiting_bytes < WAITING_BYTES_MAX:
            self._read(cutter, round_, now_s=now_s)
        if not self._is_registered(round_, cutter, now_s=now_s):
            round_ = _Round()
        is_behind = not self._is_all_registered
        report = self._cuts.polled(
            self._state, started_s=now_s, is_clean=not is_behind, is_behind=is_behind
        )
        return Poll(
            started_s=now_s,
            files=len(self._files),
            cuts=len(round_.cuts),
            bytes=sum(cut.bytes for cut in round_.cuts),
            is_clean=not is_behind,
            stalled=cutter.stalled,
            lost_bytes=round_.lost_bytes,
            skipped_lines=round_.skipped_lines,
            refused=tuple(sorted(self._refused.items())[:REFUSED_SHOWN_MAX]),
            refused_count=len(self._refused),
            told=tuple(round_.told[:REFUSED_SHOWN_MAX]),
            report=report,
        )

    @property
    def is_quiet(self) -> bool:
        """All of it is registered."""
        return self._is_all_registered

    @property
    def is_hungry(self) -> bool:
        """More could be spooled at once."""
        return not self._is_all_registered and self._state.waiting_bytes < WAITING_BYTES_MAX

    @property
    def _is_all_registered(self) -> bool:
        return all(one.is_read for one in self._files.values())

    @property
    def unread_bytes(self) -> int:
        """Not yet spooled; of files that are compressed and not begun, as they are."""
        return sum(one.bytes_left for one in list(self._files.values()) if not one.is_read)

    @property
    def read_bytes(self) -> int:
        return sum(one.file.position for one in list(self._files.values()))

    def close(self) -> None:
        self._open_files.close_all()

    # Reading

    def _read(self, cutter: Cutter, round_: _Round, *, now_s: float) -> None:
        for one in self._files.values():
            if one.is_read:
                continue
            try:
                if self._read_on(one, cutter, round_, now_s=now_s):
                    return
            except (Gone, FileNotFoundError, Incomplete, Damaged) as error:
                self._lose(one, error, round_)
            except OSError as error:  # it may be readable again
                self._refused[one.file.path] = reason_of(error)
                return

    def _read_on(self, one: PastFile, cutter: Cutter, round_: _Round, *, now_s: float) -> bool:
        """Whether there is no room for more now, or something is waited for."""
        one = self._found(one)
        read_at = self._reader(one.file)
        if one.through == UNMEASURED:
            size = self._open_files.content_size(
                one.file.key, self._path_of(one.file), one.file.packed
            )
            one = one.ending_at(size)
        if self._form.is_whole:
            round_.take(self._whole(one, round_))
            return sum(cut.bytes for cut in round_.cuts) >= POLL_BYTES_MAX
        if not one.file.position:
            one = self._behind_copies(one, read_at, round_)
        if one.is_torn:
            ended = self._line_ended(one, read_at, now_s=now_s)
            if ended is None:
                return True
            one = ended
        reading = Reading(one.file, [])
        cutter.read_on(reading, read_at, one.through, is_still=True)
        self._refuse_if_changed(one, reading, read_at, cutter)
        round_.skipped_lines += reading.skipped_lines
        round_.cuts += reading.cuts
        file = reading.file
        if not reading.is_behind and file.position < one.through:
            round_.skipped_lines += 1  # half a line at the end of what is there
            one = one.ending_at(file.position)
        round_.take(one.read_on(file))
        return reading.is_behind

    def _refuse_if_changed(
        self, one: PastFile, reading: Reading, read_at: ReadAt, cutter: Cutter
    ) -> None:
        """It was emptied or overwritten while it was read: what was cut may be another file's."""
        if not self._is_there(one) or not reading.file.print.is_in(read_at, reading.file.position):
            cutter.discard(reading.cuts)
            raise OSError(0, "it changed while it was read")

    def _found(self, one: PastFile) -> PastFile:
        """Where its bytes are now. Raises ``Gone`` if nobody has them."""
        if self._is_there(one):
            return one
        for other in self._cuts.files(self._cuts.state(source_of(self.source))):
            moved = self._as_moved(one, other)
            if moved is not None:
                return self._held(moved)
        raise Gone(0, "its bytes are not there any more, nor in another file")

    def _is_there(self, one: PastFile) -> bool:
        path = self._path_of(one.file)
        try:
            size = self._open_files.look(one.file.key, path).st_size
            if one.file.packed:
                return True
            return size >= one.through and self._is_proven(one, self._reader(one.file), size)
        except FileNotFoundError:
            return False

    def _is_proven(self, one: PastFile, read_at: ReadAt, size: int) -> bool:
        if self._form.is_whole:
            return size == one.through
        return one.proof is None or one.proof.is_in(read_at, size)

    def _as_moved(self, one: PastFile, other: Followed) -> PastFile | None:
        if one.proof is None or other.departed_s is not None or other.key == one.file.key:
            return None
        if other.size_seen < one.proof.position:
            return None
        with contextlib.suppress(OSError):
            read_at = self._open_files.reader(other.key, other.path, other.packed)
            if one.proof.is_in(read_at, other.size_seen):
                names = ("device", "inode", "path", "packed", "packed_size")
                facts = {name: getattr(other, name) for name in names}
                file = msgspec.structs.replace(one.file, held=False, **facts)
                return one.read_on(file)
        return None

    def _behind_copies(self, one: PastFile, read_at: ReadAt, round_: _Round) -> PastFile:
        """Begun after what was counted in another file; all of it, as a rule, if anything."""
        best = Print()
        for other in (self._files | round_.files).values():
            counted = other.file.print
            is_candidate = other.id != one.id and other.is_read
            is_longer = best.position < counted.position <= one.through
            if is_candidate and is_longer and _begins_with(read_at, one.through, counted):
                best = counted
        if not best.position:
            return one
        round_.told.append((one.file.path, f"its first {best.position} bytes were read elsewhere"))
        begun = one.read_on(msgspec.structs.replace(one.file, print=best))
        is_all = best.position == one.through
        return begun.ending_at(best.position) if is_all else begun

    def _line_ended(self, one: PastFile, read_at: ReadAt, *, now_s: float) -> PastFile | None:
        """With the rest of its last line; as it is, if nobody writes that; None: not yet."""
        most = self._config.line_bytes_max
        end = read_at(most, one.through).find(b"\n") + 1
        if end:
            return one.ending_at(one.through + end)
        since_s = self._torn_since_s.setdefault(one.id, now_s)
        is_given_up = now_s - since_s >= TORN_WAIT_S
        return one.ending_at(one.through) if is_given_up else None

    def _whole(self, one: PastFile, round_: _Round) -> PastFile:
        path, spool = self._path_of(one.file), self._cuts.spool
        found = found_at(path, self._disk.stat(path))
        found = msgspec.structs.replace(found, path=one.file.path)
        header = whole_header(self._disk, path, found, self._form)
        held = self._link_of(one.file) if one.file.held else None
        cut = file_cut(
            spool, self._disk, source=self._state.id, file=found, header=header, held=held
        )
        round_.cuts.append(cut)
        file = msgspec.structs.replace(one.file, print=Print(one.through))
        return one.read_on(file)

    def _reader(self, file: Followed) -> ReadAt:
        return self._open_files.reader(file.key, self._path_of(file), file.packed)

    def _path_of(self, file: Followed) -> str:
        return str(self._link_of(file)) if file.held else file.path

    def _lose(self, one: PastFile, error: OSError, round_: _Round) -> None:
        """What is left of it is lost; what was registered stays."""
        self._refused[one.file.path] = reason_of(error)
        round_.lost_bytes += max(0, one.bytes_left)
        round_.lost.append(one.file.path)
        round_.take(one.ending_at(one.file.position))

    # Registering

    def _is_registered(self, round_: _Round, cutter: Cutter, *, now_s: float) -> bool:
        if not round_.files:
            return True
        loss = None
        if round_.lost_bytes or round_.skipped_lines:
            what = f"gone before they were read: {round_.lost[:3]}" if round_.lost else ""
            loss = Loss(round_.lost_bytes, round_.skipped_lines, what)
        try:
            self._cuts.spool.sync([cut.chunk for cut in round_.cuts if cut.spooled_bytes])
            self._cuts.register(
                self._state, round_.cuts, poll_s=now_s, files=round_.files.values(), loss=loss
            )
        except (DiskFull, OSError) as error:
            cutter.discard(round_.cuts)
            cutter.stalled = str(error)
            return False
        self._files |= round_.files
        self._release(round_.files.values())
        return True

    def _release(self, files: Iterable[PastFile]) -> None:
        for one in files:
            if one.is_read:
                self._open_files.close(one.file.key)
                if one.file.held:
                    with contextlib.suppress(OSError):
                        self._disk.remove(self._link_of(one.file))


class _Round:
    """What one poll has read; it becomes true once it is registered."""

    def __init__(self) -> None:
        self.cuts: list[NewCut] = []
        self.files: dict[int, PastFile] = {}
        self.skipped_lines = 0
        self.lost_bytes = 0
        self.lost: list[str] = []
        self.told: list[tuple[str, str]] = []

    def take(self, one: PastFile) -> None:
        self.files[one.id] = one


def _begins_with(read_at: ReadAt, size: int, counted: Print) -> bool:
    """Whether the first bytes are those that were counted, by the checksum of all of them."""
    if counted.begun or counted.checksum is None or not counted.is_in(read_at, size):
        return False
    checksum, offset = 0, 0
    while offset < counted.position:
        block = read_at(min(BLOCK_BYTES, counted.position - offset), offset)
        if not block:
            return False
        checksum = zlib.crc32(block, checksum)
        offset += len(block)
    return checksum == counted.checksum
