"""Merged rows on their way into segments: together where they are few, in portions where many.

A tick may cut the panes of many queries. Their rows go to the disk in one call, for a call costs
a sync of the directory; but what waits for it is in memory, so there is a limit, at which all that
has gathered is written. A segment belongs to one query and is never larger than that.
"""

from __future__ import annotations

import pyarrow as pa

from headwater.store.pane_segments import AnySegments, PaneSegments, Stretch, with_pane
from headwater.store.segments import Segment

WAITING_BYTES_MAX = 32 << 20
"""Rows that wait to be written, as Arrow holds them."""


class Image:
    """A segment in the making."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.tables: list[pa.Table] = []
        self.rows = 0
        self.segment: Segment | None = None
        """None until it is on the disk."""


Piece = tuple[Image, int, int]
"""Rows of one pane: where they lie, the first of them in it, how many."""


def named(segments: PaneSegments, query: int, piece: Piece, files: dict[str, int]) -> Stretch:
    """Inside a transaction. ``files``: the numbers of those that were named before, by file."""
    image, first_row, rows = piece
    assert image.segment is not None, "what is numbered is on the disk"
    if image.segment.name not in files:
        files[image.segment.name] = segments.add(query, image.segment)
    return Stretch(files[image.segment.name], first_row, rows)


class ImagePacker:
    """For one write of the cube; ``flush`` comes last."""

    def __init__(self, store: AnySegments) -> None:
        self._store = store
        self._open: dict[str, Image] = {}
        self._alone: list[Image] = []
        self._waiting_bytes = 0
        self.names: list[str] = []
        """Of all segments that were written, for whoever undoes it."""

    def add(self, query: str, pane: int, rows: pa.Table) -> tuple[Image, int]:
        """Where these rows of a pane will be: an image, and the first row in it."""
        image = self._open.setdefault(query, Image(query))
        first_row = image.rows
        image.tables.append(with_pane(rows, pane))
        image.rows += rows.num_rows
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= WAITING_BYTES_MAX:
            self.flush()
        return image, first_row

    def add_alone(self, query: str, rows: pa.Table) -> Image:
        """A segment for these rows only, which have their panes beside them."""
        image = Image(query)
        image.tables, image.rows = [rows], rows.num_rows
        self._alone.append(image)
        self._waiting_bytes += rows.nbytes
        return image

    def flush(self) -> None:
        """Write what waits. Raises ``DiskFull`` or ``DiskTrouble`` with none of it written."""
        images = [*self._open.values(), *self._alone]
        if not images:  # most writes cut nothing
            return
        tables = ((image.query, pa.concat_tables(image.tables)) for image in images)
        for image, segment in zip(images, self._store.write(tables), strict=True):
            image.segment = segment
            image.tables = []
            self.names.append(segment.name)
        self._open, self._alone = {}, []
        self._waiting_bytes = 0
