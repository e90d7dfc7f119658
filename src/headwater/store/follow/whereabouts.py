"""Whether a file that is in no listing is gone, or only out of sight.

A file is *gone* when the directory in which it was has been listed, is still on the same device,
and does not have it; or when that directory itself has been removed from a place of which the same
holds. In all other cases its whereabouts are unknown, and it stays as it is remembered: the
directory could not be listed, its file system is not mounted (the empty mount point is on another
device), or the path is a link that leads nowhere now.
"""

from __future__ import annotations

import os.path

from headwater.store.disk import Disk
from headwater.store.follow.directories import leads_nowhere, reason_of
from headwater.store.follow.followed_file import Followed
from headwater.store.follow.listing import Listing

OTHER_DEVICE = "another file system is there than the one that held it; is it mounted?"


class Whereabouts:
    """For the files of one listing."""

    def __init__(self, listing: Listing, disk: Disk) -> None:
        self._listing = listing
        self._disk = disk
        self._nearest: dict[str, int | str] = {}

    def why_unknown(self, file: Followed) -> str:
        """Empty: the file is gone."""
        listing = self._listing
        if file.path in listing.dangling:
            return "the link leads nowhere"
        for place in _upwards(file.path):
            if place in listing.unlisted:
                return listing.unlisted[place]
        directory = os.path.dirname(file.path)
        if directory in listing.partial:
            return "some entries of its directory could not be looked at"
        device: int | str
        if directory in listing.listed:
            device = listing.listed[directory]
        else:
            device = self._device_above(directory)
        if isinstance(device, str):
            return device
        return "" if file.place in (0, device) else OTHER_DEVICE

    def _device_above(self, directory: str) -> int | str:
        """The device of the nearest folder that is still there, or why that is not known."""
        if directory not in self._nearest:
            self._nearest[directory] = self._look_above(directory)
        return self._nearest[directory]

    def _look_above(self, directory: str) -> int | str:
        for place in _upwards(directory):
            try:
                status = self._disk.stat(place)
            except OSError as error:
                if not leads_nowhere(error):
                    return reason_of(error)
                continue
            return status.st_dev if place != directory else "its directory is there again"
        return "no directory above it is there"


def _upwards(path: str) -> list[str]:
    """The path and all above it.

    >>> _upwards("/logs/a/b.log")
    ['/logs/a/b.log', '/logs/a', '/logs', '/']
    """
    places = [path]
    while (parent := os.path.dirname(places[-1])) != places[-1]:
        places.append(parent)
    return places
