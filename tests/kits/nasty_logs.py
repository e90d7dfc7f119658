"""Logs that real sites write and tests forget: late, shuffled, skewed, empty, broken, strange.

Five sites: one has most of the records, one has few, one has only malformed lines, one has an
empty file, one has no file at all. The same seed writes the same bytes.
"""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

SITES = {"amsterdam": 1500, "bogota": 300, "cairo": 0, "dakar": 0, "edinburgh": 40}
BEGIN = datetime(2026, 3, 1, 11, 59, 30, tzinfo=UTC)
SPAN_S = 400.0

DOMAINS = ("example.org", "a.example", "ÄÖÜ.example", "日本.example", "", "z" * 300)
LATENCIES = ("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1e308", "-1e-300", "")
MALFORMED = (
    "not a record at all",
    "1,2026-03-01T12:00:00Z,too,few",
    "x,2026-03-01T12:00:00Z,a.example,200,1,1.0,1.00,true",
    "7,yesterday,a.example,200,1,1.0,1.00,true",
    "8,2026-03-01T12:00:00Z,a.example,99999999999,1,1.0,1.00,true",
    "9,2026-03-01T12:00:00Z,a.example,200,1,1.0,123456789012.00,true",
    "",
)


def write_sites(directory: Path, *, seed: int) -> None:
    """One folder for each site, with its log cut into several files where there is one."""
    chance = random.Random(seed)
    for site, count in SITES.items():
        folder = directory / site
        folder.mkdir(parents=True)
        if site == "edinburgh":
            (folder / "empty-0.csv").write_text("")
        if site == "dakar":
            continue
        lines = [_line(chance, n) for n in range(count)]
        lines += [chance.choice(MALFORMED) for _ in range(12 if site != "bogota" else 0)]
        chance.shuffle(lines)
        for part in range(3):
            text = "\n".join(lines[part::3])
            end = "" if part == 2 else "\n"
            (folder / f"log-{part}.csv").write_text(text + end, encoding="utf-8")


def _line(chance: random.Random, number: int) -> str:
    at = BEGIN + timedelta(seconds=chance.random() ** 3 * SPAN_S)
    if chance.random() < 0.02:
        at -= timedelta(days=20_700)
    domain = DOMAINS[min(int(chance.expovariate(1.2)), len(DOMAINS) - 1)]
    status = chance.choice((200, 200, 200, 301, 404, 500, ""))
    size = chance.choice((chance.randint(0, 5_000), 9_007_199_254_740_993, -3, ""))
    latency = chance.choice((f"{chance.lognormvariate(3, 1):.6f}",) * 5 + LATENCIES)
    price = chance.choice((f"{chance.randint(-999, 99_999_999) / 100:.2f}", ""))
    flag = chance.choice(("true", "false", ""))
    return f"{number},{at.isoformat()},{domain},{status},{size},{latency},{price},{flag}"
