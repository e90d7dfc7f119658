"""What one poll has found out so far; it becomes true once it is registered."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.store.followed_file import Followed
from headwater.store.identity import ReadAt
from headwater.store.listing import Found


@dataclass
class Look:
    """A file that was opened in this poll, with ``file`` as it is to be remembered."""

    file: Followed
    found: Found
    read_at: ReadAt
    settled: bool
    is_orphan: bool = False
    """It is in no listing any more: only a handle or our own link leads to it."""
    is_behind: bool = False
    """Whole lines are left in it."""


@dataclass
class Round:
    """What one poll has found out so far."""

    now_s: float
    looks: dict[int, Look] = field(default_factory=dict)
    departed: list[Followed] = field(default_factory=list)
    """Files whose content was replaced or is gone, as they were remembered."""
    gone: set[int] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    is_clean: bool = True

    @property
    def lost_bytes(self) -> int:
        return sum(file.unread_bytes for file in self.departed if file.checked)
