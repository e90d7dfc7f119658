"""Logs that servers write: three access logs, brokers of Kafka, a video CDN, archives."""

from __future__ import annotations

import bz2
import gzip
import json
import random
from collections.abc import Iterator

import zstandard

from gallery.draw import Files, lines, of_site, often, times

PAGES = ("/", "/news", "/sport", "/search?q=a%20b", "/login", "/img/logo.png", "/api/v1/items")
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X)",
    "curl/8.9.1",
    "-",
)
STATUSES = ("200", "304", "404", "301", "500", "503")


def access_apache() -> Files:
    """Combined format: a clock in brackets with its zone, quotes within quotes escaped."""
    zones = {"fra": "+0000", "iad": "+0000", "sin": "+0000"}
    return {
        f"sites/{site}/access.log": lines(_combined(of_site("access_apache", site), zone))
        for site, zone in zones.items()
    }


def _combined(draw: random.Random, zone: str) -> Iterator[str]:
    for at in times(draw, 160, over_s=3600):
        request = f"{draw.choice(('GET', 'GET', 'POST'))} {often(draw, PAGES)} HTTP/1.1"
        status = often(draw, STATUSES)
        size = "-" if status == "304" else str(draw.randrange(200, 90_000))
        yield (
            f"192.0.2.{draw.randrange(1, 255)} - {draw.choice(('-', '-', 'ann'))} "
            f'[{at:%d/%b/%Y:%H:%M:%S} {zone}] "{request}" {status} {size} '
            f'"https://www.example/" "{often(draw, AGENTS)}"'
        )


def access_nginx() -> Files:
    """As many write it today: one JSON object a line, seconds since 1970 with a fraction."""
    return {
        f"sites/{site}/access.json": lines(_nginx(of_site("access_nginx", site)))
        for site in ("fra", "iad", "sin")
    }


def _nginx(draw: random.Random) -> Iterator[str]:
    for at in times(draw, 160, over_s=3600):
        yield json.dumps(
            {
                "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "remote_addr": f"198.51.100.{draw.randrange(1, 255)}",
                "host": often(draw, ("www.example", "shop.example", "api.example")),
                "request": f"GET {often(draw, PAGES)} HTTP/2.0",
                "status": int(often(draw, STATUSES)),
                "body_bytes_sent": draw.randrange(200, 90_000),
                "request_time": round(draw.lognormvariate(-3.0, 1.0), 3),
                "upstream": None if draw.random() < 0.3 else f"10.0.0.{draw.randrange(1, 9)}:8080",
            }
        )


FIELDS = (
    "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
    "cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header "
    "cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher "
    "x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields"
)


def access_cloudfront() -> Files:
    """W3C extended: lines that begin with a # name the fields, a tab between values."""
    return {
        f"sites/{site}/{site.upper()}.2026-05-04-09.log": lines(
            _cloudfront(of_site("access_cloudfront", site), site)
        )
        for site in ("fra50", "iad79", "sin2")
    }


def _cloudfront(draw: random.Random, site: str) -> Iterator[str]:
    yield "#Version: 1.0"
    yield f"#Fields: {FIELDS}"
    for at in times(draw, 160, over_s=3600):
        result = often(draw, ("Hit", "Miss", "RefreshHit", "Error"))
        status = "502" if result == "Error" else often(draw, ("200", "304", "404"))
        page = often(draw, ("/index.html", "/img/a.jpg", "/video/1.ts", "/app.js"))
        host = "d111111abcdef8.cloudfront.example"
        yield "\t".join(
            [
                f"{at:%Y-%m-%d}",
                f"{at:%H:%M:%S}",
                site.upper(),
                str(draw.randrange(300, 900_000)),
                f"203.0.113.{draw.randrange(1, 255)}",
                "GET",
                host,
                page,
                status,
                "-",
                "Mozilla/5.0%20(X11;%20Linux)",
                "-",
                "-",
                result,
                f"{draw.getrandbits(64):016x}",
                "www.example",
                "https",
                str(draw.randrange(40, 900)),
                f"{draw.lognormvariate(-4, 1):.3f}",
                "-",
                "TLSv1.3",
                "TLS_AES_128_GCM_SHA256",
                result,
                "HTTP/2.0",
                "-",
                "-",
            ]
        )


LEVELS = ("INFO", "INFO", "INFO", "WARN", "ERROR")
SAID = (
    (
        "[ReplicaManager broker={n}] Removed fetcher for partitions Set(orders-{m})",
        "kafka.server.ReplicaManager",
    ),
    (
        "[GroupCoordinator {n}]: Member consumer-{m} in group billing has failed, removing it",
        "kafka.coordinator.group.GroupCoordinator",
    ),
    (
        "[Partition orders-{m} broker={n}] Shrinking ISR from {n},2,3 to {n},2",
        "kafka.cluster.Partition",
    ),
    (
        "[Log partition=clicks-{m}, dir=/var/lib/kafka] Rolled new log segment at offset {o}",
        "kafka.log.Log",
    ),
    (
        "[Controller id={n}] Processing automatic preferred replica leader election",
        "kafka.controller.KafkaController",
    ),
)


def kafka_brokers() -> Files:
    """Log4j's layout; behind an error now and then its trace, whose lines belong to it."""
    return {
        f"sites/broker{n}/server.log": lines(_kafka(of_site("kafka_brokers", str(n)), n))
        for n in (1, 2, 3)
    }


FAILURES = ("java.io.IOException: No space left on device", "java.lang.IllegalStateException: null")


def _trace(number: int, broker: int) -> Iterator[str]:
    yield FAILURES[(number + broker) % len(FAILURES)]
    yield "\tat java.base/sun.nio.ch.FileDispatcherImpl.force0(Native Method)"
    yield f"\tat kafka.log.Log.flush(Log.scala:{1500 + number})"
    yield "Caused by: java.nio.channels.ClosedChannelException"
    yield "\t... 7 more"


def _kafka(draw: random.Random, broker: int) -> Iterator[str]:
    for number, at in enumerate(times(draw, 240, over_s=3600)):
        text, logger = draw.choice(SAID)
        said = text.format(n=broker, m=draw.randrange(12), o=draw.randrange(10**6))
        stamp = f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}"
        if broker == 2 and number == 120:
            yield f"[{stamp}] ERROR [Log partition=clicks-3] Error while flushing ({logger})"
            yield from _trace(number, broker)
        level = draw.choice(LEVELS)
        yield f"[{stamp}] {level} {said} ({logger})"
        if level == "ERROR" and number % 3 == 0:
            yield from _trace(number, broker)


RENDITIONS = ("1080p", "720p", "480p", "2160p", "audio")


def video_cdn() -> Files:
    """What players' requests leave at the edge: tabs, epoch milliseconds, a hyphen for nothing."""
    return {
        f"sites/{site}/edge-{n}.tsv": lines(_video(of_site("video_cdn", f"{site}{n}")))
        for site in ("london", "mumbai", "saopaulo")
        for n in (1, 2)
    }


def _video(draw: random.Random) -> Iterator[str]:
    for at in times(draw, 120, over_s=1800):
        result = often(draw, ("HIT", "MISS", "HIT_STALE"))
        yield "\t".join(
            [
                str(int(at.timestamp() * 1000)),
                f"v{draw.randrange(1, 40):04d}",
                often(draw, RENDITIONS),
                str(draw.randrange(1, 900)),
                result,
                str(draw.randrange(40_000, 4_000_000)),
                str(int(draw.lognormvariate(3.5, 0.9))),
                "-" if result == "HIT" else "origin-eu",
            ]
        )


def archives() -> Files:
    """What logrotate leaves after some days: plain, gzip, bzip2 and zstd side by side."""
    files: Files = {}
    for site in ("north", "south"):
        draw = of_site("archives", site)
        for day, (suffix, pack) in enumerate(_PACKERS.items()):
            data = lines(_daily(draw, day))
            files[f"sites/{site}/visits.csv{suffix}"] = pack(data)
    return files


_PACKERS = {
    "": lambda data: data,
    ".1.gz": lambda data: gzip.compress(data, mtime=0),
    ".2.bz2": bz2.compress,
    ".3.zst": lambda data: zstandard.ZstdCompressor(level=3).compress(data),
}


def _daily(draw: random.Random, day: int) -> Iterator[str]:
    from datetime import timedelta

    for at in times(draw, 90, over_s=86_400):
        at -= timedelta(days=day)
        stamp = at.isoformat(timespec="seconds").replace("+00:00", "Z")
        yield f"{stamp},{often(draw, PAGES)},{draw.randrange(1, 30)}"
