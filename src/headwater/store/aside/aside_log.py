"""Moving input aside: a stretch of cuts becomes a reading of its own.

See "A stretch that is skipped is a reading by itself". All that belongs to a skip is one
transaction: the stretch and its queries, with the panes that it may touch; links of ours to its
chunks, so that others may read them and let go of them; and, where no query is left that reads
these cuts live, the committed cut moves past them. So every byte is in one of the two readings for
a query, by the number of its cut, and a crash at any point leaves both or neither.

A stretch that grows while nobody has begun to read it stays one: skips that follow each other would
make one for every poll.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from headwater.edge.shedding.choose_skip import Skip
from headwater.errors import StoreBroken
from headwater.plan.readings import aside_number
from headwater.store.disk import explained
from headwater.store.input.cuts import CutLog
from headwater.store.input.source_state import Aside, AsidePanes, SourceState
from headwater.store.manifest import Manifest, Row

CUTS_OF_ONE_MAX = 4_096
"""Of a stretch; what is skipped beyond begins another."""


class AsideLog:
    """Of a cube. Called between batches of the source, by whoever commits them."""

    def __init__(self, manifest: Manifest, cuts: CutLog) -> None:
        self._manifest = manifest
        self._cuts = cuts

    def skip(
        self,
        source: str,
        skips: Mapping[str, Skip],
        *,
        readers: Collection[str],
        may_grow: Callable[[str], bool],
        told: Callable[[dict[str, Aside]], None],
    ) -> None:
        """By query, what of the live cuts is set aside; nothing where that was done. ``readers``:
        the queries that read the source live. ``told`` is called in the hold of the lock in which
        it became durable. Raises ``StoreError`` with nothing changed."""
        state = self._cuts.state(source)
        wanted = self._grouped(state, skips)
        if not wanted:
            return
        links: list[str] = []
        try:
            found = [
                (one, from_cut, through, self._linked(state, from_cut, through, links))
                for (from_cut, through), one in wanted.items()
            ]
            with explained(f"setting input of {source} aside"):
                self._cuts.spool.sync(())
            self._register(state, found, readers=readers, may_grow=may_grow, told=told)
        except StoreBroken:
            raise  # it may be on the disk; what is nobody's is swept at the next start
        except BaseException:
            self._cuts.spool.remove(links, bytes_freed=0)
            raise

    def _grouped(
        self, state: SourceState, skips: Mapping[str, Skip]
    ) -> dict[tuple[int, int], dict[str, Skip]]:
        """By the stretch that is new of it, which several queries may have in common."""
        found: dict[tuple[int, int], dict[str, Skip]] = {}
        for query, skip in sorted(skips.items()):
            from_cut = max(state.committed_cut, self.skipped_through(state.name, query))
            through = min(skip.through_cut, state.last_cut, from_cut + CUTS_OF_ONE_MAX)
            if through > from_cut:
                found.setdefault((from_cut, through), {})[query] = skip
        return found

    def skipped_through(self, source: str, query: str) -> int:
        """Live cuts up to this one are none of the query's to read now; 0: all are."""
        asides = self._cuts.asides_of(source).values()
        return max((one.after_cut for one in asides if one.has(query)), default=0)

    def _linked(
        self, state: SourceState, from_cut: int, through: int, links: list[str]
    ) -> list[Row]:
        """The rows of these cuts, each with a link to its chunk."""
        rows = self._manifest.all(
            "SELECT cut, origin, first_byte, end_byte, poll_s, chunk, bytes, spooled_bytes, "
            "is_doubtful, header FROM cuts "
            "WHERE source = ? AND cut > ? AND cut <= ? AND chunk IS NOT NULL ORDER BY cut",
            (state.id, from_cut, through),
        )
        found: list[Row] = []
        for cut, origin, first, end, poll_s, chunk, *rest in rows:
            path = self._cuts.spool.directory / chunk
            with explained(f"setting {path} aside"):
                links.append(self._cuts.spool.link(f"aside-{state.id}-{cut:09d}", path))
            found.append((cut, origin, first, end, poll_s, links[-1], *rest))
        return found

    def _register(
        self,
        state: SourceState,
        found: list[tuple[dict[str, Skip], int, int, list[Row]]],
        *,
        readers: Collection[str],
        may_grow: Callable[[str], bool],
        told: Callable[[dict[str, Aside]], None],
    ) -> None:
        asides: dict[str, Aside] = {}
        with self._manifest.transaction():
            self._cuts.refuse_forgotten(state)
            for skips, from_cut, through, rows in found:
                if not rows:
                    continue  # all of it is lost, as every reader has been told
                reading, aside = self._one(state, skips, from_cut, through, rows, may_grow)
                asides[reading] = aside
            through = self._read_by_nobody(state, asides, readers)
            if through > state.committed_cut:
                self._cuts.step_over(state, through)
            if asides:
                self._manifest.after_commit(lambda: told(asides))

    def _one(
        self,
        state: SourceState,
        skips: Mapping[str, Skip],
        from_cut: int,
        through: int,
        rows: list[Row],
        may_grow: Callable[[str], bool],
    ) -> tuple[str, Aside]:
        panes = tuple(AsidePanes(id_, one.first, one.last) for id_, one in sorted(skips.items()))
        aside = Aside(through, panes, sum(row[6] for row in rows))
        grown = self._growing(state.name, from_cut, skips.keys(), may_grow)
        if grown is None:
            grown = self._cuts.new_aside(state.name, after_cut=from_cut)
        elif grown.aside is not None:
            aside = grown.aside.grown(aside)
        self._cuts.write_aside(grown, aside, rows)
        return grown.name, aside

    def _growing(
        self, source: str, from_cut: int, queries: Collection[str], may_grow: Callable[[str], bool]
    ) -> SourceState | None:
        """The newest one of the same queries, if it ends where this one begins."""
        asides = self._cuts.asides_of(source)
        own = [name for name, one in asides.items() if one.queries == set(queries)]
        if not own:
            return None
        state = self._cuts.state(max(own, key=aside_number))
        begins = state.last_cut - state.committed_cut
        is_next = asides[state.name].after_cut == from_cut and begins < CUTS_OF_ONE_MAX
        return state if is_next and not state.epoch and may_grow(state.name) else None

    def _read_by_nobody(
        self, state: SourceState, asides: Mapping[str, Aside], readers: Collection[str]
    ) -> int:
        """Cuts up to this one are none of any reader's."""
        through = state.last_cut
        for query in readers:
            new = [one.after_cut for one in asides.values() if one.has(query)]
            through = min(through, max(new, default=self.skipped_through(state.name, query)))
        return through if readers else 0
