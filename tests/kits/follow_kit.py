"""A follower on temporary directories, and disks with closed files or other file systems."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from store_kit import SOURCE, CubeUser, FaultyDisk

from headwater.reading.chunk import Chunk
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.poll import Poll, Start


class Follow:
    """A follower, its logs, and what it has handed over so far."""

    def __init__(self, user: CubeUser, logs: Path, **options: object) -> None:
        self.user = user
        self.logs = logs
        self.options = options
        logs.mkdir(exist_ok=True)
        self.follower = self.open()

    def open(self) -> LogFollower:
        given = {"pattern": "*.log", "start": Start.BEGINNING, **self.options}
        return LogFollower(
            self.user.cube.cuts,
            self.user.glob(self.logs, given.pop("pattern"), given.pop("disk", None)),
            source=SOURCE,
            **given,  # type: ignore[arg-type]
        )

    def restart(self) -> None:
        self.follower.close()
        self.user.reopen()
        self.follower = self.open()

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.logs / name
        with path.open("ab") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return path

    def poll(self, *, after_s: float = 1.0) -> Poll:
        self.user.clock.now_s += after_s
        return self.follower.poll(now_s=self.user.clock())

    def give(self, name: str, text: str | bytes) -> Path:
        """Write it, and let it be found."""
        path = self.write(name, text)
        self.poll()
        return path

    def text(self) -> str:
        """All that was ever handed over, in the order of cuts."""
        return b"".join(chunk.path.read_bytes() for chunk in self.chunks()).decode("latin1")

    def doubted(self) -> str:
        """Of that, what may have been handed over before."""
        chunks = [chunk for chunk in self.chunks() if chunk.is_doubtful]
        return b"".join(chunk.path.read_bytes() for chunk in chunks).decode("latin1")

    def chunks(self) -> list[Chunk]:
        cuts, found = self.user.cube.cuts, list[Chunk]()
        while more := cuts.pending(SOURCE, after_cut=found[-1].cut if found else None):
            found += more
        return found


class ClosedDisk(FaultyDisk):
    """Files of these names can't be opened, looked at or read, though handles of them are open."""

    def __init__(self) -> None:
        super().__init__()
        self.closed: set[str] = set()

    def _refuse(self, path: str) -> None:
        if os.path.basename(path) in self.closed:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        self._refuse(str(directory))
        return super().scan(directory)

    def open(self, path: Path | str) -> int:
        self._refuse(str(path))
        return super().open(path)

    def stat_open(self, handle: int) -> os.stat_result:
        self._refuse(os.readlink(f"/proc/self/fd/{handle}"))
        return super().stat_open(handle)


class MountingDisk(FaultyDisk):
    """One directory, and what is in it, is on the device that a test says."""

    def __init__(self, mount_point: Path) -> None:
        super().__init__()
        self.mount_point = mount_point
        self.device = 1 << 40

    def _moved(self, path: str, real: os.stat_result) -> os.stat_result:
        point = str(self.mount_point)
        if not (path == point or path.startswith(point + "/")):
            return real
        fields = [*real[:10]]
        fields[2] = self.device
        times = {"st_mtime_ns": real.st_mtime_ns, "st_ctime_ns": real.st_ctime_ns}
        return os.stat_result(fields, times)

    def stat(self, path: Path | str) -> os.stat_result:
        return self._moved(str(path), super().stat(path))

    def stat_open(self, handle: int) -> os.stat_result:
        return self._moved(os.readlink(f"/proc/self/fd/{handle}"), super().stat_open(handle))


def held_links(one: Follow) -> list[Path]:
    return [path for path in one.user.cube.cuts.spool.directory.iterdir() if "held" in path.name]


def with_an_inode_given_to_a_later_copy(one: Follow, aside: Path) -> None:
    """As if the inode of the first ``a.log`` had been given to a copy of the second, which has read
    further and is gone."""
    path = one.give("a.log", "1\n2\n")
    os.link(path, aside)
    one.write(".new", "1\n2\n3\n").rename(path)
    one.poll()
    one.restart()
    with aside.open("a") as file:
        file.write("3\n4\n")
    aside.rename(one.logs / "b.log")
    path.unlink()
