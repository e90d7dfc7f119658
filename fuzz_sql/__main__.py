"""``python -m fuzz_sql [--cases N] [--seed N]``: random queries, split and by one Spark.

The first seed is printed first; the cases are those of the seeds from it on. A case that fails is
made small and printed, with its seed. Exit code 1: some did.
"""

from __future__ import annotations

import argparse
import random
import sys
from contextlib import nullcontext
from functools import partial

from fuzz_sql.campaign import run_campaign
from fuzz_sql.run import interpreted
from headwater.spark.jvm.session import SparkConfig, start_session


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz_sql", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=None, help="of the first case")
    parser.add_argument(
        "--compiled", action="store_true", help="let Spark compile each query, as agents do; slower"
    )
    chosen = parser.parse_args()
    first = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seed {first}", flush=True)
    running = start_session(SparkConfig(master="local[2]", is_brief=True))
    how = nullcontext() if chosen.compiled else interpreted(running.session)
    try:
        with how:
            seeds = range(first, first + chosen.cases)
            campaign = run_campaign(running.session, seeds, say=partial(print, flush=True))
    finally:
        running.stop()
    print(campaign)
    return 1 if campaign.faults else 0


if __name__ == "__main__":
    sys.exit(main())
