"""``python -m soak [--rounds N] [--settled N] [--seed N] [--csv FILE]``: does anything pile up?

Queries come, read, fail, are answered and go, on one JVM. The first rounds fill caches and compile
code; after them nothing may grow by more than ``GROWTH_MAX``. Exit code 1: something did.
"""

import argparse
import csv
import random
import sys
import tempfile
import time
from pathlib import Path

from headwater.spark.jvm.lease import StandingSpark
from headwater.spark.jvm.session import SparkConfig, start_session
from soak.measure import Growth, growth, measure
from soak.rounds import Soak

ROUNDS, SETTLED = 2_500, 500
MEASURE_EVERY = 50
POINTS = 5
"""Samples of which the middle one counts: threads of idle pools come and go."""
GROWTH_MAX = 0.02
COMPILE_SOON = "-XX:CompileThresholdScaling=0.01"
"""Java compiles a method when it has run often enough, so code goes on growing for weeks, ever more
slowly, towards all that is ever used. Here a hundredth of the runs is enough, and that is reached
while the soak settles."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--settled", type=int, default=SETTLED, help="rounds that do not count")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--csv", type=Path, default=None, help="write every sample to this file")
    parser.add_argument("--well", action="store_true", help="compile well, as an agent does")
    chosen = parser.parse_args()
    if chosen.rounds < chosen.settled + 2 * POINTS * MEASURE_EVERY:
        parser.error(f"wanted at least {chosen.settled + 2 * POINTS * MEASURE_EVERY} rounds")
    seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    samples = _run(chosen.rounds, seed=seed, is_brief=not chosen.well, file=chosen.csv)
    found = growth(samples, settled=chosen.settled, points=POINTS)
    _print(found, chosen.settled, chosen.rounds)
    return 1 if any(one.share > GROWTH_MAX for one in found) else 0


def _run(
    rounds: int, *, seed: int, is_brief: bool, file: Path | None
) -> list[tuple[int, dict[str, int]]]:
    samples = []
    with tempfile.TemporaryDirectory(prefix="headwater-soak-") as scratch:
        running = start_session(
            SparkConfig(
                master="local[2]",
                directory=scratch,
                log=f"{scratch}/jvm.log",
                is_brief=is_brief,
                options=(COMPILE_SOON,),
            )
        )
        soak = Soak(StandingSpark(running.session), Path(scratch), seed=seed)
        began_s = time.monotonic()
        try:
            for number in range(1, rounds + 1):
                soak.round(number)
                if number % MEASURE_EVERY == 0:
                    samples.append((number, measure(running)))
                    if file is not None:
                        _write(file, samples)
                    _tell(number, time.monotonic() - began_s, soak, samples[-1][1])
        finally:
            soak.stop()
            running.stop()
    return samples


def _tell(number: int, elapsed_s: float, soak: Soak, counts: dict[str, int]) -> None:
    heap, code = counts["heap_bytes"] >> 10, counts["code_bytes"] >> 10
    print(
        f"round {number}, {elapsed_s:.0f} s: {soak.answers} answers, {soak.failures} failures, "
        f"heap {heap} K, code {code} K, {counts['class_count']} classes",
        flush=True,
    )


def _print(found: list[Growth], settled: int, rounds: int) -> None:
    print(f"{'':24}{f'round {settled}':>14}{f'round {rounds}':>14}{'growth':>10}")
    for one in found:
        mark = "  too much" if one.share > GROWTH_MAX else ""
        print(f"{one.name:24}{one.first:14.0f}{one.last:14.0f}{one.share:10.2%}{mark}")


def _write(path: Path, samples: list[tuple[int, dict[str, int]]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["round", *samples[0][1]])
        writer.writerows([number, *counts.values()] for number, counts in samples)


if __name__ == "__main__":
    sys.exit(main())
