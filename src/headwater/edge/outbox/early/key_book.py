"""Where each key of one pane of a query stands: what was sent of it, what was not.

The edge as a cache in two parts (Heintz et al., section 4). Arrivals are added; when the link has
room it pulls the next bytes, and gets the keys that are best sent now, each with all that is unsent
of it at that moment. So what leaves is always the newest value, and nothing waits in a queue behind
what has become more urgent.

::

    add ──► secondary ──partition──► primary ──pick──► take, while the pane is open
                                                close ──flush──► take, in the order of errors
                                                                 end: later panes learn from it

A pick that predicts is held against ``lru`` in the shadow (``contest``).

*Bounded.* Beyond ``outbox_keys_max``, or the site's limit (``site_keys``), the smallest keys are
put aside (``aside``): they are never early, and stay back at the close as long as none of them can
be off by too much. A key that is new after others were put aside may have been among them, so it is
*doubtful*: it isn't sent early either, its error counts with theirs, and must go where they must.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.withholding import Floats, allowed
from headwater.edge.outbox.early.aside import Aside
from headwater.edge.outbox.early.contest import YIELDS_TO, picks_of
from headwater.edge.outbox.early.early_config import EarlyConfig
from headwater.edge.outbox.early.key_columns import Hand, KeyColumns, Keys, Slots
from headwater.edge.outbox.early.key_past import KeyPast
from headwater.edge.outbox.early.look import Look, Measure, weights_of
from headwater.edge.outbox.early.partition import PARTITIONS
from headwater.edge.outbox.early.pick import PICKS
from headwater.errors import ConfigurationError

KEPT_SHARE = 0.875
"""Of the keys that are followed, when the smallest are put aside: not at every new key."""


class KeyBook:
    """One pane of one query. Times are in seconds of one clock."""

    def __init__(
        self,
        measures: Sequence[Measure],
        past: KeyPast,
        config: EarlyConfig,
        *,
        start_s: float,
        pane_s: float,
        chance: np.random.Generator,
    ) -> None:
        _check(config, measures)
        self._measures, self._past, self._config = tuple(measures), past, config
        self._start_s, self._pane_s, self._chance = start_s, pane_s, chance
        self._columns = KeyColumns(len(measures))
        self._picks = picks_of(config.pick, yields=past.contest.yields)
        """The first one sends."""
        rules = tuple(measure.rule for measure in measures)
        self._hands = tuple(Hand(rules) for _ in self._picks)
        self._aside = Aside(self._measures)
        self._flush: Slots | None = None
        self._taken = 0

    # What is known

    @property
    def key_count(self) -> int:
        """Of keys that are followed."""
        return self._columns.count

    @property
    def pick(self) -> str:
        """The name of the one that sends."""
        return self._picks[0]

    @property
    def sends(self) -> int:
        """Keys sent so far, each time counted."""
        return int(self._hands[0].sends[: self.key_count].sum())

    def left_bytes(self) -> int:
        """Of the flush, when the pane is closed."""
        assert self._flush is not None
        return int(self._columns.sizes[self._flush[self._taken :]].sum())

    @property
    def again(self) -> int:
        """Of the keys sent, those that had been sent before."""
        return int(np.maximum(self._hands[0].sends[: self.key_count] - 1, 0).sum())

    def waiting_bytes(self) -> float:
        """What would be left for the flush, were the pane closed now."""
        return self._bytes_above(self._final_weights(self._hands[0]))

    def due_bytes(self) -> float:
        """What the flush would be, had nothing been sent before."""
        return self._bytes_above(weights_of(self._never_sent(), self._limits(self._hands[0])))

    def _bytes_above(self, weights: Floats) -> float:
        is_above = weights > (1.0 if self._bounds_error else 0.0)
        return float(self._columns.sizes[: self.key_count][is_above].sum())

    def errors(self) -> Floats:
        """The largest error of withholding what is unsent now, by column."""
        return np.asarray(self._hands[0].errors(self.key_count).max(axis=1, initial=0.0))

    # An open pane

    def add(
        self, keys: Keys, values: Floats, *, records: Floats, row_bytes: int, now_s: float
    ) -> None:
        """Partial rows of a batch: each key once, ``values`` by column and then by key."""
        assert self._flush is None, "a closed pane gets late updates, not early ones"
        columns = self._columns
        slots = columns.find(keys)
        is_new = slots < 0
        if is_new.any():
            slots[is_new] = self._enter(keys[is_new], row_bytes=row_bytes, now_s=now_s)
        columns.records[slots] += records
        columns.last_s[slots] = now_s
        for n, value in enumerate(values):
            columns.sums[n, slots] += value
            columns.squares[n, slots] += value * value / records
        for hand in self._hands:
            hand.arrive(slots, values)
        if self.key_count > self._config.outbox_keys_max:
            self.let_go(int(self._config.outbox_keys_max * KEPT_SHARE))

    def take(
        self, bytes_max: int, *, now_s: float, ahead_bytes: float = 0.0, keys_min: int = 0
    ) -> Keys:
        """The next keys to send, as many as fit; they count as sent. ``ahead_bytes`` is what the
        link will carry until the deadline, these included; where an error is bounded: until the
        close, 0 if that is not known. Fewer than ``keys_min`` leave only if no others matter."""
        if self._flush is not None:
            return self._take_flush(bytes_max)
        chosen = [
            self._choose(hand, pick, bytes_max, keys_min, now_s=now_s, ahead_bytes=ahead_bytes)
            for hand, pick in zip(self._hands, self._picks, strict=True)
        ]
        return self._columns.keys[chosen[0]]

    # A closed one

    def close(self, *, ahead_bytes: float = 0.0) -> None:
        """Nothing more is added. What must go is taken as before, the largest error first: wherever
        the flush is cut off, the error is as small as it can be."""
        if len(self._hands) > 1:
            ahead = ahead_bytes / self.row_bytes()
            owed = (self._debt(hand, ahead) for hand in self._hands)
            debts = dict(zip(self._picks, owed, strict=True))
            other = debts[YIELDS_TO[self._config.pick]]
            self._past.contest.score(preferred=debts[self._config.pick], other=other)
        weights = self._final_weights(self._hands[0])
        above = np.flatnonzero(weights > (1.0 if self._bounds_error else 0.0))
        self._flush = above[np.argsort(-weights[above], kind="stable")]

    def end(self) -> None:
        """The flush is over, and later panes learn from it."""
        assert self._flush is not None, "the pane is not closed"
        self._past.learn(self._columns)
        if self._bounds_error:
            self._learn_due()
        else:
            errors = self._hands[0].errors(self.key_count)
            self._learn_large(weights_of(errors, self._limits(self._hands[0])))

    # Entering, and being put aside

    def _enter(self, keys: Keys, *, row_bytes: int, now_s: float) -> Slots:
        columns = self._columns
        slots = columns.add(keys)
        for hand in self._hands:
            hand.grow(columns.room)
        columns.first_s[slots] = now_s
        columns.sizes[slots] = row_bytes
        columns.is_doubtful[slots] = bool(self._aside)
        self._past.look_up(columns, slots)
        return slots

    def let_go(self, keys_left: int) -> None:
        """All but so many are put aside: the smallest, by what is unsent of them."""
        hand = self._hands[0]
        weights = weights_of(hand.errors(self.key_count), self._limits(hand))
        order = np.argsort(weights, kind="stable")
        cut = self.key_count - keys_left
        self._aside.put(self._columns, hand, order[:cut])
        kept = np.sort(order[cut:])
        self._columns.keep(kept)
        for one in self._hands:
            one.keep(kept)

    # What matters, and how much

    @property
    def _bounds_error(self) -> bool:
        return self._config.partition == "error"

    @property
    def _totals(self) -> Floats:
        """The site's own, by column, so far."""
        found: Floats = self._columns.sums[:, : self.key_count].sum(axis=1)
        return found + self._aside.totals

    @property
    def _is_aside_sent(self) -> bool:
        return bool(self._aside) and self._aside.must_go(self._totals.tolist())

    def row_bytes(self) -> float:
        return float(self._columns.sizes[: self.key_count].mean()) if self.key_count else 1.0

    def bytes_of(self, key_count: int) -> int:
        """What so many of its keys take at the most."""
        sizes = self._columns.sizes[: self.key_count]
        return min(key_count, self.key_count) * int(sizes.max(initial=1))

    def _limits(self, hand: Hand) -> list[Floats | float]:
        """What may be withheld of each column; where no error is bounded, what its errors are
        divided by."""
        totals = self._totals
        is_aside_kept = bool(self._aside) and not self._is_aside_sent
        found: list[Floats | float] = []
        for n, measure in enumerate(self._measures):
            limit = self._limit(n, hand, float(totals[n]))
            if is_aside_kept and measure.bound is not None and measure.rule.adds:
                doubtful = self._columns.is_doubtful[: self.key_count]
                limit = np.where(doubtful, np.maximum(limit - self._aside.errors[n], 0.0), limit)
            found.append(limit)
        return found

    def _limit(self, column: int, hand: Hand, total: float) -> Floats | float:
        measure = self._measures[column]
        if measure.bound is None:
            return 1.0 if len(self._measures) == 1 else max(total, 1e-300)
        values = np.zeros(0)
        if measure.bound.form is ErrorForm.VALUE:
            values = self._values(column, hand)
        return allowed(measure.bound, measure.rule, share=measure.share, total=total, values=values)

    def _values(self, column: int, hand: Hand) -> Floats:
        """Sent and unsent together."""
        count = self.key_count
        rule = self._measures[column].rule
        return rule.merge(hand.sent[column, :count], hand.unsent[column, :count])

    def _final_weights(self, hand: Hand) -> Floats:
        weights = weights_of(hand.errors(self.key_count), self._limits(hand))
        if self._is_aside_sent:
            weights[self._columns.is_doubtful[: self.key_count]] = np.inf
        return weights

    # Sending

    def _choose(
        self,
        hand: Hand,
        pick: str,
        bytes_max: int,
        keys_min: int,
        *,
        now_s: float,
        ahead_bytes: float,
    ) -> Slots:
        columns = self._columns
        if not columns.count:
            return np.zeros(0, dtype=np.intp)
        look = Look(
            columns,
            hand,
            self._measures,
            self._limits(hand),
            self._past,
            self._config,
            now_s=now_s,
            start_s=self._start_s,
            pane_s=self._pane_s,
            ahead_keys=ahead_bytes / self.row_bytes(),
        )
        if self._aside:
            look.weights[columns.is_doubtful[: columns.count]] = 0.0
        count_max = bytes_max // max(1, int(columns.sizes[: columns.count].min()))
        part = PARTITIONS[self._config.partition](look)
        chosen = PICKS[pick](look, part, count_max, self._chance)
        chosen = chosen[np.cumsum(columns.sizes[chosen]) <= bytes_max]
        if len(chosen) < min(keys_min, len(part.primary)):
            chosen = chosen[:0]
        hand.send(chosen)
        return chosen

    def _take_flush(self, bytes_max: int) -> Keys:
        assert self._flush is not None
        left = self._flush[self._taken :]
        chosen = left[np.cumsum(self._columns.sizes[left]) <= bytes_max]
        self._taken += len(chosen)
        self._hands[0].send(chosen)
        return self._columns.keys[chosen]

    # After it

    def _debt(self, hand: Hand, ahead: float) -> float:
        """What a hand has left to do at the close: keys above the bound, or the error that the
        deadline leaves."""
        weights = self._final_weights(hand)
        if self._bounds_error:
            return float((weights > 1.0).sum())
        if ahead >= len(weights):
            return 0.0
        place = len(weights) - 1 - int(ahead)
        return float(np.partition(weights, place)[place])

    def _learn_due(self) -> None:
        """When the keys came first that had to go, had they never been sent."""
        weights = weights_of(self._never_sent(), self._limits(self._hands[0]))
        first_s = self._columns.first_s[: self.key_count][weights > 1.0] - self._start_s
        self._past.first_of_due = first_s / self._pane_s

    def _never_sent(self) -> Floats:
        """The error of each key had it never been sent, by column."""
        found = np.empty((len(self._measures), self.key_count))
        for n, measure in enumerate(self._measures):
            nothing = np.full(self.key_count, measure.rule.nothing)
            found[n] = measure.rule.error(nothing, self._values(n, self._hands[0]))
        return found

    def _learn_large(self, left: Floats) -> None:
        """When the largest keys came first; what error was reached."""
        self._past.threshold = float(np.max(left, initial=0.0))
        weights = weights_of(self._never_sent(), self._limits(self._hands[0]))
        order = np.argsort(-weights, kind="stable")
        first_s = self._columns.first_s[: self.key_count][order] - self._start_s
        self._past.first_by_error = first_s / self._pane_s


def _check(config: EarlyConfig, measures: Sequence[Measure]) -> None:
    for what, parts in (("partition", PARTITIONS), ("pick", PICKS)):
        name = getattr(config, what)
        if name not in parts:
            raise ConfigurationError(
                f"early sending: wanted {what} of {', '.join(sorted(parts))}, got {name!r}"
            )
    unbound = sum(measure.bound is None for measure in measures)
    if config.partition == "error" and unbound:
        raise ConfigurationError(
            f"early sending: wanted a bound for each column, by error, got {unbound} without one"
        )
