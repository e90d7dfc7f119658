"""``python -m hostile [--rows 1,5,9] [--sites 3]``: exit 0 when every attack failed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hostile.attacks import ROWS
from hostile.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    every = ",".join(map(str, ROWS))
    parser.add_argument("--rows", default=every, help="of the table; all of them unless said")
    parser.add_argument("--sites", type=int, default=3, help="with the thief's, which nobody runs")
    parser.add_argument("--no-spark", action="store_true", help="agents that answer nothing")
    parser.add_argument("--keep", help="a new directory for logs and state, which stay there")
    chosen = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        directory = Path(chosen.keep or scratch) / "federation"
        rows = [int(row) for row in chosen.rows.split(",")]
        outcome = run(
            directory,
            rows=rows,
            site_count=chosen.sites,
            has_spark=not chosen.no_spark,
            say=lambda text: print(text, flush=True),
        )
    for trouble in outcome.troubles:
        print(f"TROUBLE: {trouble}")
    took_s = time.monotonic() - began_s
    print(f"{outcome.windows} windows exact, final and right; {took_s:.0f} s")
    print("good" if outcome.is_good else "NOT GOOD")
    return 0 if outcome.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
