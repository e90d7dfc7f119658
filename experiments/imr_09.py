"""iMR, figure 9: a count of words that differ from server to server, at parts of the data.

Ten servers; each has the same words, and its own order of how frequent they are (Zipf), so a server
that is left out takes its favourites with it. The words themselves are made; the paper's were, too.
How soon an answer comes is measured on the real machines in virtual time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.imr_bed import (
    EARLIEST,
    PANES,
    PERCENTS,
    POLICIES,
    RANDOM,
    TEMPORAL,
    Policy,
    answered_after,
)

SERVERS, WORDS, WINDOWS = 10, 50, 20
RECORDS = 2_000
"""Of each server, in each pane, in the middle."""
SLOPE = 1.2
LATENCY_PERCENTS = (20, 50, 80, 100)
Counts = NDArray[np.float64]


def words_of(chance: np.random.Generator) -> Counts:
    """[server, pane, word]: of a window. Servers differ in which words are frequent there, and a
    little in how much they do; what is frequent does not change from pane to pane."""
    ranks = np.array([chance.permutation(WORDS) for _ in range(SERVERS)])
    shares = (1.0 + ranks) ** -SLOPE
    shares /= shares.sum(axis=1, keepdims=True)
    rates = chance.uniform(0.5, 1.5, (SERVERS, 1, 1)) * RECORDS
    made = chance.poisson(rates * shares[:, None, :], (SERVERS, PANES, WORDS))
    return np.asarray(made, dtype=np.float64)


def errors(windows: Sequence[Counts], policy: Policy) -> tuple[float, float, float]:
    """The mean relative error of words' counts, as they stand; that of their frequencies; and its
    standard deviation."""
    of_counts, of_frequencies = [], []
    for number, made in enumerate(windows):
        mask = policy.mask(number)
        true = made.sum(axis=(0, 1))
        found = (made * mask[:, :, None]).sum(axis=(0, 1))
        of_counts.append(np.abs(found - true) / true)
        frequency, true_frequency = found / max(found.sum(), 1.0), true / true.sum()
        of_frequencies.append(np.abs(frequency - true_frequency) / true_frequency)
    every = np.concatenate(of_frequencies)
    return float(np.mean(of_counts)), float(every.mean()), float(every.std())


def main() -> None:
    chance = np.random.default_rng(9)
    windows = [words_of(chance) for _ in range(WINDOWS)]
    table = []
    with timed("errors"):
        for name in POLICIES:
            for percent in PERCENTS:
                policy = Policy(name, percent, sites=SERVERS)
                found = (round(one, 5) for one in errors(windows, policy))
                table.append((name, percent, *found))
    header = ("policy", "percent", "count_error", "frequency_error", "frequency_error_sd")
    print_table(header, table)
    write_csv("imr_09", header, table)
    with timed("latencies"):
        after = [
            (name, percent, round(answered_after(name, percent), 4))
            for name in (RANDOM, EARLIEST, TEMPORAL)
            for percent in LATENCY_PERCENTS
        ]
    header = ("policy", "percent", "answered_after_windows")
    print_table(header, after)
    write_csv("imr_09_latency", header, after)
    draw_lines(
        "imr_09",
        {
            name: (
                [percent for policy, percent, *_ in table if policy == name],
                [100.0 * error for policy, _, _, error, _ in table if policy == name],
            )
            for name in POLICIES
        },
        title="Words that differ from server to server",
        x="data in the answer (%)",
        y="relative error of a word's frequency (%)",
    )


if __name__ == "__main__":
    main()
