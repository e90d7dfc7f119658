"""``python -m fuzz [TARGET …] [--seconds N] [--seed N] [--coverage]``: fuzz for so much CPU time.

The seed is printed first; the same seed tries the same inputs. Exit code 1: something was found,
and the input lies under ``fuzz/crashers`` and is tried again by every later run and by the tests.
"""

import argparse
import random
import sys

from fuzz.campaign import run_campaign
from fuzz.targets import TARGETS

SECONDS_EACH = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of: {', '.join(TARGETS)}")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS_EACH, help="of CPU, for each target"
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument(
        "--coverage", action="store_true", help="one target guided by coverage; needs atheris"
    )
    chosen = parser.parse_args()
    unknown = set(chosen.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are: {', '.join(TARGETS)}")
    seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    if chosen.coverage:
        return _guided(chosen.targets, seconds=chosen.seconds, seed=seed)
    finds = 0
    for name in chosen.targets or TARGETS:
        campaign = run_campaign(name, seed=seed, seconds=chosen.seconds)
        print(campaign, flush=True)
        finds += len(campaign.finds)
    return 1 if finds else 0


def _guided(targets: list[str], *, seconds: float, seed: int) -> int:
    try:
        import atheris
    except ImportError:
        print("coverage: atheris is not installed here; run without --coverage, or install it")
        return 2
    if len(targets) != 1:
        print(f"coverage: wanted one target, got {targets}")
        return 2
    target = TARGETS[targets[0]]
    with atheris.instrument_imports(include=["headwater"]):
        import headwater.net.values.codec  # noqa: F401 - instrumented as it is imported
    options = [sys.argv[0], f"-max_total_time={int(seconds)}", f"-seed={seed % (1 << 31) or 1}"]
    atheris.Setup(options, lambda data: target.run(data) and None)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
