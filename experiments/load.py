"""Network load of 680 sites with and without aggregation on the way (Mortar, section 7.2.2).

There: 12.5 Mbit/s in the steady state, 3.4 of it heartbeats, and 26 without aggregation, summed
over all links of the emulated network. Here bytes count once for each overlay hop, as the product
would put them on the wire (calibrated against its codec), and heartbeats stand apart.
"""

from __future__ import annotations

from experiments.common import draw_lines, print_table, timed, write_csv
from experiments.mortar_bed import bed, run

END_S = 45.0
CASES = {
    "aggregation, heartbeats 1 s": (True, 1.0),
    "aggregation, heartbeats 2 s (Mortar's)": (True, 2.0),
    "no aggregation, heartbeats 2 s": (False, 2.0),
}
PAPER = ("", "12.5 of which 3.4 heartbeats", "26")


def main() -> None:
    rows = []
    for number, (name, (merges, beat_s)) in enumerate(CASES.items()):
        with timed(name):
            file = bed(
                seed=1,
                duration=END_S,
                routing={"aggregation": merges},
                overlay={"heartbeat_every_s": beat_s},
            )
            _, found = run(file)
        load = found.load_bits_s
        rows.append(
            (
                name,
                *(
                    round(bits / 1e6, 2)
                    for bits in (load.total, load.heartbeats, load.summaries, load.rest)
                ),
                round(found.latency_mean_s, 2),
                round(100 * found.completeness_first, 2),
                PAPER[number],
            )
        )
    header = (
        "case",
        "total_mbit_s",
        "heartbeats",
        "summaries",
        "rest",
        "latency_s",
        "live_in_first",
        "paper_mbit_s",
    )
    print_table(header, rows)
    write_csv("load", header, rows)
    numbers = list(range(len(rows)))
    draw_lines(
        "load",
        {
            what: (numbers, [row[column] for row in rows])
            for column, what in enumerate(header[1:5], start=1)
        },
        title=" · ".join(f"{n}: {row[0]}" for n, row in enumerate(rows)),
        x="case",
        y="Mbit/s",
    )


if __name__ == "__main__":
    main()
