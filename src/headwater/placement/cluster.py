"""Clusters of sites and their heads, from coordinates.

Clusters are k-means in the three dimensions, without heights: a height is paid on every way out of
a site, whichever cluster it is in, so it can't decide which one that is. Heads are chosen with
heights, for a head pays its own twice for every message that it passes on.

A cluster is kept from swallowing the rest. Where many sites stand in one place, plain k-means
leaves one giant cluster and a few singles, and recursion on it makes a chain of hops, each of which
holds messages back to merge them. So a cluster has a greatest size, and who finds the nearest one
full goes to the next.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwater.algebra.draws import Draws

Points: TypeAlias = NDArray[np.float64]
Members: TypeAlias = NDArray[np.intp]

ROUNDS_MAX = 16
"""Of k-means; it moves little after ten."""
FILL_MAX = 2.0
"""Times the even share that a cluster may hold."""
SHRINK_MAX = 0.75
"""And no more than this share of the whole, so that two clusters divide too."""
CANDIDATES_MAX = 64
WITNESSES_MAX = 256
"""For the choice of a head: exact up to here, nearest to the centre and a regular sample beyond,
so that planning stays proportional to the number of sites."""


def clusters_of(points: Points, count: int, draws: Draws) -> list[Members]:
    """At most ``count`` clusters, none empty, that cover all points once."""
    size = len(points)
    if size <= count:
        return [np.array([index], dtype=np.intp) for index in range(size)]
    centres = _spread_centres(points, count, draws)
    nearest = np.zeros(size, dtype=np.intp)
    for number in range(ROUNDS_MAX):
        distances = _squares(points, centres)
        found = distances.argmin(axis=1)
        if number and bool((found == nearest).all()):
            break
        nearest = found
        centres = _means(points, nearest, centres)
    size_max = max(1, min(int(np.ceil(FILL_MAX * size / count)), int(np.ceil(SHRINK_MAX * size))))
    nearest = _levelled(nearest, _squares(points, centres), size_max)
    order = np.argsort(nearest, kind="stable")
    ends = np.searchsorted(nearest[order], np.arange(1, len(centres)))
    return [part for part in np.split(order, ends) if len(part)]


def _squares(points: Points, centres: Points) -> Points:
    """Squared distances, each point by each centre."""
    apart = points[:, None, :] - centres[None, :, :]
    return np.asarray(np.einsum("pcd,pcd->pc", apart, apart))


def _spread_centres(points: Points, count: int, draws: Draws) -> Points:
    """k-means++: each next centre is drawn by its squared distance from those chosen."""
    chosen = [draws.below(len(points))]
    nearest = _squares(points, points[chosen])[:, 0]
    for _ in range(count - 1):
        total = np.cumsum(nearest)
        if total[-1] <= 0.0:  # fewer places than clusters
            break
        index = int(np.searchsorted(total, draws.random() * total[-1], side="right"))
        chosen.append(min(index, len(points) - 1))
        nearest = np.minimum(nearest, _squares(points, points[chosen[-1:]])[:, 0])
    # Sites in one place are told apart by nothing: centres there twice, to be levelled.
    while len(chosen) < count:
        chosen.append(draws.below(len(points)))
    return points[chosen]


def _means(points: Points, nearest: Members, before: Points) -> Points:
    """The middle of each cluster; an empty one stays where it was."""
    counts = np.bincount(nearest, minlength=len(before))
    sums = np.stack(
        [np.bincount(nearest, weights=axis, minlength=len(before)) for axis in points.T], axis=1
    )
    filled = counts > 0
    after = before.copy()
    after[filled] = sums[filled] / counts[filled, None]
    return after


def _levelled(nearest: Members, distances: Points, size_max: int) -> Members:
    """Those farthest from the centre of an overfull cluster go to the next nearest with room."""
    counts = np.bincount(nearest, minlength=distances.shape[1])
    if bool((counts <= size_max).all()):
        return nearest
    placed = nearest.copy()
    for cluster in np.flatnonzero(counts > size_max):
        members = np.flatnonzero(nearest == cluster)
        by_distance = members[np.argsort(distances[members, cluster], kind="stable")]
        for index in by_distance[size_max:]:
            ways = np.where(counts < size_max, distances[index], np.inf)
            target = int(np.lexsort((counts, ways))[0])
            placed[index] = target
            counts[target] += 1
        counts[cluster] = size_max
    return placed


def head_of(points: Points, heights: Points) -> int:
    """The one that all of them reach soonest: the medoid of the predicted latency.

    Its own height is counted for the way in and for the way out. To prefer those near the parent
    was tried as well; it shortens trees that branch by two and no others (experiments.fig_17).
    """
    if len(points) == 1:
        return 0
    candidates = np.arange(len(points))
    witnesses = points[:: -(-len(points) // WITNESSES_MAX)]
    if len(points) > CANDIDATES_MAX:
        off_centre = np.sqrt(_squares(points, points.mean(axis=0)[None, :])[:, 0]) + heights
        candidates = np.argsort(off_centre, kind="stable")[:CANDIDATES_MAX]
    to_others = np.sqrt(_squares(points[candidates], witnesses)).mean(axis=1)
    cost = to_others + 2.0 * heights[candidates]
    return int(candidates[np.lexsort((candidates, cost))[0]])
