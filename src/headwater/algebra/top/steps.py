"""The k largest groups over all sites, exactly, without most of the others: three steps.

The problem: an answer needs the k groups with the largest sums, and no site knows which these are.
A group may be small everywhere and large in all. To send everything is what a narrow link has no
room for, and a bound divided over the sites is nearly worthless. Cao and Wang (*Efficient Top-K
Query Calculation in Distributed Networks*, PODC 2004; JetStream's global threshold) ask in three
steps:

1. each site sends its k largest; of what is in the root takes τ, the k-th largest sum;
2. sites send all groups that they have not sent with at least τ ÷ N;
3. sites send what they have not sent of the groups that may still be among the first.

A group that nobody has sent after step 2 has less than τ ÷ N at each of N sites, so less than τ in
all, and k groups have τ at least. So it is none of the first.

*Here sites may fail between any two steps, and relays merge what they send.* So the root believes
in no step, but in what has been told: with each of its updates a site says what it still keeps
back, at most, in any group (a *rest*), and of the k largest nothing is called exact that follows of
anything else. Be S(x) what is in of a group x, and U(x) the most that sites may still keep back of
it. Its true sum lies between S(x) and S(x) + U(x). The first m are sure if U is nothing for each of
them, and no other has S + U above the least of them (``found``). τ from fewer sites is smaller, so
whoever misses step 1 does no harm; whoever misses step 2 keeps back much, and then fewer rows are
called exact, or none.

*What is known of U.* The sum of all rests bounds every group. A site sends a group once and whole,
so a rest of a site that has sent it is nothing for it; of a piece of several sites one at least has
sent what is in it, and the others have less than what was asked for each (``least``). And who has
answered a request keeps nothing back of the groups that it named."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from headwater.algebra.remainders.early_rows import Floats
from headwater.algebra.remainders.key_hash import Hashes
from headwater.algebra.top.keyed import Keyed

Mask = NDArray[np.bool_]


def largest(values: Floats, count: int) -> Mask:
    """Step 1: the rows with the largest values; of equal ones the first.

    >>> largest(np.array([3.0, 9.0, 3.0, 5.0]), 3).tolist()
    [True, True, False, True]
    """
    found = np.zeros(len(values), dtype=bool)
    found[np.argsort(-values, kind="stable")[:count]] = True
    return found


def asked_for(values: Floats, names: Hashes, *, least: float, keys: Sequence[int]) -> Mask:
    """Steps 2 and 3: of rows that were not sent those that are to be."""
    named = np.isin(names, np.array(keys, dtype=np.uint64))
    return named | (values >= least)


class Rest(msgspec.Struct, frozen=True):
    """What the sites of one summary keep back, at most, in any group."""

    sites: int
    """A bitset."""
    largest: float
    """Of all of them together."""
    least: float = float("inf")
    """Each of them has less than this of any group: they have answered a request for it."""
    named: frozenset[int] = frozenset()
    """Groups of which they keep nothing back, by name."""


class Found(msgspec.Struct, frozen=True, eq=False):
    """Of one pane, as far as is known."""

    kth: float
    """The k-th largest sum; 0: there are fewer groups."""
    exact: int
    """So many of the first groups are surely the first, and all of each is in; at most k."""
    candidates: Hashes
    """The groups that may be among the first and of which something may be kept back, rising."""


def found(rows: Keyed, sites: Sequence[int], rests: Sequence[Rest], count: int) -> Found:
    """``sites``: of each part of the rows, as a bitset."""
    sums = _sums(rows)
    if not len(sums) or not np.isfinite(sums).all() or any((v < 0.0).any() for v in rows.values):
        return Found(0.0, 0, np.zeros(0, dtype=np.uint64))
    more = _kept_back(rows, sites, rests)
    unseen = sum(rest.largest for rest in rests)
    order = np.argsort(-sums, kind="stable")
    kth = float(sums[order[count - 1]]) if len(order) >= count else 0.0
    may_be_first = (sums + more >= kth) & (more > 0.0)
    return Found(
        kth, _sure(sums[order], more[order], unseen, count), np.unique(rows.names[may_be_first])
    )


def _sums(rows: Keyed) -> Floats:
    total = np.zeros(len(rows.names))
    for numbers, values in zip(rows.numbers, rows.values, strict=True):
        np.add.at(total, numbers, values)
    return total


def _kept_back(rows: Keyed, sites: Sequence[int], rests: Sequence[Rest]) -> Floats:
    """Of each group that is in, the most that may be kept back of it."""
    total = np.zeros(len(rows.names))
    for rest in rests:
        size = rest.sites.bit_count()
        is_sent = np.zeros(len(total), dtype=bool)
        for numbers, of in zip(rows.numbers, sites, strict=True):
            if of and not of & ~rest.sites:
                is_sent[numbers] = True
        others = 0.0 if size == 1 else min(rest.largest, (size - 1) * rest.least)
        most = np.where(is_sent, others, rest.largest)
        if rest.named:
            most[np.isin(rows.names, np.array(sorted(rest.named), dtype=np.uint64))] = 0.0
        total += most
    return total


def _sure(sums: Floats, more: Floats, unseen: float, count: int) -> int:
    """``sums`` fall. How many of the first none of the others, nor one that nobody has sent, can be
    above."""
    whole = int(np.argmax(more > 0.0)) if (more > 0.0).any() else len(sums)
    beyond = np.append(np.maximum.accumulate((sums + more)[::-1])[::-1], 0.0)[1:]
    is_sure = (sums >= beyond) & (sums >= unseen)
    sure = np.flatnonzero(is_sure[: min(whole, count)])
    return int(sure[-1]) + 1 if len(sure) else 0
