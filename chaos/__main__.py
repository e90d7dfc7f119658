"""``python -m chaos --kills 20 --seed 7``: exit 0 when nothing was lost, doubled or left behind."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from chaos.nemesis import draw_acts
from chaos.run import Plan, run


def main() -> int:
    arguments = _parser().parse_args()
    began_s = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began_s:7.1f} s  {text}", flush=True)

    print(f"seed {arguments.seed}, {arguments.kills} kills", flush=True)
    plan = Plan(
        acts=lambda disks: draw_acts(kills=arguments.kills, seed=arguments.seed, disks=disks),
        seed=arguments.seed,
        keeps_state=bool(arguments.keep),
    )
    with tempfile.TemporaryDirectory(prefix="chaos-") as scratch:
        directory = Path(arguments.keep or scratch) / "federation"
        outcome = run(plan, directory, say=say)
    say(outcome.text())
    print("good" if outcome.is_good else f"NOT GOOD, seed {arguments.seed}")
    return 0 if outcome.is_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chaos", description="Kill, cut and fill real agents.")
    parser.add_argument("--kills", type=int, default=20, help="of agents and of their JVMs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same faults")
    parser.add_argument("--keep", help="a new directory for logs and state, which stay there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
