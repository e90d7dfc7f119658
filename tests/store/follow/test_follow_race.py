"""Writers that do not wait for the follower: rotation in the middle of a listing or a read."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

from store_kit import SOURCE, Clock, CubeUser

from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import FollowConfig, Start

WRITERS = 6
LINES_MAX = 1_500
POLLS_MAX = 10_000
SEED = 4711


class Writer(threading.Thread):
    """Appends numbered lines in two halves each, and renames its log now and then."""

    def __init__(self, logs: Path, number: int, stop: threading.Event) -> None:
        super().__init__()
        self.lines = 0
        self._number = number
        self._logs = logs
        self._stop_now = stop
        self._chance = random.Random(SEED + number)

    def run(self) -> None:
        log = self._logs / f"{self._number}.log"
        while self.lines < LINES_MAX and not self._stop_now.wait(self._chance.random() * 0.02):
            with log.open("ab", buffering=0) as file:
                for _ in range(self._chance.randint(1, 20)):
                    self.lines += 1
                    line = b"%d:%d\n" % (self._number, self.lines)
                    middle = self._chance.randint(0, len(line))
                    file.write(line[:middle])
                    file.write(line[middle:])
            if self._chance.random() < 0.3:
                log.rename(f"{log}.{self.lines}")


def test_lines_written_and_rotated_during_polls_come_exactly_once(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    user = CubeUser(tmp_path / "cube", Clock())

    def open_follower() -> LogFollower:
        return LogFollower(
            user.cube.cuts,
            user.glob(logs, "*.log*"),
            source=SOURCE,
            start=Start.BEGINNING,
            config=FollowConfig(held_files_max=3),
        )

    stop = threading.Event()
    writers = [Writer(logs, number, stop) for number in range(WRITERS)]
    follower = open_follower()
    try:
        for writer in writers:
            writer.start()
        for poll in range(POLLS_MAX):
            follower.poll(now_s=float(poll))
            if not any(writer.is_alive() for writer in writers):
                break
            if poll % 10 == 9:
                follower.close()
                user.reopen()
                follower = open_follower()
        assert follower.poll(now_s=float(POLLS_MAX)).is_clean
        chunks = user.cube.cuts.pending(SOURCE, bytes_max=1 << 40, count_max=1 << 30)
        got = Counter(line for chunk in chunks for line in chunk.path.read_text().split())
    finally:
        stop.set()
        for writer in writers:
            writer.join()
        follower.close()
        user.cube.close()
    written = (f"{w._number}:{n}" for w in writers for n in range(1, w.lines + 1))
    assert got == Counter(written)
