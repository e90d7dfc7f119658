"""The compressed files of a followed source: complete ones are read as the lines that they hold.

Rotation compresses what was followed as plain text. So a compressed file is one more file that may
go on from another (``copies``): it is compared by what it holds, and nothing else about it differs,
once it is known how much that is. A listing is sorted out for that:

- one that was there when the source began is not ours, and not worth expanding: it is known by its
  inode, its size and its time, since rotation renames it again and again;
- one that does not come to its own end is still being written, or damaged. It is left alone and
  named until it changes; of one that was read before, what was known of it stays;
- of all others the listing says how much they hold.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.store.follow.directories import reason_of
from headwater.store.follow.file_table import FileTable
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Archive, Found, Listing
from headwater.store.follow.open_files import OpenFiles

BEGUN_AFTER_ALL = "compressed, and there before its directory was first seen: begun after its end"

NOT_KNOWN = -1


class Archives:
    """Asked at the beginning of each poll."""

    def __init__(self, files: FileTable, open_files: OpenFiles) -> None:
        self._files = files
        self._open_files = open_files

    def sort_out(self, listing: Listing, *, is_old: Callable[[Found], bool]) -> None:
        """``is_old``: whether one that is met for the first time was there before."""
        packed = {key: found for key, found in listing.matching.items() if found.packed}
        for key, found in packed.items():
            file = self._files.at(key)
            known = file if file is not None and file.packed else None
            if known is None and is_old(found):
                listing.old_archives.add(archive(found))
                del listing.matching[key]
                continue
            measured = self._measured(found, known, listing)
            if measured is None:
                del listing.matching[key]
            else:
                listing.matching[key] = measured
        self._open_files.expansions.keep(packed)

    def _measured(self, found: Found, known: Followed | None, listing: Listing) -> Found | None:
        if known is not None and _is_as_it_was(found, known):
            return holding(found, known.size_seen)
        try:
            size = self._open_files.content_size(found.key, found.path, found.packed)
        except FileNotFoundError:
            return None
        except OSError as error:
            listing.refused[found.path] = reason_of(error)
            if error.errno:  # nobody knows what is in it
                listing.unlisted[found.path] = reason_of(error)
            is_known = known is not None and (bool(error.errno) or _may_have_grown(found, known))
            return _holding_as_known(found, known) if known is not None and is_known else None
        return holding(found, size)


def archive(found: Found) -> Archive:
    """What an old one is known by."""
    return (found.inode, found.size, found.modified_ns)


def holding(found: Found, size: int) -> Found:
    return msgspec.structs.replace(found, size=size, packed_size=found.size)


def _may_have_grown(found: Found, known: Followed) -> bool:
    """Whether one that is incomplete now may be the one that was read; else its inode has been
    given to another, and that is not there yet."""
    return found.path == known.path and found.size >= max(1, known.packed_size)


def _holding_as_known(found: Found, known: Followed) -> Found:
    """How much it holds now is not known: it is to be asked again, also if it does not change."""
    return msgspec.structs.replace(found, size=known.size_seen, packed_size=NOT_KNOWN)


def _is_as_it_was(found: Found, known: Followed) -> bool:
    """Nobody expands it again after a restart."""
    seen = (known.packed, known.packed_size, known.modified_ns)
    return known.packed_size > 0 and (found.packed, found.size, found.modified_ns) == seen
