"""Heintz et al., figure 3: how late an answer is that is off by at most so much.

Error bounds with 40 % to 1 % of the keys above them, links that carry 25, 50 and 100 % of a
window's keys in the time of a window; sum, maximum and distinct count. Medians of the windows
behind the warm-up: 25 where a trace has as many. Names of traces as arguments: only these, and no
files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.heintz.sweep import BANDWIDTHS, PICKS, WHATS, Ready, gap_closed, settled
from experiments.heintz.traces import KEPT_FOR_LAST, MEASURED_TRACES, WARM_UP, Trace, traces

ABOVE = (0.4, 0.2, 0.1, 0.05, 0.02, 0.01)
HIGH = (0.7, 0.9)
"""What counts as a load of 0.8: keys with equal values make it less than was asked for."""
RESOLVED = 0.01
"""Of a window: where random is not later than this, nothing is compared."""


class Row(NamedTuple):
    """Staleness in windows; sends ÷ keys that had to go."""

    trace: str
    aggregate: str
    bandwidth: float
    above: float
    windows: int
    load: float
    streaming: float
    batching: float
    random: float
    lru: float
    gain: float
    optimum: float
    sends_random: float
    sends_lru: float
    sends_gain: float

    @property
    def closed(self) -> float | None:
        return gap_closed(self.gain, random=self.random, best=self.optimum, least=RESOLVED)

    @property
    def below_random(self) -> float | None:
        return 1.0 - self.gain / self.random if self.random >= RESOLVED else None

    @property
    def is_high(self) -> bool:
        return HIGH[0] <= self.load <= HIGH[1]


def row_of(ready: Ready, bandwidth: float, above: float) -> Row | None:
    """None where no key is above the bound."""
    rate, bound = ready.rate(bandwidth), ready.bound(above)
    due = sum(ready.due(bound)[WARM_UP:])
    if not due:
        return None
    late, sends = [], []
    for pick in PICKS:
        outcomes = ready.with_bound(pick, bound, rate)
        late.append(settled([one.staleness for one in outcomes]))
        sends.append(sum(one.sends for one in outcomes[WARM_UP:]) / due)
    return Row(
        ready.trace.name,
        ready.what,
        bandwidth,
        above,
        ready.measured_windows,
        ready.load(bound, rate),
        settled(ready.streaming_staleness(bound, rate)),
        settled(ready.batching_staleness(bound, rate)),
        *late,
        settled(ready.best_staleness(bound, rate)),
        *sends,
    )


def rows_of(
    trace: Trace,
    *,
    whats: Sequence[str] = WHATS,
    bandwidths: Sequence[float] = BANDWIDTHS,
    above: Sequence[float] = ABOVE,
) -> list[Row]:
    found = []
    for what in whats:
        ready = Ready(trace, what)
        rows = (row_of(ready, bandwidth, share) for bandwidth in bandwidths for share in above)
        found.extend(row for row in rows if row is not None)
    return found


GOALS = (
    "least below random, load to .5",
    "most behind optimum, load to .5",
    "gap closed, load below 1",
    "gap closed, load .8",
    "most behind lru",
    "most sends, load .8",
    "most sends, other loads",
)


def goals_of(rows: Iterable[Row]) -> tuple[float | str, ...]:
    """What stands against each goal, of loads below 1; '' where no row has something to say."""
    rows = [row for row in rows if row.load < 1.0]
    low = [row for row in rows if row.load <= 0.5]
    high = [row for row in rows if row.is_high]
    return (
        _over(min, (row.below_random for row in low)),
        _over(max, (row.gain - row.optimum for row in low)),
        _over(median, (row.closed for row in rows)),
        _over(median, (row.closed for row in high)),
        _over(max, (row.gain - row.lru for row in rows)),
        _over(max, (row.sends_gain for row in high)),
        _over(max, (row.sends_gain for row in rows if not row.is_high)),
    )


def _over(how: Callable[[Sequence[float]], float], values: Iterable[float | None]) -> float | str:
    found = [value for value in values if value is not None]
    return how(found) if found else ""


def main() -> None:
    names = tuple(sys.argv[1:])
    rows: list[Row] = []
    for trace in traces(names or (*MEASURED_TRACES, "synthetic")):
        with timed(f"{trace.name}: {trace.keys_per_window:.0f} keys a window"):
            rows.extend(rows_of(trace))
    print_table(Row._fields, rows)
    print_goals(rows)
    if names:
        return
    cells = [[f"{one:.4g}" if isinstance(one, float) else one for one in row] for row in rows]
    write_csv("heintz_03", Row._fields, cells)
    for name in dict.fromkeys(row.trace for row in rows):
        if name not in KEPT_FOR_LAST:
            draw(name, [row for row in rows if row.trace == name])


def print_goals(rows: Sequence[Row]) -> None:
    groups = dict.fromkeys((row.trace, row.aggregate) for row in rows)
    print_table(
        ("trace", "aggregate", *GOALS),
        [(*group, *goals_of(row for row in rows if row[:2] == group)) for group in groups],
    )


def draw(name: str, rows: Sequence[Row]) -> None:
    shown = [row for row in rows if row.aggregate == "sum" and row.bandwidth == 0.5]
    draw_lines(
        f"heintz_03_{name}",
        {
            who: ([100.0 * row.above for row in shown], [getattr(row, who) for row in shown])
            for who in ("batching", *PICKS, "optimum")
        },
        title=f"{name}: sums, a link for half of the keys",
        x="% of the keys above the error bound",
        y="staleness, windows",
        x_is_log=True,
    )


if __name__ == "__main__":
    main()
