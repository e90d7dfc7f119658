"""Which files hold a source's past, and up to where: the bytes that the live reading leaves to it.

The live reading knows of each file how far it has come; what lies below it has read before the
query was there, or has begun after. Compressed files that were there before the live reading began
it never opens: they are the past's as a whole. All else is the live reading's own: a file that has
just appeared, and one of which it is not known yet whether it is a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Found, Listing
from headwater.store.follow.places import Places
from headwater.store.input.archives import archive
from headwater.store.past.past_file import UNMEASURED, PastFile
from headwater.store.recognise.identity import Print


def past_files(followed: list[Followed], places: Places | None, listing: Listing) -> list[PastFile]:
    """As the live reading's newest registered poll has them; the oldest first."""
    found = [_of_live(file) for file in followed if _has_past(file)]
    known = {one.file.key for one in found}
    found += [_of_archive(one) for one in _old_archives(places, listing) if one.key not in known]
    found.sort(key=lambda one: (one.file.modified_ns, one.file.path))
    return [
        one.read_on(msgspec.structs.replace(one.file, id=number))
        for number, one in enumerate(found, start=1)
    ]


def _has_past(file: Followed) -> bool:
    return file.departed_s is None and file.checked and file.position > 0


def _of_live(file: Followed) -> PastFile:
    own = Followed(
        0,
        file.device,
        file.inode,
        file.path,
        checked=True,
        size_seen=file.size_seen,
        modified_ns=file.modified_ns,
        packed=file.packed,
        packed_size=file.packed_size,
    )
    is_torn = file.skipping and file.print.checksum is None
    proof = msgspec.structs.replace(file.print, rungs=())
    return PastFile(own, file.position, is_torn, proof)


def _old_archives(places: Places | None, listing: Listing) -> Iterator[Found]:
    for found in listing.matching.values():
        if places is not None and found.packed and archive(found) in places.archives:
            yield found


def _of_archive(found: Found) -> PastFile:
    own = Followed(
        0,
        found.device,
        found.inode,
        found.path,
        Print(),
        checked=True,
        modified_ns=found.modified_ns,
        packed=found.packed,
        packed_size=found.size,
    )
    return PastFile(own, UNMEASURED)
