"""Heintz et al., figure 6: what happens when the load grows, and when bandwidth falls by 62.5 %.

The synthetic trace, sums. In window 6 arrivals double, in window 20 the link loses 62.5 %.
Staleness under an error bound, and error (relative to the largest possible) under a staleness
bound of 10 % of a window, window by window.
"""

from __future__ import annotations

from statistics import median

import numpy as np

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.heintz import link
from experiments.heintz.optima import epe, least_error, prefixes
from experiments.heintz.traces import synthetic

WINDOWS = 32
HEAVIER, NARROWER = 6, 20
LEFT = 0.375
STALENESS = 0.1
NAMES = ("random", "lru", "gain", "optimum")
HEADER = ("window", *(f"staleness_{name}" for name in NAMES), *(f"error_{name}" for name in NAMES))


def main() -> None:
    trace = synthetic(records=6_000, windows=WINDOWS, heavier_from=HEAVIER)
    ofs = [prefixes(window, "sum") for window in trace.windows]
    batches = [link.batches(window, "sum") for window in trace.windows]
    before = float(np.mean([window.key_count for window in trace.windows[:HEAVIER]]))
    rates = [before * (LEFT if n >= NARROWER else 1.0) for n in range(WINDOWS)]
    bound = float(np.quantile(np.concatenate([of.initial for of in ofs]), 0.9))
    largest = max(float(of.initial.max()) for of in ofs)
    found: dict[str, list[float]] = {}
    with timed(f"{WINDOWS} windows"):
        for pick in NAMES[:3]:
            by_error = link.run(batches, "sum", pick, rates=rates, bound=bound)
            by_time = link.run(batches, "sum", pick, rates=rates, staleness=STALENESS)
            found[f"staleness_{pick}"] = [one.staleness for one in by_error]
            found[f"error_{pick}"] = [one.error / largest for one in by_time]
    late: list[float] = []
    errors: list[float] = []
    free_e = free_s = 0.0
    for of, rate in zip(ofs, rates, strict=True):
        late.append(max(0.0, epe(of, bound, rate=rate, free=free_e) - 1.0))
        free_e = late[-1]
        error, end = least_error(of, 1.0 + STALENESS, rate=rate, free=free_s)
        errors.append(error / largest)
        free_s = max(0.0, end - 1.0)
    found["staleness_optimum"], found["error_optimum"] = late, errors
    rows = [(n, *(float(f"{found[name][n]:.4g}") for name in HEADER[1:])) for n in range(WINDOWS)]
    write_csv("heintz_06", HEADER, rows)
    print_table(HEADER, rows)
    for name in HEADER[1:]:
        told = []
        for change, until in ((HEAVIER, NARROWER), (NARROWER, WINDOWS)):
            settled = median(found[name][until - 6 : until])
            spread = max(found[name][until - 6 : until]) - settled
            near = max(2.0 * spread, 0.01 if name.startswith("staleness") else 0.1 * settled)
            after = next(
                (n for n in range(change, until) if abs(found[name][n] - settled) <= near), until
            )
            told.append(f"settled at {settled:.3g}, reached {after - change} windows after")
        print(f"{name}: load: {told[0]}; bandwidth: {told[1]}")
    for what, unit in (("staleness", "windows"), ("error", "÷ largest possible")):
        draw_lines(
            f"heintz_06_{what}",
            {name: (list(range(WINDOWS)), found[f"{what}_{name}"]) for name in NAMES},
            title=f"Arrivals double in window {HEAVIER}, bandwidth falls by 62.5% in {NARROWER}",
            x="window",
            y=f"{what}, {unit}",
        )


if __name__ == "__main__":
    main()
