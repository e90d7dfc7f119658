"""What compressed files hold, for whoever has a handle of them.

To expand is costly and takes memory, so few are under way at a time; how much a file holds is
remembered for as long as the file is as it was.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container

from headwater.reading.expand import Damaged, Expanded, Incomplete
from headwater.store.recognise.identity import ReadAt

Key = tuple[int, int]
"""Device and inode."""
Stamp = tuple[int, int]
"""Size and time of the compressed file."""

EXPANSIONS_MAX = 4
"""That go on between polls: each may take tens of megabytes."""
EXPANDED_BYTES_MAX = 64 << 30
"""Of one file; one that holds more is left alone."""


class TooLarge(OSError):
    """A file that holds more than anybody here expands."""


class Expansions:
    """By device and inode."""

    def __init__(self) -> None:
        self._open: OrderedDict[Key, tuple[Stamp, str, Expanded]] = OrderedDict()
        self._sizes: dict[Key, tuple[Stamp, str, int | OSError]] = {}

    def of(self, key: Key, raw: ReadAt, *, packed: str, stamp: Stamp) -> Expanded:
        known = self._open.get(key)
        if known is None or known[:2] != (stamp, packed):
            known = (stamp, packed, Expanded(raw, suffix=packed))
            self._open[key] = known
        self._open.move_to_end(key)
        while len(self._open) > EXPANSIONS_MAX:
            self._open.popitem(last=False)
        return known[2]

    def size(self, key: Key, raw: ReadAt, *, packed: str, stamp: Stamp) -> int:
        """How much it holds, by reading it to its end once. Raises ``Incomplete``, ``Damaged`` and
        ``TooLarge``, the same ones until the file changes, and what reading it raises."""
        known = self._sizes.get(key)
        if known is None or known[:2] != (stamp, packed):
            known = (stamp, packed, self._measured(key, raw, packed, stamp))
            self._sizes[key] = known
        if isinstance(known[2], OSError):
            raise known[2]
        return known[2]

    def _measured(self, key: Key, raw: ReadAt, packed: str, stamp: Stamp) -> int | OSError:
        try:
            size = Expanded(raw, suffix=packed).size(bytes_max=EXPANDED_BYTES_MAX)
        except (Incomplete, Damaged) as error:
            return error
        finally:
            self._open.pop(key, None)
        if size is None:
            return TooLarge(0, f"holds more than {EXPANDED_BYTES_MAX >> 30} GiB: expand it")
        return size

    def close(self, key: Key) -> None:
        self._open.pop(key, None)

    def keep(self, keys: Container[Key]) -> None:
        """Forget how much others hold."""
        self._sizes = {key: one for key, one in self._sizes.items() if key in keys}
