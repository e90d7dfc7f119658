"""What one poll has found out so far; it becomes true once it is registered."""

from __future__ import annotations

from dataclasses import dataclass, field

from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found
from headwater.store.follow.places import Places
from headwater.store.recognise.identity import ReadAt


@dataclass
class Look:
    """A file that was opened in this poll, with ``file`` as it is to be remembered."""

    file: Followed
    found: Found
    read_at: ReadAt
    is_quiet: bool
    is_orphan: bool = False
    """It is in no listing any more: only a handle or our own link leads to it."""
    is_behind: bool = False
    """Whole lines are left in it."""
    is_open: bool = False
    """Its last record is not known to be over."""
    is_sure: bool = True
    """Its inode can't have been given to another file since it was last looked at."""


@dataclass
class Round:
    """What one poll has found out so far."""

    now_s: float
    looks: dict[int, Look] = field(default_factory=dict)
    kept: dict[int, Followed] = field(default_factory=dict)
    """Files that could not be opened and are to be remembered as this."""
    unknown: dict[int, Followed] = field(default_factory=dict)
    """Files that are out of sight, so that nothing may be concluded about them."""
    departed: list[Followed] = field(default_factory=list)
    """Files whose content was replaced or is gone, as they were remembered."""
    gone: set[int] = field(default_factory=set)
    succeeded: set[int] = field(default_factory=set)
    """Files, gone or going, that another one goes on from: nothing of them needs remembering."""
    renumbered: dict[int, int] = field(default_factory=dict)
    """Devices that are known under another number now."""
    refused: dict[str, str] = field(default_factory=dict)
    told: list[tuple[str, str]] = field(default_factory=list)
    """(path, what was decided about it) where somebody might have decided otherwise."""
    twice_bytes: int = 0
    """That may have been read before, at most."""
    closed: dict[int, Found] = field(default_factory=dict)
    """Files that were listed and could not be opened."""
    shrunk_bytes: int = 0
    """That were known of in files which go on without them."""
    places: Places | None = None
    """As they are once this is registered; None: as they were."""
    is_clean: bool = True

    @property
    def lost_bytes(self) -> int:
        return self.shrunk_bytes + sum(self._lost_with(file) for file in self.departed)

    def _lost_with(self, file: Followed) -> int:
        """Of what was not opened nobody knows whether it was a copy: it counts in any case."""
        is_unread = file.checked or file.waits or file.position > 0
        return file.unopened_bytes + (file.unread_bytes if is_unread else 0)

    def refuse(self, path: str, reason: str) -> None:
        """Bytes of this file, or of what may be there, are not read: the end was not reached."""
        self.refused[path] = reason
        self.is_clean = False

    def tell(self, path: str, what: str, *, twice_bytes: int = 0) -> None:
        self.told.append((path, what))
        self.twice_bytes += twice_bytes
