"""``python -m crowd``: exit 0 when trouble was shed and every answer is exact in the end."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from chaos.federation import LivenessFailure

from crowd.parties import Crowd
from crowd.run import Plan, Run


def main() -> int:
    arguments = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))  # and ends its agents
    began_s = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began_s:7.1f} s  {text}", flush=True)

    plan = Plan(
        Crowd(
            arguments.relay_processes,
            arguments.generator_processes,
            arguments.agents,
            disk_s=arguments.disk,
        ),
        calm_s=arguments.calm,
        stop_s=arguments.stop,
        slow_s=arguments.slow,
        after_s=arguments.after,
        seed=arguments.seed,
    )
    with tempfile.TemporaryDirectory(prefix="crowd-") as scratch:
        directory = Path(arguments.keep or scratch) / "federation"
        try:
            outcome = Run(plan, directory, say).run()
        except LivenessFailure as failure:
            print(f"NOT GOOD: {failure}")
            return 1
    print(outcome.text())
    print("good" if outcome.is_good else "NOT GOOD")
    return 0 if outcome.is_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crowd", description="Real agents by the hundreds, and a root that stands still."
    )
    plan, crowd = Plan(), Crowd()
    parser.add_argument("--relay-processes", type=_at_least_one, default=crowd.relay_processes)
    parser.add_argument(
        "--generator-processes", type=_at_least_one, default=crowd.generator_processes
    )
    parser.add_argument(
        "--agents",
        type=_at_least_one,
        default=crowd.agents_per_process,
        help="in each of these processes",
    )
    parser.add_argument("--calm", type=float, default=plan.calm_s, help="seconds of it")
    parser.add_argument("--stop", type=float, default=plan.stop_s, help="0: no stop of the root")
    parser.add_argument("--slow", type=float, default=plan.slow_s, help="0: its disk is not slow")
    parser.add_argument(
        "--disk", type=float, default=crowd.disk_s, help="what a sync takes on the slow disk"
    )
    parser.add_argument("--after", type=float, default=plan.after_s, help="seconds after a trouble")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--keep", help="a new directory for logs, samples and state")
    return parser


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"wanted a whole number from 1 on, got {text}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
