"""iMR, figure 11: sessions of users, at parts of the data, on real logs of activity.

The paper has a day of the World Cup's clicks at ten servers, in windows of two hours and twenty
panes. What is here are the histories of 17 repositories over 15 years, in which the same people are
active at several of them. They are sparser by far, so a window is a quarter of a year, and a pane
the twentieth of it; windows in which fewer than twelve of the sites are active are left out, since
most sites began later. A session of a user ends with half an hour without activity, at whatever
site, or with the window. Counts are scaled by the share that was asked for, as the envelope says.
"""

from __future__ import annotations

import lzma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.common import DATA, draw_lines, print_table, timed, write_csv
from experiments.imr_bed import PANES, PERCENTS, POLICIES, Policy

FILE = "clicks_git_activity_17sites_2010_2025.tsv.xz"
WINDOW_S = 365 * 86_400 // 4
SITES_MIN = 12
"""That are active in a window."""
GAP_S = 1_800
ACTIVE = 100
"""The most active users of each window, by sessions."""
Ints = NDArray[np.int64]


class Clicks(NamedTuple):
    """Side by side; users and sites are numbered from 0."""

    at_s: Ints
    user: Ints
    site: Ints

    @property
    def window(self) -> Ints:
        return self.at_s // WINDOW_S

    @property
    def pane(self) -> Ints:
        """Within its window."""
        return self.at_s % WINDOW_S * PANES // WINDOW_S

    def only(self, keep: NDArray[np.bool_]) -> Clicks:
        return Clicks(self.at_s[keep], self.user[keep], self.site[keep])


class Sessions(NamedTuple):
    """[window, user]"""

    count: Ints
    clicks: Ints
    length_s: Ints


class Errors(NamedTuple):
    """The mean relative error over windows; of users over the most active ones, first."""

    per_user: float
    total: float
    clicks: float
    """Of the clicks of a session, on average."""
    length: float
    users: float
    """The share of all users that are seen at all."""


def read() -> Clicks:
    at_s: list[int] = []
    users: list[str] = []
    sites: list[str] = []
    with lzma.open(DATA / FILE, "rt") as file:
        next(file)
        for line in file:
            at, site, user, *_ = line.split("\t", 3)
            at_s.append(int(at))
            users.append(user)
            sites.append(site)
    user_numbers = np.unique(np.array(users), return_inverse=True)[1]
    site_numbers = np.unique(np.array(sites), return_inverse=True)[1]
    return Clicks(np.array(at_s), user_numbers, site_numbers)


def sessions_of(clicks: Clicks, *, first: int, windows: int, users: int) -> Sessions:
    order = np.lexsort((clicks.at_s, clicks.user, clicks.window))
    at_s, user, window = clicks.at_s[order], clicks.user[order], clicks.window[order] - first
    begins = np.ones(len(at_s), dtype=bool)
    is_same = (user[1:] == user[:-1]) & (window[1:] == window[:-1])
    begins[1:] = ~is_same | (at_s[1:] - at_s[:-1] > GAP_S)
    cell = window * users + user
    size = windows * users
    lasts = np.roll(begins, -1)
    lengths = np.bincount(cell[lasts], at_s[lasts], size) - np.bincount(
        cell[begins], at_s[begins], size
    )
    made = (np.bincount(cell[begins], minlength=size), np.bincount(cell, minlength=size), lengths)
    return Sessions(*(one.astype(np.int64).reshape(windows, users) for one in made))


def errors(true: Sessions, found: Sessions, share: float) -> Errors:
    per_user, total, clicks, length, users = [], [], [], [], []
    for window in range(len(true.count)):
        all_of, here = true.count[window], found.count[window]
        if not all_of.any():
            continue
        top = np.argsort(-all_of, kind="stable")[:ACTIVE]
        top = top[all_of[top] > 0]
        per_user.append(np.mean(np.abs(here[top] / share - all_of[top]) / all_of[top]))
        total.append(abs(here.sum() / share - all_of.sum()) / all_of.sum())
        clicks.append(_mean_error(true.clicks[window], all_of, found.clicks[window], here))
        length.append(_mean_error(true.length_s[window], all_of, found.length_s[window], here))
        users.append((here > 0).sum() / (all_of > 0).sum())
    means = (float(np.mean(one)) for one in (per_user, total, clicks, length, users))
    return Errors(*means)


def _mean_error(true: Ints, true_count: Ints, found: Ints, found_count: Ints) -> float:
    """Of a mean over all sessions of a window."""
    mean = true.sum() / true_count.sum()
    return float(abs(found.sum() / max(found_count.sum(), 1) - mean) / mean)


def well_attended(clicks: Clicks) -> Clicks:
    """Of windows in which sites enough are active."""
    pairs = np.unique(np.stack([clicks.window, clicks.site]), axis=1)
    windows, sites = np.unique(pairs[0], return_counts=True)
    return clicks.only(np.isin(clicks.window, windows[sites >= SITES_MIN]))


def figures(clicks: Clicks) -> list[tuple[object, ...]]:
    """All windows from the first on."""
    first, users = int(clicks.window.min()), int(clicks.user.max()) + 1
    windows, sites = int(clicks.window.max()) - first + 1, int(clicks.site.max()) + 1
    span = {"first": first, "windows": windows, "users": users}
    true = sessions_of(clicks, **span)
    rows: list[tuple[object, ...]] = []
    for name in POLICIES:
        for percent in PERCENTS:
            policy = Policy(name, percent, sites=sites)
            masks = np.array([policy.mask(first + n) for n in range(windows)])
            keep = masks[clicks.window - first, clicks.site, clicks.pane]
            found = errors(true, sessions_of(clicks.only(keep), **span), percent / 100)
            rows.append((name, percent, *(round(one, 4) for one in found)))
    return rows


def main() -> None:
    if not (DATA / FILE).exists():
        print(f"NOT MEASURED: {DATA / FILE} is not there; what is here stays.")
        return
    with timed("sessions"):
        rows = figures(well_attended(read()))
    header = (
        "policy",
        "percent",
        "sessions_per_user",
        "sessions",
        "clicks",
        "length",
        "users_seen",
    )
    print_table(header, rows)
    write_csv("imr_11", header, rows)
    draw_lines(
        "imr_11",
        {
            name: (
                [row[1] for row in rows if row[0] == name],  # type: ignore[misc]
                [100.0 * row[2] for row in rows if row[0] == name],  # type: ignore[operator,misc]
            )
            for name in POLICIES
        },
        title="Sessions of the hundred most active users",
        x="data in the answer (%)",
        y="relative error of a user's count (%)",
    )


if __name__ == "__main__":
    main()
