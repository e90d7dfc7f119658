"""A finite input: files that are complete, each read once, as it is.

``headwater try`` asks a question about files that are there. They are not copied: a hard link in
the spool, or where that can't be made the file's own path, is the chunk. Compressed files are
welcome (Spark reads them), and a last line needs no newline. All files are registered by the first
poll, in one transaction; what appears later is not part of the input.
"""

from __future__ import annotations

from pathlib import Path

from headwater.errors import DiskFull
from headwater.store.chunk import NewCut
from headwater.store.cuts import CutLog
from headwater.store.disk import Disk
from headwater.store.listing import Found, Glob
from headwater.store.poll import REFUSED_SHOWN_MAX, Poll


class FiniteInput:
    """The same verbs as a ``LogFollower``."""

    def __init__(
        self,
        cuts: CutLog,
        *,
        source: str,
        directory: Path,
        pattern: str,
        disk: Disk | None = None,
    ) -> None:
        self.source = source
        self._cuts = cuts
        self._disk = disk or cuts.disk
        self._glob = Glob(directory, pattern, disk=self._disk, compressed=True)
        self._state = cuts.open_source(source, ends=True)

    def poll(self, *, now_s: float) -> Poll:
        """Register all files at the first call; afterwards only tell how far they are read."""
        refused: dict[str, str] = {}
        new: list[NewCut] = []
        stalled = ""
        if not self._state.is_begun:
            listing = self._glob.look()
            refused = listing.refused
            found = sorted(listing.matching.values(), key=lambda one: one.path)
            new = self._offered(found, refused)
            stalled = self._register(new, now_s=now_s)
        is_clean = not stalled
        report = self._cuts.polled(self._state, started_s=now_s, is_clean=is_clean)
        return Poll(
            started_s=now_s,
            files=self._state.last_cut,
            cuts=len(new) if is_clean else 0,
            bytes=sum(cut.bytes for cut in new) if is_clean else 0,
            is_clean=is_clean,
            stalled=stalled,
            refused=tuple(sorted(refused.items())[:REFUSED_SHOWN_MAX]),
            report=report if self._state.is_begun else None,
        )

    def close(self) -> None:
        """There is nothing to let go of."""

    def _offered(self, found: list[Found], refused: dict[str, str]) -> list[NewCut]:
        cuts = []
        for file in found:
            if file.size == 0:
                continue
            try:
                self._disk.close(self._disk.open(file.path))
            except OSError as error:
                refused[file.path] = error.strerror or str(error)
                continue
            chunk = self._chunk(Path(file.path))
            cuts.append(NewCut(file.path, 0, file.size, chunk, file.size, 0))
        return cuts

    def _chunk(self, path: Path) -> str:
        try:
            return self._cuts.spool.link(f"{self._state.id}-file", path)
        except OSError:
            return str(path.resolve())

    def _register(self, cuts: list[NewCut], *, now_s: float) -> str:
        """Empty, or why it was not possible now."""
        try:
            self._cuts.spool.sync(())
            self._cuts.register(self._state, cuts, poll_s=now_s)
        except (DiskFull, OSError) as error:
            ours = [cut.chunk for cut in cuts if not Path(cut.chunk).is_absolute()]
            self._cuts.spool.remove(ours, bytes_freed=0)
            return str(error)
        return ""
