"""How keys of a pane may leave before its close: what the settings that hold for it say.

A query may be installed without a bound and get one while it runs, or lose it. Panes that begin
with the former settings go on by them, so a site may have open panes of both kinds at once.
"""

from __future__ import annotations

import msgspec
import numpy as np

from headwater.algebra.panes import MICROS
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.remainders.withholding import Added, Floats, Largest
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.look import Measure
from headwater.edge.report import PaneKeys
from headwater.plan.altered.settings import Settings
from headwater.plan.query import Query


class EarlyPlan(msgspec.Struct, frozen=True):
    query: Query
    """As if it had been installed with these settings."""
    config: EarlyConfig
    count: int
    """Of rounds; 1: nothing leaves early."""
    names: tuple[str, ...]
    """Of the partials by which keys matter."""

    @classmethod
    def of(cls, query: Query, settings: Settings | None, *, keys_max: int) -> EarlyPlan:
        """``settings``: None: those of the install."""
        asked = query if settings is None else settings.on(query)
        partition = "size" if asked.tolerates is None else "error"
        config = EarlyConfig(outbox_keys_max=keys_max, partition=partition)
        return cls(asked, config, asked.round_count, asked.early_measures)

    @property
    def is_used(self) -> bool:
        return self.count > 1

    @property
    def round_s(self) -> float:
        return self.query.window.pane_us / MICROS / self.count

    @property
    def tolerance(self) -> Tolerance | None:
        """None: a staleness is bounded, and the error follows."""
        return self.query.tolerates

    @property
    def past(self) -> tuple[str, tuple[str, ...]]:
        """Panes of which this is the same learn from each other."""
        return self.config.partition, self.names

    @property
    def column_count(self) -> int:
        return max(1, len(self.names))

    def measures(self, part: float | None) -> tuple[Measure, ...]:
        """By what keys matter: the columns that an error is asked of, or all that add up.
        ``part``: of an absolute bound; None: an even one."""
        tolerance, panes = self.tolerance, self.query.window.panes_per_window
        if tolerance is None:
            return tuple(Measure(Added()) for _ in range(self.column_count))
        return tuple(
            Measure(
                Largest(floor=0.0) if one.is_largest else Added(),
                one.bound,
                tolerance.share(one, panes=panes, part=part),
            )
            for one in tolerance.columns
        )

    def values(self, batch: PaneKeys) -> Floats | None:
        """Of the batch, by these measures; None: it was measured before these settings were known,
        by others."""
        said = batch.measures
        if said in ((), self.names):
            return batch.values if len(batch.values) == self.column_count else None
        if not self.names or not set(self.names) <= set(said):
            return None
        return np.asarray(batch.values[[said.index(name) for name in self.names]])
