"""The past of files that are read as a whole: each of them once, whatever comes or goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from store_kit import SOURCE, CubeUser

from headwater.reading.form import Form
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow.poll import Start
from headwater.store.input.whole_files import WholeFiles
from headwater.store.past.past_input import PastInput

Open = Callable[..., CubeUser]
PAST = f"{SOURCE}~home.7"
FORM = Form(is_array=True)


class Folder:
    """A live reading of JSON arrays, and a past beside it; the numbers that each has read."""

    def __init__(self, open_cube: Open, folder: Path) -> None:
        folder.mkdir()
        self.user, self.folder, self.now_s = open_cube(), folder, 100.0
        self.read: dict[str, list[int]] = {SOURCE: [], PAST: []}
        self.start()

    def start(self) -> None:
        """A new process."""
        self.user.reopen()
        self.cuts, self.epochs = self.user.cube.cuts, dict[str, int]()
        glob = self.user.glob(self.folder, "*.json")
        self.live = WholeFiles(self.cuts, glob, source=SOURCE, start=Start.END, form=FORM)
        self.open_past = lambda: PastInput(self.cuts, glob, source=PAST, form=FORM)

    def write(self, name: str, *numbers: int) -> None:
        text = json.dumps([{"n": number} for number in numbers])
        (self.folder / name).write_text(text)

    def follow(self) -> None:
        self.now_s += 1.0
        self.live.poll(now_s=self.now_s)
        self.commit(SOURCE)

    def catch_up(self, past: PastInput) -> None:
        for _ in range(5):
            self.now_s += 1.0
            past.poll(now_s=self.now_s)
            self.commit(PAST)

    def commit(self, source: str) -> None:
        if source not in self.epochs:
            self.epochs[source] = self.cuts.begin_epoch(source)
        while chunks := self.cuts.pending(source):
            for chunk in chunks:
                self.read[source] += [one["n"] for one in json.loads(Path(chunk.path).read_text())]
            batch = Batch(source, self.epochs[source], chunks[-1].cut, chunks[-1].cut)
            self.user.cube.commit_batch(batch, SiteOutcome())


@pytest.fixture
def folder(open_cube: Open, tmp_path: Path) -> Folder:
    return Folder(open_cube, tmp_path / "arrays")


def test_files_that_were_there_are_the_pasts_and_later_ones_are_not(folder: Folder) -> None:
    folder.write("a.json", 1, 2)
    folder.follow()
    folder.write("b.json", 3)
    folder.follow()
    past = folder.open_past()
    folder.write("c.json", 4)
    folder.follow()
    folder.catch_up(past)
    assert folder.read == {SOURCE: [3, 4], PAST: [1, 2, 3]}
    assert folder.cuts.state(PAST).has_ended


def test_a_file_that_is_removed_after_the_past_has_begun_is_read(folder: Folder) -> None:
    folder.write("a.json", 1)
    folder.follow()
    past = folder.open_past()
    (folder.folder / "a.json").unlink()
    folder.follow()
    folder.catch_up(past)
    assert folder.read[PAST] == [1]


def test_a_file_that_is_replaced_is_the_pasts_as_it_was_and_the_live_readings_as_it_is(
    folder: Folder,
) -> None:
    folder.write("a.json", 1)
    folder.follow()
    past = folder.open_past()
    folder.write("new", 7, 8)
    (folder.folder / "new").rename(folder.folder / "a.json")
    folder.follow()
    folder.catch_up(past)
    assert folder.read == {SOURCE: [7, 8], PAST: [1]}


def test_a_restart_reads_no_file_twice(folder: Folder) -> None:
    folder.write("a.json", 1)
    folder.write("b.json", 2)
    folder.follow()
    folder.open_past().poll(now_s=200.0)
    folder.start()
    past = folder.open_past()
    folder.catch_up(past)
    assert sorted(folder.read[PAST]) == [1, 2]
