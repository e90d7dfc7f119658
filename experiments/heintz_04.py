"""Heintz et al., figure 4: how far an answer is off that comes at most so late.

Staleness bounds of 1 to 50 % of a window, links that carry 25, 50 and 100 % of a window's keys in
the time of a window; sum, maximum and distinct count. Errors are the largest over all keys,
relative to the largest possible one; medians of the windows behind the warm-up. Names of traces as
arguments: only these, and no files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.heintz.sweep import BANDWIDTHS, PICKS, WHATS, Ready, gap_closed, settled
from experiments.heintz.traces import KEPT_FOR_LAST, MEASURED_TRACES, Trace, traces

STALENESS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class Row(NamedTuple):
    """Errors ÷ the largest possible."""

    trace: str
    aggregate: str
    bandwidth: float
    staleness: float
    windows: int
    streaming: float
    batching: float
    random: float
    lru: float
    gain: float
    optimum: float

    @property
    def closed(self) -> float | None:
        return gap_closed(self.gain, random=self.random, best=self.optimum, least=1e-12)

    @property
    def below_random(self) -> float | None:
        return 1.0 - self.gain / self.random if self.random else None

    @property
    def best_below_random(self) -> float | None:
        return 1.0 - self.optimum / self.random if self.random else None

    def times_optimum(self, who: str) -> float | None:
        """None where the optimum has no error."""
        return float(getattr(self, who)) / self.optimum if self.optimum else None


def row_of(ready: Ready, bandwidth: float, staleness: float) -> Row:
    rate = ready.rate(bandwidth)
    errors = [
        ready.streaming_error(staleness, rate),
        ready.batching_error(staleness, rate),
        *([one.error for one in ready.with_staleness(pick, staleness, rate)] for pick in PICKS),
        ready.best_error(staleness, rate),
    ]
    return Row(
        ready.trace.name,
        ready.what,
        bandwidth,
        staleness,
        ready.measured_windows,
        *(settled(error) / ready.largest for error in errors),
    )


def rows_of(
    trace: Trace,
    *,
    whats: Sequence[str] = WHATS,
    bandwidths: Sequence[float] = BANDWIDTHS,
    staleness: Sequence[float] = STALENESS,
) -> list[Row]:
    readies = (Ready(trace, what) for what in whats)
    return [
        row_of(ready, bandwidth, late)
        for ready in readies
        for bandwidth in bandwidths
        for late in staleness
    ]


GOALS = ("gap closed", "× optimum: lru", "× optimum: gain", "below random", "optimum below random")
"""Medians over bounds and links."""


def goals_of(rows: Iterable[Row]) -> tuple[float | str, ...]:
    rows = list(rows)
    return (
        _median(row.closed for row in rows),
        _median(row.times_optimum("lru") for row in rows),
        _median(row.times_optimum("gain") for row in rows),
        _median(row.below_random for row in rows),
        _median(row.best_below_random for row in rows),
    )


def _median(values: Iterable[float | None]) -> float | str:
    found = [value for value in values if value is not None]
    return median(found) if found else ""


def main() -> None:
    names = tuple(sys.argv[1:])
    rows: list[Row] = []
    for trace in traces(names or (*MEASURED_TRACES, "synthetic")):
        with timed(f"{trace.name}: {trace.keys_per_window:.0f} keys a window"):
            rows.extend(rows_of(trace))
    print_table(Row._fields, rows)
    groups = dict.fromkeys((row.trace, row.aggregate) for row in rows)
    print_table(
        ("trace", "aggregate", *GOALS),
        [(*group, *goals_of(row for row in rows if row[:2] == group)) for group in groups],
    )
    if names:
        return
    cells = [[f"{one:.4g}" if isinstance(one, float) else one for one in row] for row in rows]
    write_csv("heintz_04", Row._fields, cells)
    for name in dict.fromkeys(row.trace for row in rows):
        if name not in KEPT_FOR_LAST:
            draw(name, [row for row in rows if row.trace == name])


def draw(name: str, rows: Sequence[Row]) -> None:
    shown = [row for row in rows if row.aggregate == "sum" and row.bandwidth == 0.5]
    draw_lines(
        f"heintz_04_{name}",
        {
            who: ([100.0 * row.staleness for row in shown], [getattr(row, who) for row in shown])
            for who in ("batching", *PICKS, "optimum")
        },
        title=f"{name}: sums, a link for half of the keys",
        x="staleness bound, % of a window",
        y="error ÷ largest possible",
        x_is_log=True,
    )


if __name__ == "__main__":
    main()
