"""``python -m chaos --acts clock,disk --acts-count 8 --seed 7``: exit 0 when nothing was lost,
doubled, told untruly or left behind."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from chaos.acts import GROUPS, draw_acts
from chaos.run import Plan, run

ACTS = 8
"""One of each group and one more: about three minutes."""


def main() -> int:
    arguments = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))  # and ends its agents
    began_s = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began_s:7.1f} s  {text}", flush=True)

    print(f"seed {arguments.seed}, {arguments.acts_count} acts of {arguments.acts}", flush=True)
    groups = arguments.acts
    plan = Plan(
        acts=lambda without: draw_acts(
            groups=groups, count=arguments.acts_count, seed=arguments.seed, without=without
        ),
        seed=arguments.seed,
        wants=tuple(kind for group in groups for kind in GROUPS[group]),
        keeps_state=bool(arguments.keep),
    )
    with tempfile.TemporaryDirectory(prefix="chaos-") as scratch:
        directory = Path(arguments.keep or scratch) / "federation"
        outcome = run(plan, directory, say=say)
    say(outcome.text())
    print("good" if outcome.is_good else f"NOT GOOD, seed {arguments.seed}")
    return 0 if outcome.is_good else 1


def _groups(text: str) -> list[str]:
    groups = [name.strip() for name in text.split(",")]
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"wanted some of {','.join(GROUPS)}, got {','.join(unknown)}"
        )
    return groups


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="chaos", description="Kill, cut, stop, fill and mislead real agents."
    )
    parser.add_argument(
        "--acts",
        type=_groups,
        default=list(GROUPS),
        metavar="GROUP,GROUP",
        help=f"groups of faults, of: {','.join(GROUPS)}; all of them unless said",
    )
    parser.add_argument("--acts-count", type=int, default=ACTS, help="how many acts are drawn")
    parser.add_argument("--seed", type=int, default=1, help="the same seed draws the same faults")
    parser.add_argument("--keep", help="a new directory for logs and state, which stay there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
