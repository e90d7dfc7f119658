"""``python -m experiments``: all of them, one after the other, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

HELPERS = {"__init__", "__main__", "common", "imr_bed", "mortar_bed"}


def main() -> int:
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted({path.stem for path in here.glob("*.py")} - HELPERS)
    worst = 0
    for name in names:
        print(f"\n# {name}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, "-m", f"experiments.{name}"]).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
