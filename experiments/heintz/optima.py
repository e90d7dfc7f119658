"""The best that anybody could do who knows the future (Heintz et al., section 3), and what errors
are.

*EPE* sends each key as soon as what is still to come of it is within the bound. *SPEF* goes
through the slots of a link up to the deadline and gives each to the key with the smallest
potential error. *SPEF with early omissions* leaves out first the keys with the smallest values.
Tests hold all three against trying every schedule.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from experiments.heintz.traces import Floats, Ints, Window


class Prefixes(NamedTuple):
    """A window by key: what would be missing after each record."""

    at: Floats
    after: Floats
    """The error if the key were sent right after this record and never again."""
    starts: Ints
    """Where each key begins."""
    initial: Floats
    """The error of each key if it is never sent."""


def prefixes(window: Window, what: str) -> Prefixes:
    """Of ``sum``, ``max`` or ``distinct``; values are not negative."""
    values = worth(window, what)
    order = np.lexsort((window.at, window.keys))
    keys, at, values = window.keys[order], window.at[order], values[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, int)
    lengths = np.diff(np.r_[starts, len(keys)])
    if what == "max":
        ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
        of_key = np.repeat(np.arange(len(starts)), lengths)
        so_far = np.maximum.accumulate(of_key * (len(keys) + 1) + ranks) - of_key * (len(keys) + 1)
        values_so_far = np.sort(values, kind="stable")[so_far]
        initial = np.maximum.reduceat(values, starts) if len(keys) else values
        return Prefixes(at, np.repeat(initial, lengths) - values_so_far, starts, initial)
    sums = np.cumsum(values)
    before = np.repeat(sums[starts] - values[starts], lengths) if len(keys) else sums
    initial = np.add.reduceat(values, starts) if len(keys) else values
    left = np.repeat(initial, lengths) - (sums - before)
    ends = np.r_[starts[1:], len(keys)] - 1
    left[ends] = 0.0  # to the bit, whatever was added before
    return Prefixes(at, np.maximum(left, 0.0), starts, initial)


def worth(window: Window, what: str) -> Floats:
    """What each record adds: of a distinct count, 1 if its member is new to the key."""
    if what != "distinct":
        return window.values
    pairs = window.keys * (int(window.members.max(initial=0)) + 1) + window.members
    _, first = np.unique(pairs, return_index=True)
    found = np.zeros(len(pairs))
    found[first] = 1.0
    return found


def epe(of: Prefixes, bound: float, *, rate: float, free: float) -> float:
    """When the last key has left that must; ``rate`` keys a window, from ``free`` on."""
    if not len(of.starts):
        return free
    done_at = np.minimum.reduceat(np.where(of.after <= bound, of.at, np.inf), of.starts)
    ready = np.sort(done_at[of.initial > bound])
    if not len(ready):
        return free
    place = np.arange(len(ready))
    return float(np.max(np.maximum(ready, free) - place / rate) + len(ready) / rate)


def least_error(of: Prefixes, deadline: float, *, rate: float, free: float) -> tuple[float, float]:
    """The least bound with which EPE meets the deadline, and when it is through: what SPEF reaches,
    found by halving instead of slot by slot."""
    errors = np.unique(np.r_[0.0, of.after, of.initial])
    low, high = 0, len(errors) - 1
    while low < high:
        middle = (low + high) // 2
        if epe(of, errors[middle], rate=rate, free=free) <= deadline + 1e-9:
            high = middle
        else:
            low = middle + 1
    return float(errors[low]), epe(of, errors[low], rate=rate, free=free)


def spef(of: Prefixes, deadline: float, *, rate: float, free: float, omits: bool = False) -> float:
    """The error that is reached: as many slots as keys, the last of which ends at the deadline."""
    count = len(of.starts)
    slots = deadline - np.arange(count, 0, -1) / rate
    if not omits:
        return _assign(of, slots, np.arange(count), free=free)[0]
    _, omitted = _assign(of, slots, np.arange(count), free=free)
    by_value = np.argsort(of.initial, kind="stable")
    worst = float(of.initial[by_value[:omitted]].max(initial=0.0))
    rest, _ = _assign(of, slots[omitted:], by_value[omitted:], free=free)
    return max(worst, rest)


def _assign(of: Prefixes, slots: Floats, keys: Ints, *, free: float) -> tuple[float, int]:
    """The worst error, and how many keys got a slot in which they send nothing."""
    ends = np.r_[of.starts[1:], len(of.at)]
    chosen = set(keys.tolist())
    events = sorted(
        (float(of.at[n]), int(key), float(of.after[n]))
        for key in keys
        for n in range(of.starts[key], ends[key])
    )
    now = {int(key): float(of.initial[key]) for key in keys}
    sendable: set[int] = set()
    heap = [(error, key) for key, error in now.items()]
    heapify(heap)
    worst, omitted, at = 0.0, 0, 0
    for slot in slots.tolist():
        if slot >= free - 1e-9:
            while at < len(events) and events[at][0] <= slot + 1e-9:
                _, key, error = events[at]
                at += 1
                now[key] = error = min(error, now[key])
                sendable.add(key)
                if key in chosen:
                    heappush(heap, (error, key))
        while heap[0][1] not in chosen or heap[0][0] != now[heap[0][1]]:
            heappop(heap)
        error, key = heappop(heap)
        chosen.discard(key)
        worst = max(worst, error)
        omitted += key not in sendable
    return worst, omitted
