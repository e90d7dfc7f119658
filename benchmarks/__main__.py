"""``python -m benchmarks``: all of them, one after the other, each in a process of its own."""

import os
import platform
import subprocess
import sys

ORDER = """
    site_pipeline formats light_load reading_ways agent_footprint merge wire site_parts outbox
    cube_rounds narrow bound_cost states cancelling cdn_queries sliding catch_up asking cluster_cost
    scale
"""


def main() -> int:
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.platform()}; load {load}")
    wanted = sys.argv[1:] or ORDER.split()
    worst = 0
    for name in wanted:
        print(f"\n# {name}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
