"""How many bytes of logs there are for each byte that is sent, for JetStream's questions (J12).

``python -m benchmarks.cdn_queries``. The logs are those of ``examples/cdn/make_logs.py`` at several
rates. What is sent is each pane of each site as the message that it travels in first, envelope and
signature included; merging on the way makes it less. The paper's logs have 32 requests a second at
each node, and its ratio is of records on the wire without signatures. The ratio grows with the
records for each pane, since a group is sent once however many there are.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from headwater.local.trial.sent_bytes import sent_bytes
from headwater.spark.jvm.session import SparkConfig, start_session

CDN = Path(__file__).resolve().parents[1] / "examples" / "cdn"
SITES = 3
SECONDS = 60
RATES = (3.2, 32.0, 320.0, 1600.0)
"""Requests a second at each site; the second is the paper's."""
PAPER = {
    "slow_requests": 24,
    "requests_by_url": 351,
    "success_by_domain": 445,
    "quantiles": 715,
    "top_domains": 2_300,
    "bad_referrers": 18_600,
    "bandwidth_by_node": 49_800,
}


def main() -> None:
    spec = importlib.util.spec_from_file_location("make_logs", CDN / "make_logs.py")
    assert spec is not None
    assert spec.loader is not None
    make_logs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_logs)
    text = (CDN / "queries.sql").read_text("utf-8")
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="headwater-cdn-") as place:
        spark = start_session(SparkConfig(directory=place, log=f"{place}/spark.log"))
        try:
            for rate in RATES:
                logs = Path(place) / f"rate-{rate:g}"
                make_logs.write_logs(logs, sites=SITES, rate=rate, seconds=SECONDS)
                for one in sent_bytes(text, logs, Path(place) / f"sample-{rate:g}", lambda: spark):
                    found.setdefault(one.stream, []).append(one.reduction)
        finally:
            spark.stop()
    print(f"{SITES} sites, {SECONDS} s, panes of 5 s; source bytes for each byte sent")
    print(
        f"{'requests a second':20}" + "".join(f"{rate:>10g}" for rate in RATES) + f"{'paper':>10}"
    )
    for stream, ratios in found.items():
        shown = "".join(f"{ratio:>10,.0f}" for ratio in ratios)
        print(f"{stream:20}{shown}{PAPER.get(stream, 0):>10,}")


if __name__ == "__main__":
    main()
