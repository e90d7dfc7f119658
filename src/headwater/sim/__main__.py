"""``python -m headwater.sim``: sweep seeds, or look closely at one.

python -m headwater.sim --seeds 2000                 the seeds 1 … 2000
python -m headwater.sim --from 17 --seeds 1          one seed, again
python -m headwater.sim --from 17 --seeds 1 --story  and everything that happened in it
"""

from __future__ import annotations

import argparse
import sys
import time

from headwater.sim.outcome import Outcome
from headwater.sim.scenario import FAULT_S, SITE_COUNT, Scenario
from headwater.sim.sweep import Size, Sweep, run_seeds, shrink
from headwater.sim.world.world import World

STORY_LENGTH_MAX = 5_000_000
FAILURES_MAX = 5
"""After so many failures a sweep stops: they are mostly the same."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    print(f"seeds {seeds.start} … {seeds.stop - 1}", flush=True)
    size = Size(options.sites, options.fault_seconds)
    if options.story:
        return _tell_story(size.draw(seeds.start))
    sweep, began_s = Sweep(), time.process_time()
    for outcome in run_seeds(seeds, size=size, jobs=options.jobs):
        sweep.add(outcome)
        if not outcome.is_good:
            _show_failure(outcome, size, is_shrunk=not options.no_shrink)
        if len(sweep.failures) >= FAILURES_MAX:
            break
    print(sweep.summary(), f"in {time.process_time() - began_s:.1f} s of this process")
    if options.counts:
        for what, count in sorted(sweep.counts.items()):
            print(f"{count:10d}  {what}")
    for what in sweep.never:
        print(f"never happened, so nothing is proved about it: {what}")
    return 1 if sweep.failures or sweep.never else 0


def _show_failure(outcome: Outcome, size: Size, *, is_shrunk: bool) -> None:
    if is_shrunk:
        before = len(outcome.faults)
        outcome = shrink(outcome, size.draw(outcome.seed))
        print(f"(shrunk from {before} to {len(outcome.faults)} faults)")
    print(outcome.report(options=size.options), flush=True)


def _tell_story(scenario: Scenario) -> int:
    world = World(scenario, tail_length=STORY_LENGTH_MAX)
    outcome = world.run()
    for line in world.transcript.lines():
        print(line)
    print(outcome.failure or "all good")
    return 0 if outcome.is_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m headwater.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    parser.add_argument("--sites", type=int, default=SITE_COUNT, help="in each world")
    parser.add_argument(
        "--fault-seconds", type=float, default=FAULT_S, help="virtual time in which faults come"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--story", action="store_true", help="print all events of the first seed")
    parser.add_argument("--counts", action="store_true", help="print how often things happened")
    parser.add_argument("--no-shrink", action="store_true", help="show failures as they came")
    return parser


if __name__ == "__main__":
    sys.exit(main())
