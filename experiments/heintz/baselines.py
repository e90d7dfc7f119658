"""What one would do without choosing (Heintz et al., section 5.2): streaming and batching. The
third, random early updates, is a pick of the key book."""

from __future__ import annotations

import numpy as np

from experiments.heintz.optima import Prefixes, worth
from experiments.heintz.traces import Floats, Window


def streaming_ends(window: Window, *, rate: float, free: float) -> Floats:
    """When each record has left, one after the other as they came."""
    place = np.arange(len(window.at))
    waiting = np.maximum.accumulate(np.maximum(window.at, free) - place / rate)
    return np.asarray(waiting + (place + 1) / rate)


def streaming_until(
    window: Window, of: Prefixes, bound: float, *, rate: float, free: float
) -> float:
    """When enough records have left for every key to be within the bound."""
    order = np.lexsort((window.at, window.keys))
    is_enough = of.after <= bound
    places = np.where(is_enough, order, len(order))
    last = np.minimum.reduceat(places, of.starts)[of.initial > bound] if len(order) else order
    if not len(last):
        return free
    return float(streaming_ends(window, rate=rate, free=free)[last.max()])


def streaming_error(
    window: Window, what: str, deadline: float, *, rate: float, free: float
) -> float:
    """The largest error of what has not left by the deadline."""
    values = worth(window, what)
    is_in = streaming_ends(window, rate=rate, free=free) <= deadline
    _, keys = np.unique(window.keys, return_inverse=True)
    if what == "max":
        true, sent = np.zeros(keys.max() + 1), np.zeros(keys.max() + 1)
        np.maximum.at(true, keys, values)
        np.maximum.at(sent, keys[is_in], values[is_in])
        return float((true - sent).max())
    return float(np.bincount(keys, np.where(is_in, 0.0, values)).max())


def batching_until(of: Prefixes, bound: float, *, rate: float) -> float:
    return 1.0 + float((of.initial > bound).sum()) / rate


def batching_error(of: Prefixes, deadline: float, *, rate: float) -> float:
    fits = int((deadline - 1.0) * rate + 1e-9)
    return float(np.sort(of.initial)[::-1][fits]) if fits < len(of.initial) else 0.0
