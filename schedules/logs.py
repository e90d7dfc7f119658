"""The logs of one source as programs and people treat them, and which numbered lines are where.

Lines are numbered, and every change of the directory says which lines can be seen in it from then
on. A line counts as *seen* when it was in a file that the source's glob names, from before a poll
began until after it had ended, and the poll called itself clean: the follower has promised that it
is neither lost nor read twice. It counts as *listed* when a poll that was not refused by its own
disk has looked at a file, under such a name, that was long enough to hold it: from then on the
follower knows that there is something, and if it never reads it, some answer has to say so.
"""

from __future__ import annotations

import datetime
import fnmatch
import gzip
import os
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from schedules.story import Story
from schedules.troubled_disk import TroubledDisk
from schedules.turns import Turns

MAIN = "app.log"
HEADER = b"".join(b"# %03d a comment that every file begins with\n" % n for n in range(26))
"""More than the 1 KiB by which files are told apart."""
FOOTER = b"".join(b"# %03d a comment that every file ends with\n" % n for n in range(8))
"""More than the last 256 bytes, by which they are told apart, too."""
COPY_BYTES_MIN = 1_200
"""More than two files of one program have in common by chance."""


@dataclass
class Line:
    number: int
    time_us: int
    text: bytes
    born_s: float = 0.0
    """When it was written."""
    visible_since: int | None = None
    """The step at which it came into the directory; None: it is not there."""
    listed: int | None = None
    """The first poll, clean or not, that has looked at a file with it."""
    seen: int | None = None
    """The first clean poll, by its place among the polls of the source, that must have found it."""
    is_vanished: bool = False
    """It was taken away, at least for a while."""
    is_overgrown: bool = False
    """Its file was emptied and filled again beyond it before anybody could look: what is known of a
    file is its length, and that tells nothing then."""


@dataclass
class PollSeen:
    started_s: float
    is_clean: bool
    is_behind: bool = False
    """What it found could not be taken in, for want of room or for an error of the site's disk."""


class Logs:
    """One directory, one glob. Called by the schedule's own thread; each call is one change."""

    def __init__(
        self,
        source: str,
        directory: Path,
        *,
        disk: TroubledDisk,
        turns: Turns,
        chance: random.Random,
        story: Story,
        now_s: float,
    ) -> None:
        self.source = source
        self.directory = directory
        self.pattern = "*.log"
        self.lines: dict[int, Line] = {}
        self.polls: list[PollSeen] = []
        self.vanished_lines = 0
        """Lines that were taken away before any clean poll had seen them."""
        self.twice_bytes = 0
        """That may have been read twice, as polls have told."""
        self.has_lost_closed = False
        """A file left that nobody could open or link to, be it because it left while a poll was
        under way that had listed it: what it held, nobody can know."""
        self.away: Path | None = None
        """Where the directory is while it is not in its place."""
        self._files: dict[str, list[int]] = {}
        self._counts: Counter[int] = Counter()
        self._unseen: set[int] = set()
        self._unlisted: set[int] = set()
        self._emptied: tuple[int, int, set[int]] = (0, 0, set())
        """When the main log was emptied last, where its last listed line ended, and its lines."""
        self._looked_at: set[int] = set()
        """Lines in files that the poll under way has looked at."""
        self._listed_now: set[int] = set()
        """Inodes of those files."""
        self._disk = disk
        self._turns = turns
        self._chance = chance
        self._story = story
        self._start_s = now_s
        self._number = 0
        self._rotated = 0
        directory.mkdir(parents=True)
        disk.watch(directory, self.looked_at)

    # What the follower did

    def looked_at(self, path: Path, size: int) -> None:
        """Somebody has asked how long this file is."""
        self._listed_now.add(os.stat(path).st_ino)
        if self._matches(path.name) and self._unlisted:
            self._looked_at |= _numbers_in(path.read_bytes()[:size]) & self._unlisted

    def poll_begins(self) -> None:
        self._looked_at.clear()
        self._listed_now.clear()

    def polled(
        self,
        began_step: int,
        started_s: float,
        *,
        is_clean: bool,
        is_behind: bool,
        twice_bytes: int,
    ) -> None:
        self.polls.append(PollSeen(started_s, is_clean, is_behind))
        self._listed_now.clear()
        self.twice_bytes += twice_bytes
        if not is_behind:
            self._note_listed()
        if not is_clean:
            return
        for number in list(self._unseen):
            line = self.lines[number]
            if line.visible_since is not None and line.visible_since < began_step:
                line.seen = len(self.polls) - 1
                self._unseen.discard(number)

    def _note_listed(self) -> None:
        """Of a poll that its own disk has refused nothing is remembered."""
        for number in self._looked_at & self._unlisted:
            self.lines[number].listed = len(self.polls) - 1
        self._unlisted -= self._looked_at

    def restarted(self, now_s: float) -> None:
        """A new life knows nothing until it has polled."""
        self.polls.append(PollSeen(now_s, is_clean=False))

    # Writing

    @property
    def now_s(self) -> float:
        return self._start_s + self._turns.steady.now_s

    def new_line(self, age_s: float) -> Line:
        self._number += 1
        number = self._number * 2 + (self.source != "weblog")
        time_us = round((self.now_s - age_s) * 1e6)
        stamp = _stamp(time_us)
        text = f"{stamp},{'x' * self._chance.choice((1, 8, 60))},{number}\n".encode()
        line = self.lines[number] = Line(number, time_us, text, born_s=self.now_s)
        self._unseen.add(number)
        self._unlisted.add(number)
        return line

    def append(
        self, count: int, *, name: str = MAIN, age_s: float = 0.0, in_two: bool = False
    ) -> None:
        """A program writes some lines, perhaps the last one in two goes."""
        if self.away is not None:
            return
        lines = [self.new_line(age_s + self._chance.random() * 0.8) for _ in range(count)]
        data = b"".join(line.text for line in lines)
        if in_two:
            half = len(data) - len(lines[-1].text) // 2
            self._write(name, data[:half])
            self._show(name, [line.number for line in lines[:-1]])
            self._turns.sleep(self._chance.random() * 1.5)
            if self.away is not None or name not in self._files:
                return
            self._write(name, data[half:])
            self._show(name, [lines[-1].number])
        else:
            self._write(name, data)
            self._show(name, [line.number for line in lines])
        self._story.tell(f"{self.source}: lines {lines[0].number} … {lines[-1].number} in {name}")

    def twins(self) -> None:
        """Two files that are alike at both ends and as long as each other, with a line each."""
        if self.away is not None:
            return
        for side in "ab":
            line = self.new_line(0.2)
            name = f"twin-{self._number // 2}-{side}.log"
            padding = "y" * (40 - len(str(line.number)))
            line.text = f"{_stamp(line.time_us)},{padding},{line.number}\n".encode()
            self._write(name, HEADER + line.text + FOOTER)
            self._show(name, [line.number])
            self._story.tell(f"{self.source}: line {line.number} in {name}")

    # Rotation and the rest

    def rotate(self, *, is_matching: bool) -> None:
        if not self._has(MAIN):
            return
        new = self._rotated_name(is_matching)
        os.rename(self.directory / MAIN, self.directory / new)
        self._story.tell(f"{self.source}: {MAIN} became {new}")
        self._files[new] = self._files.pop(MAIN)
        if not is_matching:
            self._hide(self._files[new], is_read_on=True)

    def copy_and_truncate(self, *, is_matching: bool) -> None:
        if not self._has(MAIN):
            return
        new = self._rotated_name(is_matching)
        data = (self.directory / MAIN).read_bytes()
        (self.directory / new).write_bytes(data)
        self._touched(new)
        self._files[new] = list(self._files[MAIN])
        if is_matching:
            self._show_again(self._files[new])
        self._turns.pause()
        self._note_emptied()
        os.truncate(self.directory / MAIN, 0)
        self._touched(MAIN)
        self._hide(self._files[MAIN], is_read_on=True)
        self._files[MAIN] = []
        self._story.tell(f"{self.source}: {MAIN} was copied to {new} and emptied")

    def truncate(self) -> None:
        if not self._has(MAIN):
            return
        self._note_emptied()
        os.truncate(self.directory / MAIN, 0)
        self._touched(MAIN)
        self._hide(self._files[MAIN])
        self._files[MAIN] = []
        self._story.tell(f"{self.source}: {MAIN} was emptied")

    def replace(self, *, count: int) -> None:
        """As rsync and ``sed -i`` do: a new file with the old content and more, renamed over it."""
        if not self._has(MAIN):
            return
        lines = [self.new_line(self._chance.random() * 0.8) for _ in range(count)]
        data = (self.directory / MAIN).read_bytes() + b"".join(line.text for line in lines)
        new = self.directory / f".{MAIN}.new"
        new.write_bytes(data)
        self._touched(new.name, is_new=True)
        self._note_closed()
        os.rename(new, self.directory / MAIN)
        self._show(MAIN, [line.number for line in lines])
        self._story.tell(f"{self.source}: {MAIN} was replaced by a longer copy, {count} lines more")

    def copy(self) -> None:
        """Somebody keeps a copy under a name that the glob covers. A short one may be read: it
        can't be told from a new file that begins alike."""
        if not self._has(MAIN) or (self.directory / MAIN).stat().st_size < COPY_BYTES_MIN:
            return
        new = f"copy-{self._rotated}.log"
        self._rotated += 1
        (self.directory / new).write_bytes((self.directory / MAIN).read_bytes())
        self._touched(new)
        self._files[new] = list(self._files[MAIN])
        self._show_again(self._files[new])
        self._story.tell(f"{self.source}: {MAIN} was copied to {new}")

    def compress(self) -> None:
        """The oldest rotated file is compressed: what was not read of it by then is gone."""
        name = self._oldest_rotated()
        if name is None:
            return
        data = (self.directory / name).read_bytes()
        packed = self.directory / f"{name}.gz"
        packed.write_bytes(gzip.compress(data, 1, mtime=0))
        self._turns.pause()
        self._drop(name)
        self._story.tell(f"{self.source}: {name} was compressed")

    def remove_rotated(self) -> None:
        name = self._oldest_rotated()
        if name is not None:
            self._drop(name)
            self._story.tell(f"{self.source}: {name} was removed")

    # The directory itself

    def leave(self, *, leaves_empty: bool) -> None:
        """The directory is unmounted; its place is empty, or not there at all."""
        if self.away is not None:
            return
        self.away = self.directory.with_name(f".{self.directory.name}-away")
        os.rename(self.directory, self.away)
        if leaves_empty:
            self.directory.mkdir()
        for name, numbers in self._files.items():
            if self._matches(name):
                self._hide(numbers, is_read_on=True)
        self._story.tell(f"{self.source}: the directory is gone{', empty' if leaves_empty else ''}")

    def come_back(self) -> None:
        if self.away is None:
            return
        if self.directory.exists():
            self.directory.rmdir()
        os.rename(self.away, self.directory)
        self.away = None
        for name, numbers in self._files.items():
            if self._matches(name):
                self._show_again(numbers)
        self._story.tell(f"{self.source}: the directory is back")

    # How it is kept

    def _note_closed(self) -> None:
        """The main log is about to be replaced."""
        inode = os.stat(self.directory / MAIN).st_ino
        is_between = inode in self._listed_now and not self._disk.was_opened(inode)
        if is_between or inode in self._disk.closed_for_good:
            self.has_lost_closed = True

    def _note_emptied(self) -> None:
        data = (self.directory / MAIN).read_bytes()
        end, listed_end = 0, 0
        for text in data.splitlines(keepends=True):
            end += len(text)
            numbers = _numbers_in(text) - (self._unlisted - self._looked_at)
            listed_end = end if numbers else listed_end
        self._emptied = (self._turns.step, listed_end, _numbers_in(data))

    def _note_overgrown(self) -> None:
        step, end, numbers = self._emptied
        status = os.stat(self.directory / MAIN)
        if status.st_size >= end and self._disk.looked_steps.get(status.st_ino, -1) < step:
            for number in numbers:
                self.lines[number].is_overgrown = True

    def _has(self, name: str) -> bool:
        return self.away is None and bool(self._files.get(name))

    def _rotated_name(self, is_matching: bool) -> str:
        self._rotated += 1
        return f"app-{self._rotated}.log" if is_matching else f"{MAIN}.{self._rotated}"

    def _oldest_rotated(self) -> str | None:
        """Not the newest one, as a rule: ``delaycompress``."""
        names = [n for n in self._files if n != MAIN and not n.startswith("other")]
        return names[0] if self.away is None and len(names) > 1 else None

    def _drop(self, name: str) -> None:
        (self.directory / name).unlink()
        numbers = self._files.pop(name)
        if self._matches(name):
            self._hide(numbers)

    def _matches(self, name: str) -> bool:
        return fnmatch.fnmatchcase(name, self.pattern)

    def _write(self, name: str, data: bytes) -> None:
        is_new = name not in self._files
        with open(self.directory / name, "ab") as file:
            file.write(data)
        self._files.setdefault(name, [])
        self._touched(name, is_new=is_new)
        if name == MAIN:
            self._note_overgrown()

    def _touched(self, name: str, *, is_new: bool = False) -> None:
        inode = os.stat(self.directory / name).st_ino
        if is_new:
            self._disk.is_new(inode)
        self._disk.times_ns[inode] = round(self.now_s * 1e9)

    def _show(self, name: str, numbers: list[int]) -> None:
        self._files.setdefault(name, []).extend(numbers)
        if self._matches(name):
            self._show_again(numbers)

    def _show_again(self, numbers: list[int]) -> None:
        for number in numbers:
            self._counts[number] += 1
            line = self.lines[number]
            if line.visible_since is None:
                line.visible_since = self._turns.step

    def _hide(self, numbers: list[int], *, is_read_on: bool = False) -> None:
        """``is_read_on``: the bytes still exist, and whoever holds the file can read them."""
        for number in numbers:
            self._counts[number] -= 1
            line = self.lines[number]
            if self._counts[number] == 0:
                line.visible_since, line.is_vanished = None, True
                if line.seen is None and not is_read_on:
                    self.vanished_lines += 1


def _numbers_in(data: bytes) -> set[int]:
    """Of the whole lines; comments have none."""
    whole = data[: data.rfind(b"\n") + 1].splitlines()
    return {int(line.rpartition(b",")[2]) for line in whole if line[:1].isdigit()}


def _stamp(time_us: int) -> str:
    when = datetime.datetime.fromtimestamp(time_us // 1_000_000, datetime.UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}.{time_us % 1_000_000:06d}"
