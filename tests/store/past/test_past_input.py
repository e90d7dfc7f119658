"""The past of a source: below the live reading's positions, each byte once, whatever rotates."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from store_kit import SOURCE, CubeUser

from headwater.reading.chunk import Chunk
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import Start
from headwater.store.past import past_input
from headwater.store.past.past_input import TORN_WAIT_S, PastInput

Open = Callable[..., CubeUser]
PAST = f"{SOURCE}~home.7"
HOUR_NS = 3_600 * 1_000_000_000


class Site:
    """A live reading, and a past beside it; what each has read, in lines."""

    def __init__(self, open_cube: Open, logs: Path) -> None:
        self.user = open_cube()
        self.logs = logs
        self.logs.mkdir(exist_ok=True)
        self.now_s = 100.0
        self.read: dict[str, list[str]] = {SOURCE: [], PAST: []}
        self.hours = 0
        self.start()

    def start(self) -> None:
        """A new process."""
        self.user.reopen()
        self.cuts = self.user.cube.cuts
        self.glob = self.user.glob(self.logs, "*.log*")
        self.epochs: dict[str, int] = {}
        self.live = LogFollower(self.cuts, self.glob, source=SOURCE, start=Start.END)
        self.past: PastInput | None = None

    def write(self, name: str, *lines: str, ended: bool = True) -> None:
        with (self.logs / name).open("a") as file:
            file.write("\n".join(lines) + ("\n" if ended else ""))
        self.age(name)

    def age(self, name: str) -> None:
        """Files were written one after the other, an hour apart."""
        self.hours += 1
        os.utime(self.logs / name, ns=(self.hours * HOUR_NS,) * 2)

    def follow(self) -> None:
        self.now_s += 1.0
        self.live.poll(now_s=self.now_s)
        self.commit(SOURCE)

    def begin_past(self) -> None:
        self.past = PastInput(self.cuts, self.glob, source=PAST)

    def catch_up(self, polls: int = 50) -> None:
        assert self.past is not None
        for _ in range(polls):
            self.now_s += 1.0
            self.past.poll(now_s=self.now_s)
            self.commit(PAST)

    def commit(self, source: str) -> None:
        state = self.cuts.state(source)
        if source not in self.epochs:
            self.epochs[source] = self.cuts.begin_epoch(source)
        while chunks := self.cuts.pending(source):
            self.read[source] += lines_of(chunks)
            batch = Batch(source, self.epochs[source], chunks[-1].cut, chunks[-1].cut)
            self.user.cube.commit_batch(batch, SiteOutcome())
        assert state.committed_cut == state.last_cut

    @property
    def has_ended(self) -> bool:
        return self.cuts.state(PAST).has_ended


def lines_of(chunks: Iterable[Chunk]) -> list[str]:
    return [line for chunk in chunks for line in Path(chunk.path).read_text().split()]


@pytest.fixture
def site(open_cube: Open, tmp_path: Path) -> Site:
    return Site(open_cube, tmp_path / "logs")


def test_the_past_is_what_lies_below_the_live_reading_and_nothing_is_in_both(site: Site) -> None:
    site.write("a.log.1", "1", "2")
    site.write("a.log", "3")
    site.follow()
    site.write("a.log", "4")
    site.follow()
    site.begin_past()
    site.write("a.log", "5")
    site.follow()
    site.catch_up()
    assert site.read == {SOURCE: ["4", "5"], PAST: ["1", "2", "3", "4"]}
    assert site.has_ended


def test_a_cut_that_the_live_reading_had_found_is_the_pasts_and_is_offered_by_itself(
    site: Site,
) -> None:
    site.write("a.log", "1")
    site.follow()
    site.write("a.log", "2")
    site.live.poll(now_s=200.0)
    site.begin_past()
    site.write("a.log", "3")
    site.live.poll(now_s=201.0)
    assert lines_of(site.cuts.pending(SOURCE)) == ["2"], "not in a batch with what is counted"
    assert site.cuts.pasts_of(SOURCE)[PAST].after_cut == 1
    site.catch_up()
    assert site.read[PAST] == ["1", "2"]


def test_compressed_files_from_before_are_read_and_those_that_came_later_are_not(
    site: Site,
) -> None:
    (site.logs / "a.log.2.gz").write_bytes(gzip.compress(b"1\n2\n"))
    site.age("a.log.2.gz")
    site.write("a.log", "3")
    site.follow()
    (site.logs / "b.log.gz").write_bytes(gzip.compress(b"9\n"))
    site.begin_past()
    site.catch_up()
    site.follow()
    assert site.read == {SOURCE: ["9"], PAST: ["1", "2", "3"]}


def test_a_copy_is_skipped_compressed_or_not(site: Site) -> None:
    site.write("a.log.1", "1", "2")
    shutil.copy(site.logs / "a.log.1", site.logs / "copy.log")
    site.age("copy.log")
    (site.logs / "a.log.1.gz").write_bytes(gzip.compress(b"1\n2\n"))
    site.age("a.log.1.gz")
    site.write("longer.log", "1", "2", "3")
    site.follow()
    site.begin_past()
    site.catch_up()
    assert site.read[PAST] == ["1", "2", "3"]
    assert site.has_ended


def test_rotation_during_the_catch_up_takes_nothing_away(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_input, "POLL_BYTES_MAX", 4)
    site.write("a.log", "1", "2")
    site.follow()
    site.begin_past()
    content = (site.logs / "a.log").read_bytes()
    (site.logs / "a.log.1.gz").write_bytes(gzip.compress(content))
    (site.logs / "a.log").unlink()
    site.write("a.log", "3")
    site.follow()
    site.catch_up()
    assert site.read == {SOURCE: ["3"], PAST: ["1", "2"]}


def test_a_log_that_is_copied_and_emptied_goes_on_in_its_copy(site: Site) -> None:
    site.write("a.log", "1", "2")
    site.follow()
    site.begin_past()
    shutil.copy(site.logs / "a.log", site.logs / "a.log.1")
    os.truncate(site.logs / "a.log", 0)
    site.write("a.log", "3")
    site.follow()
    site.catch_up()
    assert site.read == {SOURCE: ["3"], PAST: ["1", "2"]}
    assert site.has_ended


def test_bytes_that_are_nowhere_any_more_are_counted_as_lost(site: Site) -> None:
    site.write("a.log", "1", "2")
    site.follow()
    site.begin_past()
    os.truncate(site.logs / "a.log", 0)
    assert site.past is not None
    poll = site.past.poll(now_s=500.0)
    assert poll.lost_bytes == 4
    assert poll.report is not None
    assert (poll.report.lost_bytes, poll.report.ended) == (4, True)


def test_a_line_that_was_half_written_is_the_pasts_when_it_is_whole(site: Site) -> None:
    site.write("a.log", "1", "2x", ended=False)
    site.follow()
    site.begin_past()
    site.catch_up(3)
    assert not site.has_ended
    site.write("a.log", "y", "3")
    site.follow()
    site.catch_up(3)
    assert site.read == {SOURCE: ["3"], PAST: ["1", "2xy"]}
    assert site.has_ended


def test_a_line_that_nobody_ends_is_counted(site: Site) -> None:
    site.write("a.log", "1", "2x", ended=False)
    site.follow()
    site.begin_past()
    assert site.past is not None
    polls = [site.past.poll(now_s=500.0 + n * TORN_WAIT_S) for n in range(3)]
    assert sum(poll.skipped_lines for poll in polls) == 1
    site.commit(PAST)
    assert site.read[PAST] == ["1"]


def test_a_restart_goes_on_where_it_was(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_input, "POLL_BYTES_MAX", 2)
    site.write("a.log.1", "1", "2", "3")
    site.write("a.log", "4")
    site.follow()
    site.begin_past()
    (site.logs / "a.log.1").unlink()
    site.catch_up(1)
    assert not site.has_ended
    assert site.past is not None
    assert (site.past.read_bytes, site.past.unread_bytes) == (6, 2)
    site.start()
    site.begin_past()
    site.follow()
    site.catch_up()
    assert site.read[PAST] == ["1", "2", "3", "4"]


def test_what_is_forgotten_leaves_no_link_behind(site: Site) -> None:
    site.write("a.log", "1")
    site.follow()
    site.begin_past()
    spool = site.cuts.spool.directory
    assert [path.name for path in spool.iterdir() if path.name.startswith("held-")]
    site.cuts.forget_source(PAST)
    assert not list(spool.iterdir())
    assert not site.cuts.pasts_of(SOURCE)


def test_where_the_first_record_lies_is_told_until_the_end(site: Site) -> None:
    site.write("a.log", "1")
    site.follow()
    site.begin_past()
    assert site.past is not None
    site.past.poll(now_s=200.0)
    epoch = site.cuts.begin_epoch(PAST)
    report = site.user.cube.commit_batch(Batch(PAST, epoch, 0, 1), SiteOutcome(low_time_us=7))
    assert (report.low_time_us, report.ended) == (7, True)
    site.start()
    assert site.cuts.state(PAST).past == site.cuts.pasts_of(SOURCE)[PAST]
    assert site.cuts.state(PAST).report().low_time_us == 7
