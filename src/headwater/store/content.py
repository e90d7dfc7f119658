"""A file as far as it can be compared with others, in one poll."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.store.comparison import OtherUnreadable
from headwater.store.directories import reason_of
from headwater.store.followed_file import Followed
from headwater.store.identity import HEAD_BYTES, Print, ReadAt
from headwater.store.poll_round import Look


@dataclass
class Content:
    """``head`` may be shorter than the file's own."""

    file: int
    path: str
    size: int
    head: bytes
    read_at: ReadAt
    print: Print
    is_orphan: bool = False
    """No directory has it any more; whoever has its path now has replaced it."""


def content_of(look: Look) -> Content:
    """Of a file that is to be compared with others. Raises ``OSError``."""
    return _content(look, look.read_at)


def original_of(look: Look) -> Content:
    """Of one with which others are compared. What can't be read now is known by its print, as far
    as that goes."""
    read_at = _of_other(look.read_at, look.file.path)
    try:
        return _content(look, read_at)
    except OtherUnreadable:
        return _remembered(look.file, look.found.size, read_at)


def unopened(file: Followed, read_at: ReadAt) -> Content:
    """Of one that has not been opened in this poll."""
    return _remembered(file, file.size_seen, _of_other(read_at, file.path))


def _content(look: Look, read_at: ReadAt) -> Content:
    size, file = look.found.size, look.file
    head = read_at(min(size, HEAD_BYTES), 0)
    return Content(file.id, file.path, size, head, read_at, file.print, look.is_orphan)


def _remembered(file: Followed, size: int, read_at: ReadAt) -> Content:
    return Content(file.id, file.path, size, file.print.head, read_at, file.print)


def _of_other(read_at: ReadAt, path: str) -> ReadAt:
    """Trouble with the file that one is compared with is not the trouble of that one."""

    def read(count: int, offset: int) -> bytes:
        try:
            return read_at(count, offset)
        except OSError as error:
            raise OtherUnreadable(f"{path}: {reason_of(error)}") from error

    return read
