"""The pick that asks what sending a key now is worth.

    gain = P(the key must be sent later if not now) - P(it must be sent again if sent now)

Arrivals of a key are taken as a Poisson process whose rate has a gamma prior: what earlier panes
say counts as some panes of observation, and this pane adds to it. Silence speaks against more to
come, so the rate is at most two arrivals in the time since the last one. With a mean and a mean
square of a value follows the chance that more than x comes in what is left of the pane: exactly
for the few arrivals that most keys have, by a normal tail beyond.

Keys that must go already (above the bar) come first, the surest first: there the gain is the
chance that nothing more than the bound comes. Keys that only probably must go are sent into room
that would stay idle.

Where the link has more room until the close than will be needed, to wait costs nothing, and what is
known later is surer. So under an error bound the gain that is asked for is the share of that room
that nobody will need: a link that is used by a tenth sends early what is done by nine tenths, and
everything that must go only when the close is near.

Under a staleness bound the bar is not given: it is the weight that the last key of the primary part
is expected to have in the end, and at least half of what was reached in the last pane.
"""

from __future__ import annotations

import numpy as np

from headwater.algebra.remainders.withholding import Floats
from headwater.edge.outbox.early.key_columns import Slots
from headwater.edge.outbox.early.look import Look, Part, first_of

VALUES_OBSERVED = 0.5
"""What the mean value over all keys counts in a key's own mean."""
FEW = 3
"""Up to so many further values that do not suffice yet, the Poisson tail is summed."""
THRESHOLD_SHARE = 0.5
"""Of the last pane's final threshold: below, the bar of a staleness bound never falls."""


def gain(look: Look, part: Part, count_max: int, chance: np.random.Generator) -> Slots:
    there = np.flatnonzero(look.weights > 0.0)
    bar = part.bar if part.size is None else _bar(look, there, part.size)
    is_above = look.weights[there] > bar
    must, idle = there[is_above], there[~is_above]
    again = _chance_of_more(look, must, bar)
    spare = look.ahead_keys - count_max - len(must) if part.size is None else 0.0
    miss = _chance_of_missing(look, idle, bar) if spare > 0.0 else None
    idle_share = 0.0 if miss is None else _idle_share(look, spare, len(must), float(miss.sum()))
    sure = again <= 1.0 - max(idle_share, look.config.gain_min)
    chosen = must[sure][first_of(again[sure], count_max)]
    if len(chosen) == count_max:
        return chosen
    miss = _chance_of_missing(look, idle, bar) if miss is None else miss
    least = max(idle_share, look.config.idle_gain_min)
    likely = miss >= least
    idle, worth = idle[likely], miss[likely]
    worth = worth - _chance_of_more(look, idle, bar)
    enough = worth >= least
    more = idle[enough][first_of(-worth[enough], count_max - len(chosen))]
    return np.concatenate([chosen, more])


def _chance_of_missing(look: Look, slots: Slots, bar: float) -> Floats:
    """That a key which may stay will have to go, if it isn't sent now."""
    return _chance_of_more(look, slots, bar - look.weights[slots])


def _idle_share(look: Look, spare: float, must: int, probable: float) -> float:
    """Of the room that the link has after now, what nobody will need; ``spare`` is what is beyond
    the keys that must go already, but some probably must, and others are still to come."""
    to_come = look.past.due_ahead(look.elapsed_s / look.pane_s)
    return max(0.0, (spare - probable - to_come) / (spare + must))


def _bar(look: Look, there: Slots, size: int) -> float:
    """The weight that the key at the end of the primary part will have."""
    least = THRESHOLD_SHARE * look.past.threshold
    if size >= len(there):
        return least
    if size == 0:
        return np.inf
    expected = look.weights[there]
    arrivals = _arrivals_ahead(look, there)
    for n, measure in enumerate(look.measures):
        if measure.rule.adds:
            mean, _ = _values(look, there, n)
            expected = expected + arrivals * mean / look.limit(n, there)
    return max(least, float(np.partition(expected, len(there) - size)[len(there) - size]))


def _chance_of_more(look: Look, slots: Slots, bar: Floats | float) -> Floats:
    """That so much comes in what is left of the pane, in units of what may be withheld: of the
    column in which it is most likely."""
    arrivals = _arrivals_ahead(look, slots)
    found = np.zeros(len(slots))
    for n, measure in enumerate(look.measures):
        mean, square = _values(look, slots, n)
        more = bar * look.limit(n, slots)
        if measure.rule.adds:
            chance = chance_above(more, arrivals, mean, square)
        else:
            chance = chance_of_rise(more, arrivals, mean, look.columns.records[slots])
        np.maximum(found, chance, out=found)
    return found


def _arrivals_ahead(look: Look, slots: Slots) -> Floats:
    """How many records of each key are expected until the close."""
    columns, config, past = look.columns, look.config, look.past
    known = columns.past_records[slots]
    is_new = known < 0.0
    panes = np.where(is_new, config.new_panes, config.past_panes)
    prior = np.where(is_new, 0.5 * past.mean_records, known)
    rate = prior * panes
    rate += columns.records[slots]
    rate /= look.pane_s * panes + look.elapsed_s
    silence_s = np.maximum(look.now_s - columns.last_s[slots], 1e-9 * look.pane_s)
    np.minimum(rate, config.silence_arrivals / silence_s, out=rate)
    rate *= look.left_s
    return rate


def _values(look: Look, slots: Slots, column: int) -> tuple[Floats, Floats]:
    """Mean and mean square of a record's value, by key."""
    columns, past = look.columns, look.past
    count = np.maximum(columns.past_records[slots], 0.0)
    count += columns.records[slots]
    count += VALUES_OBSERVED
    mean = columns.past_sums[column, slots] + columns.sums[column, slots]
    mean += VALUES_OBSERVED * past.mean_value[column]
    square = columns.past_squares[column, slots] + columns.squares[column, slots]
    square += VALUES_OBSERVED * past.mean_square[column]
    return np.abs(mean) / count, square / count


def chance_above(more: Floats | float, arrivals: Floats, mean: Floats, square: Floats) -> Floats:
    """That the sum of Poisson(arrivals) values exceeds ``more``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.floor(more / mean)
    short[~np.isfinite(short)] = np.inf
    term = np.exp(-arrivals)
    below = term.copy()
    for n in range(1, FEW + 1):
        term *= arrivals / n
        below += np.where(short >= n, term, 0.0)
    found = 1.0 - below
    many = np.flatnonzero(short > FEW)
    if len(many):
        wanted = more[many] if isinstance(more, np.ndarray) else more
        spread = np.sqrt(arrivals[many] * square[many]) + 1e-300
        found[many] = normal_tail((wanted - arrivals[many] * mean[many]) / spread)
    found[short < 0.0] = 1.0
    return np.clip(found, 0.0, 1.0)


def chance_of_rise(more: Floats | float, arrivals: Floats, mean: Floats, records: Floats) -> Floats:
    """That a maximum rises by more than so much. Of n + 1 values in any order the last is the
    largest with chance 1 ÷ (n + 1); the excess is taken as exponential, with the mean value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        by = np.exp(-np.maximum(more, 0.0) / np.maximum(mean, 1e-300))
    return np.asarray(1.0 - np.exp(-arrivals * by / (records + 1.0)))


def normal_tail(z: Floats) -> Floats:
    """P(Z > z), to 0.0003: numpy has no error function.

    >>> normal_tail(np.array([0.0, 1.0, -1.0])).round(3).tolist()
    [0.5, 0.159, 0.841]
    """
    z = np.clip(z, -10.0, 10.0)
    return np.asarray(0.5 * (1.0 - np.tanh(0.7978845608 * (z + 0.044715 * z**3))))
