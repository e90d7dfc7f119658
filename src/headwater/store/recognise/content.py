"""A file as far as it can be compared with others, in one poll."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from headwater.store.follow.directories import reason_of
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.poll_round import Look
from headwater.store.recognise.comparison import OtherUnreadable
from headwater.store.recognise.identity import HEAD_BYTES, Print, ReadAt


@dataclass(frozen=True)
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

    @property
    def is_unknown(self) -> bool:
        """It can't be read now, and nothing of it was: any other file may be like it."""
        return self.size > 0 and not self.head


def content_of(look: Look) -> Content:
    """Of a file that is to be compared with others. Raises ``OSError``."""
    size, file = look.found.size, look.file
    head = look.read_at(min(size, HEAD_BYTES), 0)
    return Content(file.id, file.path, size, head, look.read_at, file.print, look.is_orphan)


def as_original(content: Content, print_: Print) -> Content:
    """One that is decided, with which others are compared; ``print_`` is where it goes on."""
    read_at = _of_other(content.read_at, content.path)
    return replace(content, read_at=read_at, print=print_)


def original_of(look: Look) -> Content:
    """Of one with which others are compared. What can't be read now is known by its print, as far
    as that goes."""
    try:
        return as_original(content_of(look), look.file.print)
    except OSError:
        remembered = _remembered(look.file, look.found.size, look.read_at)
        return replace(remembered, is_orphan=look.is_orphan)


def unopened(file: Followed, read_at: ReadAt) -> Content:
    """Of one that has not been opened in this poll. If it could not be, it is as long as it was
    listed to be: what a copy has of the rest is not the copy's own."""
    size = max(file.size_seen, file.unopened)
    remembered = _remembered(file, size, read_at)
    if not remembered.is_unknown:
        return remembered
    with suppress(OtherUnreadable):
        head = remembered.read_at(min(size, HEAD_BYTES), 0)
        return replace(remembered, head=head)
    return remembered


def _remembered(file: Followed, size: int, read_at: ReadAt) -> Content:
    other = _of_other(read_at, file.path)
    return Content(file.id, file.path, size, file.print.head, other, file.print)


def _of_other(read_at: ReadAt, path: str) -> ReadAt:
    """Trouble with the file that one is compared with is not the trouble of that one."""

    def read(count: int, offset: int) -> bytes:
        try:
            return read_at(count, offset)
        except OSError as error:
            raise OtherUnreadable(f"{path}: {reason_of(error)}") from error

    return read
