"""iMR, figure 8: one busy worker, with a deadline that it keeps when it is idle.

As in the paper, a window has twenty panes, and the worker's CPU is taken away by and by. With a
mere time-out it reads its input in order, ever later; with shedding it leaves out panes that it
can't make in time. What is skipped is chosen by the product (``edge/shedding``), and the pace is
learned as there; the reading itself is simulated: polls each second, batches that cost a fixed
part and a part for each byte, both divided by the share of the CPU that is left. With all of it,
reading takes 0.9 of the time in which input comes.
"""

from __future__ import annotations

from experiments.common import draw_lines, print_table, write_csv
from headwater.sim.shedding.busy_reader import BusyReader

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
WINDOW_PANES = 20
PANES = range(10, 200)
"""That are counted: ten windows, after some panes in which the pace is learned."""
UNTIL_S = 2_100.0
DEADLINE_S = 10.0
S_PER_MB = 0.9


def fidelity(share: float, *, sheds: bool) -> float:
    """The share of the panes that were made by the deadline."""
    reader = BusyReader(
        share, sheds=sheds, panes=WINDOW_PANES, deadline_s=DEADLINE_S, s_per_mb=S_PER_MB
    )
    reader.run(UNTIL_S)
    return reader.fidelity(PANES)


def main() -> None:
    rows = [
        (
            round(100 * share),
            round(100 * fidelity(share, sheds=True), 1),
            round(100 * fidelity(share, sheds=False), 1),
        )
        for share in SHARES
    ]
    header = ("cpu_left", "shedding", "timeout")
    print_table(header, rows)
    write_csv("imr_08", header, rows)
    left = [row[0] for row in rows]
    lines = {
        "with shedding": (left, [row[1] for row in rows]),
        "a mere time-out": (left, [row[2] for row in rows]),
    }
    draw_lines(
        "imr_08", lines, title="One busy worker", x="CPU that is left, %", y="data in time, %"
    )


if __name__ == "__main__":
    main()
