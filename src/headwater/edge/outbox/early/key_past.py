"""What earlier panes of a query teach about the next: rates and values of keys, and how many large
ones are still to come at a time of the pane.

Held beside the books of its panes, of which several may be open at once; each book looks a key up
when it meets it first. Bounded: beyond ``outbox_keys_max`` the rarest are forgotten.
"""

from __future__ import annotations

import numpy as np

from headwater.algebra.remainders.withholding import Floats
from headwater.edge.outbox.early.contest import Contest
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_columns import KeyColumns, Keys, Slots

FORGOTTEN = 0.05
"""Records a pane: a key that came once is remembered for four panes."""
NEVER_SEEN = -1.0


class KeyPast:
    """One query."""

    def __init__(self, config: EarlyConfig, *, column_count: int) -> None:
        self._config = config
        self._keys: Keys = np.zeros(0, dtype=np.uint64)
        self._records: Floats = np.zeros(0)
        self._sums: Floats = np.zeros((column_count, 0))
        self._squares: Floats = np.zeros((column_count, 0))
        self.mean_records = 1.0
        """Of a key in a pane, over all of its keys."""
        self.mean_value: Floats = np.zeros(column_count)
        """Of one record."""
        self.mean_square: Floats = np.zeros(column_count)
        self.first_by_error: Floats = np.zeros(0)
        """When in the last pane each of its keys came first, as shares of the pane; the key with
        the largest error first, had it never been sent."""
        self.first_of_due: Floats = np.zeros(0)
        """The same of keys that had to go, where an error is bounded."""
        self.threshold = 0.0
        """Under a staleness bound: the error that was reached in the last pane."""
        self.contest = Contest(config.contest_panes)

    @property
    def key_count(self) -> int:
        return len(self._keys)

    def look_up(self, columns: KeyColumns, slots: Slots) -> None:
        """Fills in what is known of keys that are new in their pane."""
        keys = columns.keys[slots]
        columns.past_records[slots] = NEVER_SEEN
        if not len(self._keys):
            return
        at = np.searchsorted(self._keys, keys)
        at[at == len(self._keys)] = 0
        known = self._keys[at] == keys
        at, there = at[known], slots[known]
        columns.past_records[there] = self._records[at]
        columns.past_sums[:, there] = self._sums[:, at]
        columns.past_squares[:, there] = self._squares[:, at]

    def large_ahead(self, share: float, *, capacity: float) -> int:
        """f(t): of as many of the last pane's largest keys as the link carries in this one, how
        many came first after this time of the pane. How many can go is this link's to say, not the
        last pane's: otherwise a link that has become narrow would wait for keys that it can't
        carry."""
        largest = self.first_by_error[: max(0, int(min(capacity, len(self.first_by_error))))]
        return int((largest > share).sum())

    def due_ahead(self, share: float) -> int:
        """How many keys that had to go came first after this time of the last pane."""
        return int((self.first_of_due > share).sum())

    def learn(self, columns: KeyColumns) -> None:
        """A pane is over."""
        count = columns.count
        if not count:
            return
        records, sums = columns.records[:count], columns.sums[:, :count]
        squares = columns.squares[:, :count]
        total = max(1.0, float(records.sum()))
        self.mean_records = total / count
        self.mean_value, self.mean_square = sums.sum(axis=1) / total, squares.sum(axis=1) / total
        self._merge(columns.keys[:count], records, sums, squares)

    def _merge(self, keys: Keys, records: Floats, sums: Floats, squares: Floats) -> None:
        new = self._config.past_weight
        joint, at = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        old_at, new_at = at[: len(self._keys)], at[len(self._keys) :]
        # A key that was never seen before begins with what this pane says of it.
        weight = np.ones(len(joint))
        weight[old_at] = new

        def mixed(old: Floats, now: Floats) -> Floats:
            found = np.zeros(len(joint))
            found[old_at] = (1.0 - new) * old
            found[new_at] += weight[new_at] * now
            return found

        self._keys, self._records = joint, mixed(self._records, records)
        self._sums = np.stack([mixed(old, now) for old, now in zip(self._sums, sums, strict=True)])
        self._squares = np.stack(
            [mixed(old, now) for old, now in zip(self._squares, squares, strict=True)]
        )
        self._forget(self._config.outbox_keys_max)

    def let_go(self, keys_left: int) -> None:
        """All but so many, or fewer, are forgotten: the rarest."""
        self._forget(keys_left)

    def _forget(self, keys_max: int) -> None:
        kept = self._records >= FORGOTTEN
        if keys_max <= 0:
            kept[:] = False
        elif int(kept.sum()) > keys_max:
            least = np.partition(self._records, len(kept) - keys_max)[len(kept) - keys_max]
            kept &= self._records > least
        self._keys, self._records = self._keys[kept], self._records[kept]
        self._sums, self._squares = self._sums[:, kept], self._squares[:, kept]
