"""``python -m schedules``: run the schedules of many seeds, or look closely at one.

python -m schedules --seeds 2000                 the seeds 1 … 2000
python -m schedules --from 17 --seeds 1          one seed, again
python -m schedules --from 17 --seeds 1 --story  and everything that happened in it
python -m schedules --kinds kill,disk            with these kinds of trouble in every schedule
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from schedules.plan import Kind
from schedules.run import Outcome, run_schedule
from schedules.sweep import Sweep, run_seeds

FAILURES_MAX = 5
"""After so many failures a sweep stops: they are mostly the same."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    print(f"seeds {seeds.start} … {seeds.stop - 1}", flush=True)
    kinds = None if options.kinds is None else _kinds(options.kinds)
    if options.story:
        return _tell_story(seeds.start, kinds, has_calls=options.calls)
    sweep, began_s = Sweep(), time.monotonic()
    for outcome in run_seeds(seeds, kinds=kinds, jobs=options.jobs):
        sweep.add(outcome)
        if not outcome.is_good and len(sweep.failures) <= options.failures:
            print(outcome.report(), flush=True)
        if len(sweep.failures) >= options.failures and not options.all:
            break
    print(sweep.summary(), f"in {time.monotonic() - began_s:.1f} s")
    _show_counts(sweep, is_all=options.counts)
    for what in sweep.never if kinds is None else ():
        print(f"never happened, so nothing is proved about it: {what}")
    return 1 if sweep.failures or (kinds is None and sweep.never) else 0


def _show_counts(sweep: Sweep, *, is_all: bool) -> None:
    if is_all:
        for what, count in sorted(sweep.counts.items()):
            print(f"{count:10d}  {what}")
    rules = Counter(rule for one in sweep.failures for rule in {v.rule for v in one.violations})
    for rule, count in rules.most_common():
        seeds = [o.seed for o in sweep.failures if any(v.rule == rule for v in o.violations)]
        print(f"{count:10d}  schedules break {rule!r}: seeds {', '.join(map(str, seeds[:8]))}")


def _tell_story(seed: int, kinds: tuple[Kind, ...] | None, *, has_calls: bool) -> int:
    outcome: Outcome = run_schedule(seed, kinds, is_told=True, has_calls=has_calls)
    for line in outcome.story:
        print(line)
    print(outcome.report() if not outcome.is_good else "all good")
    return 0 if outcome.is_good else 1


def _kinds(text: str) -> tuple[Kind, ...]:
    return tuple(Kind(word) for word in text.split(",") if word)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m schedules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--kinds", help=f"with commas between them, of: {', '.join(Kind)}")
    parser.add_argument("--story", action="store_true", help="print all of the first seed")
    parser.add_argument("--calls", action="store_true", help="and every call of the disk in it")
    parser.add_argument("--counts", action="store_true", help="print how often things happened")
    parser.add_argument(
        "--failures", type=int, default=FAILURES_MAX, help="to show before it stops"
    )
    parser.add_argument("--all", action="store_true", help="go on after failures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
