"""iMR, figure 7: what a record costs with one site and with thirty, on one Spark.

The paper adds machines and plots records a second. Here all share two cores, so what can be told is
CPU: as many lines of words, dealt out to as many folders as there are sites, all of them on one
Spark, through cubes, trees and the root (``try``). CPU of the JVM, its workers and the agents, ÷
lines. Warmed up once, then in turns. ``imr_07_roots`` has the other half, two roots instead of one.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from benchmarks.site_pipeline import CpuMeter

from experiments.common import draw_lines, print_table, timed, write_csv
from headwater.local.trial.try_query import try_query
from headwater.spark.jvm.session import SparkConfig, start_session

BEGIN_S = 1_777_636_800.0
SITES = (1, 10, 30)
LINES = 8_100_000
"""Of all sites together: so many that what a run takes anyway is little of it."""
WORDS_A_LINE = 5
VOCABULARY = 2_000
WINDOW_S, WINDOWS = 60, 4
TURNS = 2
WORDS_SQL = """
CREATE SOURCE lines (ts TIMESTAMP, text STRING) WITH (format = 'tsv', path = '*.txt', time = 'ts');
CREATE STREAM words AS
SELECT word, count(*) AS n
FROM lines LATERAL VIEW explode(split(lower(text), ' +')) AS word
WHERE word <> '' GROUP BY window(ts, '1 minute'), word;
"""
SITES_WITHIN = 1.10


def lines_of_words(count: int, *, seed: int) -> pa.Array:
    chance = np.random.default_rng(seed)
    words = pa.array([f"word{n:04d}" for n in range(VOCABULARY)])
    columns = [
        words.take(pa.array(np.minimum(chance.zipf(1.3, count), VOCABULARY) - 1))
        for _ in range(WORDS_A_LINE)
    ]
    text = pc.binary_join_element_wise(*columns, " ")
    return pc.binary_join_element_wise(times(count, WINDOW_S * WINDOWS), text, "\t")


def times(count: int, over_s: float) -> pa.Array:
    micros = ((BEGIN_S + np.arange(count) * over_s / count) * 1e6).astype("int64")
    return pc.strftime(pa.array(micros, pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%SZ")


def write_lines(path: Path, made: pa.Array) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(made.to_pylist()) + "\n", encoding="utf-8")


def cpu_by_sites() -> dict[int, list[float]]:
    """Seconds of CPU for all lines, of each turn."""
    found: dict[int, list[float]] = {count: [] for count in SITES}
    with tempfile.TemporaryDirectory(prefix="headwater-imr-") as scratch:
        for count in SITES:
            for site in range(count):
                path = Path(scratch) / f"{count}" / f"site{site:02d}" / "lines.txt"
                write_lines(path, lines_of_words(LINES // count, seed=site))
        running = start_session(SparkConfig(memory="2g", directory=scratch, log=f"{scratch}/log"))
        try:
            meter = CpuMeter(running)
            try_query(WORDS_SQL, Path(scratch) / f"{SITES[-1]}", spark=running)
            for turn in range(TURNS):
                for count in SITES:
                    before_s = meter.read()
                    work = Path(scratch) / f"work-{turn}-{count}"
                    (stream,) = try_query(
                        WORDS_SQL, Path(scratch) / f"{count}", spark=running, work=work
                    )
                    took_s = meter.read() - before_s
                    words = sum(pc.sum(one.rows["n"]).as_py() for one in stream.windows)
                    assert words == LINES * WORDS_A_LINE, f"{words} words at {count} sites"
                    print(f"{count} sites, turn {turn}: {took_s:.1f} s", flush=True)
                    found[count].append(took_s)
        finally:
            running.stop()
    return found


HEADER = ("sites", "turns", "lines", "cpu_s", "cpu_us_a_line", "to_one_site", "goal_at_most")


def measure_sites() -> None:
    with timed("sites"):
        found = cpu_by_sites()
    alone = median(found[SITES[0]])
    table: list[tuple[object, ...]] = [
        (
            count,
            len(seen),
            LINES,
            round(median(seen), 2),
            round(1e6 * median(seen) / LINES, 2),
            round(median(seen) / alone, 3),
            "" if count == SITES[0] else SITES_WITHIN,
        )
        for count, seen in found.items()
    ]
    print_table(HEADER, table)
    write_csv("imr_07", HEADER, table)
    draw_lines(
        "imr_07",
        {"CPU for a line": (SITES, [1e6 * median(found[n]) / LINES for n in SITES])},
        title="What a line of five words costs, by the number of sites on one Spark",
        x="sites",
        y="CPU for a line (µs)",
    )


def main() -> None:
    print(f"load {', '.join(f'{one:.1f}' for one in os.getloadavg())}", flush=True)
    measure_sites()


if __name__ == "__main__":
    main()
