"""Records that programs and people write: shops, sensors, events, downloads, flights."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from datetime import timedelta

from gallery.draw import NOON, Files, lines, of_site, often, times


def sensors() -> Files:
    """A gateway stamps what it receives; the sensors' own clocks are off, some by years."""
    return {
        f"sites/{site}/readings.csv": lines(_readings(of_site("sensors", site), site))
        for site in ("dam", "ridge", "valley")
    }


def _readings(draw: random.Random, site: str) -> Iterator[str]:
    offsets_s = {f"{site}-{n}": 0 for n in range(6)}
    offsets_s[f"{site}-1"] = 3 * 3600
    offsets_s[f"{site}-4"] = -int(NOON.timestamp()) + 120
    yield "received_at,sensor,measured_at,celsius"
    for at in times(draw, 200, over_s=7200):
        sensor = draw.choice(list(offsets_s))
        said = at + timedelta(seconds=offsets_s[sensor] - draw.random())
        celsius = "" if draw.random() < 0.03 else f"{draw.gauss(11, 4):.1f}"
        yield f"{_iso(at)},{sensor},{_iso(said)},{celsius}"


def _iso(at: object) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")  # type: ignore[attr-defined]


KINDS = ("PushEvent", "WatchEvent", "IssuesEvent", "PullRequestEvent", "CreateEvent", "ForkEvent")
REPOSITORIES = tuple(
    f"{owner}/{name}"
    for owner in ("mira", "acme", "octo")
    for name in ("engine", "site", "docs", "tools")
)


def github_events() -> Files:
    """Objects within objects, fields that only some kinds have."""
    return {
        f"sites/{site}/2026-05-04-9.json": lines(_github(of_site("github_events", site)))
        for site in ("archive-a", "archive-b")
    }


def _github(draw: random.Random) -> Iterator[str]:
    for at in times(draw, 240, over_s=3600):
        kind = often(draw, KINDS)
        size = draw.randrange(1, 9)
        payload: dict[str, object] = {"action": often(draw, ("opened", "closed", "started"))}
        if kind == "PushEvent":
            payload = {"size": size, "commits": [{"sha": f"{draw.getrandbits(40):010x}"}] * size}
        yield json.dumps(
            {
                "id": str(draw.randrange(10**10, 10**11)),
                "type": kind,
                "actor": {"id": draw.randrange(9999), "login": f"user{draw.randrange(60)}"},
                "repo": {"id": draw.randrange(9999), "name": often(draw, REPOSITORIES)},
                "payload": payload,
                "public": True,
                "created_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
            separators=(",", ":"),
        )


CHANNELS = ("#en.wikipedia", "#de.wikipedia", "#ja.wikipedia", "#vi.wikipedia", "#commons")
TITLES = ("Main Page", "Zürich", "東京", "Đà Nẵng", "C++", 'The "Quoted" Title', "Tab\tTitle")


def wiki_events() -> Files:
    """Names in many scripts, quotes and tabs within texts, numbers that may be negative."""
    return {
        f"sites/{site}/edits.json": lines(_wiki(of_site("wiki_events", site)))
        for site in ("eqiad", "codfw", "esams")
    }


def _wiki(draw: random.Random) -> Iterator[str]:
    for at in times(draw, 180, over_s=7200):
        delta = int(draw.gauss(20, 300))
        yield json.dumps(
            {
                "time": _iso(at),
                "channel": often(draw, CHANNELS),
                "page": often(draw, TITLES),
                "user": f"Editor {draw.randrange(50)}",
                "comment": '/* History */ fixed \\ and "quotes"' if draw.random() < 0.2 else "",
                "isRobot": draw.random() < 0.4,
                "isAnonymous": draw.random() < 0.2,
                "countryIsoCode": draw.choice((None, None, "NO", "VN", "BR")),
                "delta": delta,
                "added": max(delta, 0),
                "deleted": max(-delta, 0),
            },
            ensure_ascii=False,
        )


PORTS = ("1433", "22", "3389", "5060", "80", "445")


def honeypots() -> Files:
    """Seconds since 1970, one file for each site, empty where a country isn't known."""
    return {
        f"sites/{site}/attempts.csv": lines(_attempts(of_site("honeypots", site)))
        for site in ("oregon", "tokyo", "dublin", "sydney")
    }


def _attempts(draw: random.Random) -> Iterator[str]:
    yield "unix_ts,proto,dst_port,src_port,src_id,country"
    for at in times(draw, 200, over_s=86_400):
        proto = draw.choice(("TCP", "TCP", "UDP", "ICMP"))
        to, by = often(draw, PORTS), str(draw.randrange(1024, 65_536))
        ports = "," if proto == "ICMP" else f"{to},{by}"
        country = often(draw, ("CN", "US", "DE", "BR", "", "VN"))
        yield f"{int(at.timestamp())},{proto},{ports},a{draw.randrange(90)},{country}"


PACKAGES = (
    ("ggplot2", "Create Elegant, Declarative Graphics"),
    ("digest", "Hashes"),
    ("Rcpp", 'Seamless R and "C++"'),
    ("lme4", "Linear, Mixed Models"),
    ("zoo", "Ordered Series"),
)


def package_downloads() -> Files:
    """A day's downloads of a mirror: a header, all texts quoted, commas and quotes in titles."""
    return {
        f"sites/{site}/2026-05-04.csv": _downloads(of_site("package_downloads", site))
        for site in ("mirror-at", "mirror-br", "mirror-us")
    }


def _downloads(draw: random.Random) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(("date", "time", "size", "r_version", "r_os", "package", "title", "country"))
    for at in times(draw, 220, over_s=86_400):
        package, title = PACKAGES[int(draw.random() ** 2 * len(PACKAGES))]
        writer.writerow(
            (
                f"{at:%Y-%m-%d}",
                f"{at:%H:%M:%S}",
                draw.randrange(9_000, 4_000_000),
                draw.choice(("4.5.1", "4.4.3", "NA")),
                often(draw, ("linux-gnu", "mingw32", "NA")),
                package,
                title,
                often(draw, ("US", "AT", "BR", "IN", "NA")),
            )
        )
    return out.getvalue().encode()


AIRPORTS = ("ORD", "ATL", "DFW", "LAX", "PHX", "DEN", "LAS")
CARRIERS = ("AA", "DL", "UA", "WN")


def flights() -> Files:
    """Date in three columns, the time as hhmm, NA for what isn't known, a comma at each end."""
    return {
        f"sites/{airport.lower()}/2026-05.csv": lines(
            _flights(of_site("flights", airport), airport)
        )
        for airport in AIRPORTS[:4]
    }


def _flights(draw: random.Random, origin: str) -> Iterator[str]:
    yield "Year,Month,DayofMonth,DepTime,UniqueCarrier,Origin,Dest,DepDelay,Distance,Cancelled,"
    for at in times(draw, 150, over_s=3 * 86_400):
        is_cancelled = draw.random() < 0.03
        dest = draw.choice([one for one in AIRPORTS if one != origin])
        delay = "NA" if is_cancelled else str(int(draw.gauss(8, 25)))
        distance = "NA" if draw.random() < 0.02 else str(draw.randrange(200, 2600))
        yield (
            f"{at.year},{at.month},{at.day},{at:%H%M},{draw.choice(CARRIERS)},{origin},{dest},"
            f"{delay},{distance},{int(is_cancelled)},"
        )
