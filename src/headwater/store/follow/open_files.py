"""Handles of followed files that stay open between polls, so that rotation can't take them away.

An open handle reads on after its file was renamed or removed, and keeps its inode from being
given to another file. Handles are few, so the least recently used is closed when there are more
than ``held_files_max``, or when the process has run out of them; a file that is read again is
opened again, if its path still leads to it. The handles of orphans, to which no path leads, are
closed last.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import OrderedDict

from headwater.store.disk import Disk
from headwater.store.input.expansions import Expansions
from headwater.store.recognise.identity import ReadAt

OUT_OF_HANDLES = (errno.EMFILE, errno.ENFILE)

Key = tuple[int, int]
"""Device and inode."""


class OpenFiles:
    """By device and inode: a path alone may lead to another file by the time it is opened."""

    def __init__(self, disk: Disk, *, held_files_max: int) -> None:
        self.orphans: set[Key] = set()
        self.expansions = Expansions()
        self._disk = disk
        self._held_files_max = held_files_max
        self._handles: OrderedDict[Key, int] = OrderedDict()
        self._proven: set[Key] = set()

    def __contains__(self, key: Key) -> bool:
        return key in self._handles

    def __len__(self) -> int:
        return len(self._handles)

    def prove(self, key: Key) -> None:
        """What is remembered of the file was found in this very handle, if it is open."""
        if key in self._handles:
            self._proven.add(key)

    def is_proven(self, key: Key) -> bool:
        """An open handle says nothing of what was remembered before it was opened: the inode may
        have been another file's by then."""
        return key in self._proven

    def look(self, key: Key, path: str) -> os.stat_result:
        """The state of this very file. Raises ``OSError``; ``FileNotFoundError`` if the path leads
        to another one by now."""
        return self._disk.stat_open(self._handle(key, path))

    def reader(self, key: Key, path: str, packed: str = "") -> ReadAt:
        """Of what the file holds; ``packed`` says how it is compressed."""

        def raw(count: int, offset: int) -> bytes:
            return self._read_fully(self._handle(key, path), count, offset)

        def read_at(count: int, offset: int) -> bytes:
            stamp = self._stamp(key, path)
            return self.expansions.of(key, raw, packed=packed, stamp=stamp).read_at(count, offset)

        return read_at if packed else raw

    def content_size(self, key: Key, path: str, packed: str) -> int:
        """How much the file holds, if it is compressed by reading all of it. Raises ``OSError``,
        also where it does not come to its end."""
        if not packed:
            return self.look(key, path).st_size
        raw = self.reader(key, path)
        return self.expansions.size(key, raw, packed=packed, stamp=self._stamp(key, path))

    def _stamp(self, key: Key, path: str) -> tuple[int, int]:
        status = self.look(key, path)
        return (status.st_size, status.st_mtime_ns)

    def _handle(self, key: Key, path: str) -> int:
        handle = self._handles.get(key)
        if handle is None:
            self._close_oldest(len(self._handles) + 1 - self._held_files_max)
            handle = self._open(key, path)
            self._handles[key] = handle
        self._handles.move_to_end(key)
        return handle

    def _open(self, key: Key, path: str) -> int:
        try:
            handle = self._disk.open(path)
        except OSError as error:
            if error.errno not in OUT_OF_HANDLES or not self._handles:
                raise
            self._close_oldest(len(self._handles) // 2 + 1)
            handle = self._disk.open(path)
        try:
            status = self._disk.stat_open(handle)
            if (status.st_dev, status.st_ino) != key:
                raise FileNotFoundError(errno.ENOENT, "another file is there by now", path)
        except OSError:
            self._disk.close(handle)
            raise
        return handle

    def _read_fully(self, handle: int, count: int, offset: int) -> bytes:
        """A read may be short in the middle of a file (a signal, a network file system)."""
        data = self._disk.read_at(handle, count, offset)
        while 0 < len(data) < count:
            more = self._disk.read_at(handle, count - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def _close_oldest(self, count: int) -> None:
        if count > 0:
            order = sorted(self._handles, key=lambda key: key in self.orphans)
            for key in order[:count]:
                self.close(key)

    def close(self, key: Key) -> None:
        self.orphans.discard(key)
        self._proven.discard(key)
        self.expansions.close(key)
        handle = self._handles.pop(key, None)
        if handle is not None:
            with contextlib.suppress(OSError):
                self._disk.close(handle)

    def close_all(self) -> None:
        for key in list(self._handles):
            self.close(key)
