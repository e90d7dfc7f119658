"""What an edge wants written, done to the manifest in order, inside one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.algebra.words.site_state import Reason
from headwater.edge.outputs import UpdatesMade
from headwater.node import effects as fx
from headwater.store.cube.cube_queries import CubeQueries
from headwater.store.cube.early.early_maker import EarlyMaker, PreparedEarly
from headwater.store.cube.state_maker import PreparedStates, StateMaker
from headwater.store.cube.update_maker import LISTED, PreparedUpdates, UpdateMaker
from headwater.store.manifest import Manifest


class CubeWriter:
    """The methods of the table of effects; ``loosened`` and ``removed`` say what may be freed
    after."""

    def __init__(
        self,
        manifest: Manifest,
        queries: CubeQueries,
        maker: UpdateMaker,
        states: StateMaker,
        prepared: Sequence[PreparedUpdates | PreparedStates | PreparedEarly] = (),
        *,
        early: EarlyMaker,
        now_s: float,
    ) -> None:
        """``prepared``: one for each ``MakeUpdates`` and ``MakeEarly`` that comes."""
        self.loosened: set[int] = set()
        """Segments that lost a stretch: nobody may need them any more."""
        self.removed: list[str] = []
        """Files of forgotten queries."""
        self._manifest = manifest
        self._queries = queries
        self._maker = maker
        self._states = states
        self._early = early
        self._prepared = iter(prepared)
        self._now_s = now_s

    def make_updates(self, write: fx.MakeUpdates) -> list[UpdatesMade]:
        prepared = next(self._prepared)
        assert not isinstance(prepared, PreparedEarly), "they come in their order"
        self.loosened.update(prepared.loosened)
        if isinstance(prepared, PreparedStates):
            return self._states.write(prepared, now_s=self._now_s)
        return self._maker.write(prepared, now_s=self._now_s)

    def make_early(self, write: fx.MakeEarly) -> list[UpdatesMade]:
        prepared = next(self._prepared)
        assert isinstance(prepared, PreparedEarly), "they come in their order"
        made, loose = self._early.write(prepared, now_s=self._now_s)
        self.loosened.update(loose)
        return made

    def roll_up(self, write: fx.RollUp) -> list[UpdatesMade]:
        """The level names the same stretches, until its own update is made of them: of what was
        made of the panes, and of what waits there."""
        full = self._queries.write_record(write.query, write.record)
        level = self._queries.write_record(write.level, write.level_record)
        self._manifest.run(
            "INSERT INTO panes (query, pane, written_s) VALUES (?, ?, ?) ON CONFLICT DO "
            "UPDATE SET written_s = excluded.written_s, is_dropped = 0",
            (level, write.pane, self._now_s),
        )
        panes = (full, str(list(write.panes)))
        self._manifest.run(
            "INSERT OR IGNORE INTO parts SELECT ?, ?, segment, first_row, rows FROM updates "
            f"WHERE query = ? AND pane IN {LISTED} AND number > 0 "
            "UNION ALL SELECT ?, ?, segment, first_row, rows FROM parts "
            f"WHERE query = ? AND pane IN {LISTED}",
            (level, write.pane, *panes, level, write.pane, *panes),
        )
        return [UpdatesMade(write.level, write.pane, 1, 0, is_rolled_up=True)]

    def remember(self, write: fx.Remember) -> None:
        self._queries.write_record(write.query, write.record)

    def mark_sent(self, write: fx.MarkSent) -> None:
        """For a next life: this one knows what it has sent."""
        if not self._manifest.is_kept:
            return
        number = self._queries.number(write.query)
        self._manifest.run_many(
            "UPDATE updates SET is_sent = 1 "
            "WHERE query = ? AND pane = ? AND number BETWEEN ? AND ?",
            ((number, *update) for update in write.updates),
        )

    def mark_unacked(self, write: fx.MarkUnacked) -> None:
        number = self._queries.number(write.query)
        self._manifest.run("UPDATE panes SET is_acked = 0 WHERE query = ?", (number,))

    def mark_acked(self, write: fx.MarkAcked) -> None:
        number = self._queries.write_record(write.query, write.record)
        self._manifest.run_many(
            "UPDATE panes SET is_acked = 1 "
            "WHERE query = ? AND is_acked = 0 AND pane BETWEEN ? AND ?",
            ((number, first, last) for first, last in write.panes),
        )
        done = (number, write.done_through)
        self._manifest.run(
            "UPDATE panes SET is_acked = 1 WHERE query = ? AND is_acked = 0 AND pane < ?", done
        )
        self._manifest.run(
            "DELETE FROM panes WHERE query = ? AND is_dropped = 1 AND pane < ?", done
        )
        self._queries.forget_over(write.query, below=write.done_through)

    def expire(self, write: fx.Expire) -> None:
        number = self._queries.write_record(write.query, write.record)
        for pane in write.panes:
            self.drop_rows(number, pane)
            self._manifest.run("DELETE FROM panes WHERE query = ? AND pane = ?", (number, pane))
            self._queries.end_pane(write.query, pane, Reason.EXPIRED)

    def drop_rows(self, number: int, pane: int) -> None:
        for table in ("parts", "updates"):
            rows = self._manifest.all(
                f"DELETE FROM {table} WHERE query = ? AND pane = ? RETURNING segment",
                (number, pane),
            )
            self.loosened.update(segment for (segment,) in rows)

    def forget(self, write: fx.Forget) -> None:
        rows = self._manifest.all(
            "SELECT segments.name FROM segments JOIN queries ON queries.id = segments.query "
            "WHERE queries.name = ? AND is_damaged = 0",
            (self._manifest.name_prefix + write.query,),
        )
        self.removed += [name for (name,) in rows]
        self._queries.forget(write.query)
