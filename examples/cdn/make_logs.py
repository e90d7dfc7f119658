"""Write the logs of a small CDN: ``python examples/cdn/make_logs.py DIRECTORY [--sites 5] …``.

Each site has one file, a line for each request: time, client, URL, referrer, status, bytes,
milliseconds, agent. Domains are drawn by Zipf's law, and URLs within them by another. A line has
290 bytes; those of CoralCDN have 360. One seed gives one file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

ORIGIN_S = 1_358_640_000
"""20 January 2013, the day of the paper's logs."""
DOMAINS = 500
URLS_OF_A_DOMAIN = 2_000
DOMAIN_SKEW = 1.3
URL_SKEW = 1.15
STATUSES = np.array([200, 206, 301, 304, 403, 404, 500, 504])
SHARES = np.array([0.78, 0.05, 0.03, 0.06, 0.01, 0.05, 0.01, 0.01])
AGENTS = (
    "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.17 (KHTML, like Gecko) "
    "Chrome/24.0.1312.52 Safari/537.17 CoralWebPrx/0.1.20 (See http://coralcdn.org/)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_8_2) AppleWebKit/536.26.17 (KHTML, like Gecko) "
    "Version/6.0.2 Safari/536.26.17 CoralWebPrx/0.1.20 (See http://coralcdn.org/)",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) via CoralWebPrx",
)


def lines(site: int, *, rate: float, seconds: int, seed: int = 1) -> Iterator[str]:
    """The lines of one site: ``rate`` requests in each second, on average, in order of time."""
    draw = np.random.default_rng((seed, site))
    count = int(draw.poisson(rate * seconds))
    at_ms = np.sort(draw.integers(0, seconds * 1000, count))
    domain = draw.zipf(DOMAIN_SKEW, count) % DOMAINS
    page = draw.zipf(URL_SKEW, count) % URLS_OF_A_DOMAIN
    source = draw.zipf(DOMAIN_SKEW, count) % DOMAINS
    status = draw.choice(STATUSES, count, p=SHARES)
    size = np.where(status >= 400, 512, draw.lognormal(9.5, 1.6, count).astype(np.int64) + 64)
    speed = draw.lognormal(4.5, 1.4, count) + 0.5  # bytes in a millisecond
    ms = (size / speed).astype(np.int64) + 1
    client = draw.integers(1, 255, (count, 3))
    agent = draw.integers(0, len(AGENTS), count)
    for n in range(count):
        moment = datetime.fromtimestamp(ORIGIN_S + at_ms[n] / 1000, UTC)
        a, b, c = client[n]
        yield "\t".join(
            (
                moment.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3],
                f"10.{a}.{b}.{c}",
                f"http://www.site-{domain[n]}.example.com/files/archive/{page[n]:04d}/page.html",
                f"http://blog-{source[n]}.example.net/entry/2013/01/",
                str(status[n]),
                str(size[n]),
                str(ms[n]),
                AGENTS[agent[n]],
            )
        )


def write_logs(into: Path, *, sites: int, rate: float, seconds: int, seed: int = 1) -> int:
    """A folder for each site. Returns how many bytes there are."""
    written = 0
    for site in range(1, sites + 1):
        folder = into / f"node-{site:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{one}\n" for one in lines(site, rate=rate, seconds=seconds, seed=seed))
        written += (folder / "access.log").write_bytes(text.encode())
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second at each site")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    size = write_logs(
        given.directory, sites=given.sites, rate=given.rate, seconds=given.seconds, seed=given.seed
    )
    print(f"{given.directory}: {given.sites} sites, {size:,} bytes")


if __name__ == "__main__":
    main()
