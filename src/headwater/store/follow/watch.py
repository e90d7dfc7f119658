"""The followed files of a source, and what has become of each since the last poll.

A file whose size and times are as they were is not opened. Times have a grain: a change within
``QUIET_NS`` of an earlier one may leave them alike, so a file is trusted to be unchanged only
once its last change is older than that when looked at.

A look changes nothing for good. It yields a ``Round``, and only ``accept`` makes it true, after
the manifest has it; a poll that could not be registered leaves the watch as it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from headwater.store.disk import Disk
from headwater.store.follow.beginning import Beginning, as_listed, begun_old
from headwater.store.follow.examination import Examination
from headwater.store.follow.file_table import FileTable
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Listing
from headwater.store.follow.missing import Missing
from headwater.store.follow.open_files import OpenFiles
from headwater.store.follow.places import Places, at_begin
from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.follow.poll_round import Look, Round
from headwater.store.input.archives import BEGUN_AFTER_ALL, Archives, archive
from headwater.store.recognise.copy_search import CopySearch
from headwater.store.recognise.departed import Departed
from headwater.store.recognise.formers import is_comparable
from headwater.store.recognise.recognition import awaited


class Watch:
    """Driven by ``LogFollower``: ``begin`` or ``look``, read, register, ``accept``."""

    def __init__(
        self,
        files: Iterable[Followed],
        *,
        places: Places | None,
        start: Start,
        config: FollowConfig,
        disk: Disk,
        held: Path,
    ) -> None:
        """``held``: the path of held links, to which a file's number is appended."""
        self.open_files = OpenFiles(disk, held_files_max=config.held_files_max)
        self.places = places
        """None: those of a source that began before they were remembered."""
        self._config = config
        self._beginning = Beginning(start)
        known = list(files)
        self._departed = Departed((file for file in known if file.departed_s is not None), config)
        self._files = FileTable(
            (file for file in known if file.departed_s is None),
            next_id=max((file.id for file in known), default=0) + 1,
            open_files=self.open_files,
            held=held,
        )
        self.remembered = self._files.get
        self._archives = Archives(self._files, self.open_files)
        self._copies = CopySearch(self._files.reader, self._departed, config)
        self._examination = Examination(self._files, self._copies)
        self._missing = Missing(
            self._files,
            examination=self._examination,
            copies=self._copies,
            config=config,
            disk=disk,
        )

    def __len__(self) -> int:
        return len(self._files)

    @property
    def copy_count(self) -> int:
        return len(self._copies.copy_of)

    def held_path(self, file: int) -> Path:
        return self._files.held_path(file)

    def begin(self, listing: Listing, *, now_s: float) -> Round:
        """The first poll of a source: take the files that are there, all of them as originals."""
        self._files.clear()
        self._archives.sort_out(listing, is_old=lambda _: self._beginning.is_at_end)
        round_ = Round(now_s, refused=dict(listing.refused), is_clean=listing.is_whole)
        round_.places = at_begin(listing)
        for found in listing.matching.values():
            file = self._files.meet(found, listing)
            look = self._examination.open(file, found, round_)
            if look is None:
                self._beginning.keep_for_later(file, found, round_)
            else:
                self._beginning.take_original(look, round_)
        return round_

    def misses(self, listing: Listing) -> bool:
        """True when a file is nowhere for the first time. It may have been renamed during the
        listing, which can hide a file from it altogether: look a second time."""
        return any(
            file.key not in listing.matching
            and file.inode not in listing.neighbours
            and file.key not in self.open_files.orphans
            and file.id not in self._files.away_s
            for file in self._files.values()
        )

    def look(self, listing: Listing, *, now_s: float) -> Round:
        """Find out what became of every file, opening those that may have changed.

        Files that are in no listing come first, while their handles are still open.
        """
        self._copies.comparisons.begin_poll()
        places = self.places or at_begin(Listing({}, {}, {}, listing.listed))
        late = self._sort_out_archives(listing, places)
        round_ = Round(now_s, refused=dict(listing.refused), is_clean=listing.is_whole)
        for path in late:
            round_.tell(path, BEGUN_AFTER_ALL)
        round_.succeeded |= {file.id for file in self._files.values() if file.succeeded}
        round_.places = places.after(listing)
        reasons = self._missing.search(listing, round_)
        for found in listing.matching.values():
            self._look_at_listed(found, listing, places, round_)
        self._look_at_copies(listing, round_)
        self._decide(listing, places, round_)
        for number, file in round_.unknown.items():
            round_.refuse(file.path, f"out of sight: {reasons[number]}")
        if round_.departed:
            self._missing.search_copies(listing, round_)
        return round_

    def _sort_out_archives(self, listing: Listing, places: Places) -> list[str]:
        """Gives those that turn out to have been there before only now."""
        late = []

        def is_old(found: Found) -> bool:
            if archive(found) in places.archives:
                return True
            if not self._beginning.is_old(found, listing, places):
                return False
            late.append(found.path)
            return True

        self._archives.sort_out(listing, is_old=is_old)
        return late

    def _look_at_listed(
        self, found: Found, listing: Listing, places: Places, round_: Round
    ) -> None:
        known = self._files.at(found.key)
        file = known or self._files.meet(found, listing)
        self.open_files.orphans.discard(found.key)
        self._files.away_s.pop(file.id, None)
        if self._files.quiet.get(file.id) == _signature(found) and file.path == found.path:
            return
        look = self._examine(file, found, listing, round_)
        if look is not None:
            return
        if known is None and self._beginning.is_old(found, listing, places):
            self._beginning.keep_for_later(file, found, round_)
            round_.tell(found.path, begun_old(found.size))
            return
        left = max(found.size, file.size_seen, file.start_at or 0)
        round_.shrunk_bytes += max(0, file.unopened - left)
        if file.start_at is not None:
            kept = awaited(file, found, round_, is_sure=False)
        elif file.position or file.checked:
            is_shorter = not found.packed and found.size < file.position
            cut_back = file.cut_back or is_shorter
            kept = msgspec.structs.replace(file, unopened=found.size, cut_back=cut_back)
        else:
            kept = as_listed(file, found, start_at=None)
        if kept != file:
            round_.kept[file.id] = kept
        round_.closed[file.id] = found

    def _examine(
        self, file: Followed, found: Found, listing: Listing, round_: Round
    ) -> Look | None:
        is_sure = self._files.is_sure(file)
        return self._examination.examine(file, found, listing, round_, is_sure=is_sure)

    def _look_at_copies(self, listing: Listing, round_: Round) -> None:
        """A copy is left alone for as long as all that it could be a copy of is there."""
        for number in list(self._copies.copy_of) if round_.departed else ():
            self._files.quiet.pop(number, None)
            file = self._files[number]
            found = listing.matching.get(file.key)
            if found is not None and number not in round_.looks:
                self._examine(file, found, listing, round_)

    def _decide(self, listing: Listing, places: Places, round_: Round) -> None:
        def begin_old(going_on: list[Look], others: list[Look]) -> list[Look]:
            known = (*places.devices, *(look.file.place for look in going_on))
            widened = msgspec.structs.replace(places, devices=known)
            return [one for one in others if not self._is_begun_old(one, listing, widened, round_)]

        self._copies.decide(round_, self._files.values(), begin_old=begin_old)
        self._renumber(round_)
        for number, original in self._copies.copy_of.items():
            round_.refused.setdefault(
                self._files[number].path, f"a copy of {original}: not read twice"
            )

    def _is_begun_old(self, look: Look, listing: Listing, places: Places, round_: Round) -> bool:
        """Begin a file at its end if it was there before the source could see it."""
        if look.file.position or not self._beginning.is_old(look.found, listing, places):
            return False
        self._beginning.take_old(look, round_)
        return True

    def _renumber(self, round_: Round) -> None:
        """Files that are out of sight on a file system that has got another number are so no more:
        the next poll finds them gone, or where they are."""
        for file in round_.unknown.values():
            if file.place in round_.renumbered and file.id not in round_.looks:
                place = round_.renumbered[file.place]
                round_.kept[file.id] = msgspec.structs.replace(file, place=place)

    def note_succeeded(self, round_: Round) -> None:
        """As durable as what goes on from them: the next process must know it, too."""
        for file in self._files.values():
            look = round_.looks.get(file.id)
            known = look.file if look is not None else round_.kept.get(file.id, file)
            is_succeeded = file.id in round_.succeeded
            if known.succeeded == is_succeeded or file.id in round_.gone:
                continue
            changed = msgspec.structs.replace(known, succeeded=is_succeeded)
            if look is not None:
                look.file = changed
            else:
                round_.kept[file.id] = changed

    def farewells(self, round_: Round) -> list[Followed]:
        """What this round takes leave of, as it is to be remembered: files that are gone, and the
        former content of files that hold something else now. Those that have been remembered for
        long enough become gone for good."""
        round_.gone |= self._departed.outdated(round_.now_s)
        leaving = [look.file for look in round_.looks.values() if look.file.id in round_.gone]
        leaving += [
            self._files[n] for n in round_.gone if n in self._files and n not in round_.looks
        ]
        kept = [file for file in leaving if file.id not in round_.succeeded]
        kept += [
            msgspec.structs.replace(file, id=next(self._files.ids))
            for file in round_.departed
            if file.id not in round_.gone
        ]
        return [
            msgspec.structs.replace(file, departed_s=round_.now_s, held=False)
            for file in kept
            if is_comparable(file)
        ]

    def accept(self, round_: Round, farewells: Iterable[Followed]) -> None:
        """The round is registered: what it found is true from now on."""
        for file in round_.kept.values():
            self._files.put(file)
        self.places = round_.places
        for look in round_.looks.values():
            file = look.file
            self._files.put(file)
            self.open_files.prove(file.key)
            is_decided = file.checked or file.id in self._copies.copy_of
            is_at_rest = look.is_quiet and is_decided and file.id not in round_.unknown
            if is_at_rest and not (look.is_behind or look.is_open or look.is_orphan):
                self._files.quiet[file.id] = _signature(look.found)
            else:
                self._files.quiet.pop(file.id, None)
        for number in round_.gone:
            self._drop(number)
        for file in farewells:
            self._departed.add(file)

    def keep_unread(self, look: Look, *, is_held: bool) -> Followed:
        """The round was not registered: remember only where to find what it had read.

        It is looked at again, also if it does not change: or nobody would let go of its link. If
        that leads perhaps to another file in the same inode, it is asked again what it is.
        """
        file = self._files[look.file.id]
        checked = file.checked and (look.is_sure or not is_held)
        file = msgspec.structs.replace(file, path=look.file.path, held=is_held, checked=checked)
        self._files.put(file)
        self._files.quiet.pop(file.id, None)
        return file

    def closed_files(self, round_: Round) -> list[Followed]:
        """Those with something in them that could not be opened, as they are to be remembered."""
        known = (round_.kept.get(number, self._files[number]) for number in round_.closed)
        return [file for file in known if file.unopened_bytes and file.id not in round_.gone]

    def hold_closed(self, file: Followed, round_: Round) -> None:
        """A link keeps it from now on."""
        unproven = not self._files.is_sure(file)
        round_.kept[file.id] = msgspec.structs.replace(file, held=True, unproven=unproven)

    def keep_closed(self, file: Followed) -> Followed:
        """The round was not registered: remember all the same that a link leads to it."""
        self._files.put(file)
        return file

    def still_s(self, look: Look, *, now_s: float) -> float:
        """For how long its size has been what it is."""
        return now_s - self._files.moved_s.setdefault(look.file.id, now_s)

    def give_up_orphans(self, round_: Round) -> None:
        """A file that left and has not grown for ``linger_s`` is over; half a line is lost."""
        for number, look in round_.looks.items():
            since = round_.now_s - self._files.moved_s.get(number, round_.now_s)
            if look.is_orphan and not look.is_behind and since >= self._config.linger_s:
                if number not in round_.succeeded:
                    round_.departed.append(look.file)
                round_.gone.add(number)

    def _drop(self, number: int) -> None:
        self._departed.forget(number)
        self._copies.clear(number)
        self._files.drop(number)


def _signature(found: Found) -> tuple[int, int, int]:
    return (found.size, found.modified_ns, found.changed_ns)
