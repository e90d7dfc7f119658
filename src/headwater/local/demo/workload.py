"""CDN access logs that look real, from a seed: what the demo reads and the benchmarks measure.

A log that every site writes alike would flatter us: merging pays off when few keys are common and
many are rare, and trouble comes from what a generator usually leaves out. So domains and URLs are
drawn from Zipf distributions with local favourites at each site, the load follows a day curve in
the site's own zone, sites differ in size, latencies are log-normal and sizes Pareto; a line is
written when its request *ends* but carries the time when it began, a few lines come much later
than that, and a few do not parse at all.

Everything is drawn for a *tick* from a generator seeded by (seed, site, tick). What a file holds is
therefore a function of the seed and the ticks written, however often or seldom the writer is
called. Lines are built by Arrow from whole columns; Python touches only the malformed ones.

Fields, in order: ``ts, domain, url, status, bytes, latency_ms, client, cache``.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.algebra.panes import MICROS
from headwater.errors import ConfigurationError
from headwater.local.demo.cdn_catalogue import Catalogue

DAY_S = 86_400.0
BULK_LINES = 200_000
"""Lines that the bulk mode builds at once: some 25 MB, enough for Arrow to run at its speed."""
CURVE_STEPS = 256
"""Steps in which the day curve is followed within one stretch of lines."""
BULK_TICK = 1 << 40
"""Stands for "bulk" where a tick's number seeds the draw; no writer ever gets there."""
LATENCY_MS_MAX = 30_000.0

Generator = np.random.Generator
Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]


class SiteProfile(msgspec.Struct, frozen=True):
    """One site as the workload sees it."""

    name: str
    lines_per_s: float
    """The mean over a day."""
    zone_h: float = 0.0
    """Hours that the site's noon comes before UTC's."""
    file_count: int = 2
    """Servers at the site, each with a log file of its own."""
    latency_ms: float = 18.0
    """The median of a cached request here."""
    swing: float = 1.0
    """Of the traffic's swing, what is seen here; 0: the same load by day and by night."""


class Traffic(msgspec.Struct, frozen=True):
    """What all sites have in common, and the seed."""

    seed: int
    domain_count: int = 400
    path_count: int = 5_000
    client_count: int = 20_000
    zipf_exponent: float = 1.05
    swing: float = 0.6
    """How far the load rises and falls over a day, as a share of its mean."""
    day_s: float = DAY_S
    """How long a day takes; a demo of a minute makes it short."""
    late_share: float = 0.004
    late_s_max: float = 6.0
    malformed_share: float = 0.0005
    delimiter: str = ","
    tick_s: float = 0.25
    rotate_s: float = 25.0
    """A server starts a new file after this long; the old one is renamed, as logrotate does."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.swing <= 1.0:
            raise ConfigurationError(f"workload: wanted swing between 0 and 1, got {self.swing}")
        if self.tick_s <= 0 or self.day_s <= 0 or self.rotate_s < self.tick_s:
            raise ConfigurationError(
                "workload: wanted tick_s > 0, day_s > 0, rotate_s >= tick_s, got "
                f"{self.tick_s}, {self.day_s}, {self.rotate_s}"
            )


class LineMaker:
    """The lines of one site, tick by tick or in bulk."""

    def __init__(self, profile: SiteProfile, traffic: Traffic) -> None:
        self.profile = profile
        self._traffic = traffic
        self._site_key = zlib.crc32(profile.name.encode())
        favourites = np.random.default_rng((traffic.seed, self._site_key))
        self._catalogue = Catalogue.make(
            seed=traffic.seed,
            domain_count=traffic.domain_count,
            path_count=traffic.path_count,
            zipf_exponent=traffic.zipf_exponent,
            favourites=favourites,
        )

    def load_at(self, time_s: Floats | float) -> Floats:
        """The day curve: 1 on average, highest in the evening of the site's own zone."""
        traffic = self._traffic
        zone = self.profile.zone_h / 24.0
        turn = 2.0 * np.pi * (np.asarray(time_s, dtype=np.float64) / traffic.day_s + zone - 20 / 24)
        swing = traffic.swing * self.profile.swing
        return 1.0 + swing * (0.8 * np.cos(turn) + 0.2 * np.cos(2.0 * turn))

    def tick(self, start_s: float, number: int) -> list[bytes]:
        """What each server of the site writes in this tick; one entry for each file."""
        traffic, profile = self._traffic, self.profile
        draw = np.random.default_rng((traffic.seed, self._site_key, number))
        from_s = start_s + number * traffic.tick_s
        mean = profile.lines_per_s * traffic.tick_s * float(self.load_at(from_s))
        count = int(draw.poisson(mean))
        lines = self._lines(draw, self._arrivals(draw, count, from_s, from_s + traffic.tick_s))
        server = draw.integers(0, profile.file_count, count)
        return [_joined(lines.filter(pa.array(server == n))) for n in range(profile.file_count)]

    def bulk(
        self, *, line_count: int, from_s: float, to_s: float, stretch: int = BULK_LINES
    ) -> Iterator[bytes]:
        """``line_count`` lines over the time, in stretches of so many."""
        draw = np.random.default_rng((self._traffic.seed, self._site_key, BULK_TICK))
        for first in range(0, line_count, stretch):
            last = min(first + stretch, line_count)
            edges = self._times(np.array([first, last]) / line_count, from_s, to_s)
            ends_s = self._arrivals(draw, last - first, float(edges[0]), float(edges[1]))
            yield _joined(self._lines(draw, ends_s))

    def _arrivals(self, draw: Generator, count: int, from_s: float, to_s: float) -> Floats:
        """When the requests of a stretch end, in order, denser where the load is higher."""
        return self._times(np.sort(draw.random(count)), from_s, to_s)

    def _times(self, shares: Floats, from_s: float, to_s: float) -> Floats:
        """The times by which these shares of the stretch's lines have been written."""
        grid = np.linspace(from_s, to_s, CURVE_STEPS + 1)
        weight = np.concatenate(([0.0], np.cumsum(self.load_at((grid[1:] + grid[:-1]) / 2))))
        times: Floats = np.interp(shares * weight[-1], weight, grid)
        return times

    def _lines(self, draw: Generator, ends_s: Floats) -> pa.Array:
        requests = self._catalogue.draw(draw, len(ends_s))
        latency_ms = self._latencies(draw, requests.is_hit, requests.status)
        late = draw.random(len(ends_s)) < self._traffic.late_share
        behind_s = latency_ms / 1e3 + late * draw.random(len(ends_s)) * self._traffic.late_s_max
        client = _zipf_like(draw, len(ends_s), self._traffic.client_count)
        columns = [
            _iso(((ends_s - behind_s) * MICROS).astype(np.int64)),
            requests.domain,
            requests.url,
            _text(requests.status),
            _text(requests.size_bytes),
            _text(np.round(latency_ms, 1)),
            _addresses(client),
            requests.cache,
        ]
        lines = pc.binary_join_element_wise(*columns, self._traffic.delimiter)
        return _damage(draw, lines, self._traffic.malformed_share)

    def _latencies(self, draw: Generator, is_hit: Any, status: Integers) -> Floats:
        """Log-normal; a miss pays the way to the origin, a server error its time-out."""
        median = np.where(is_hit, self.profile.latency_ms, 6.0 * self.profile.latency_ms)
        median = np.where(status >= 500, 25.0 * self.profile.latency_ms, median)
        spread: Floats = median * np.exp(draw.normal(0.0, 0.6, len(status)))
        return np.clip(spread, 0.1, LATENCY_MS_MAX)


class SiteWriter:
    """Grows the log files of one site as time goes on; the time is handed in."""

    def __init__(
        self, directory: Path, profile: SiteProfile, traffic: Traffic, *, start_s: float
    ) -> None:
        self.lines_bytes = 0
        """Written so far, over all files."""
        self._maker = LineMaker(profile, traffic)
        self._traffic = traffic
        self._start_s = start_s
        self._next_tick = 0
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._files = [self._open(server) for server in range(profile.file_count)]

    def advance(self, now_s: float) -> int:
        """Writes every tick that is over by ``now_s``; returns how many bytes that were."""
        before = self.lines_bytes
        due = int((now_s - self._start_s) / self._traffic.tick_s)
        while self._next_tick < due:
            self._write_tick(self._next_tick)
            self._next_tick += 1
        for file in self._files:
            file.flush()
        return self.lines_bytes - before

    def close(self) -> None:
        """The input ends: files are flushed and closed, nothing is removed."""
        for file in self._files:
            file.close()

    def _write_tick(self, number: int) -> None:
        for server, data in enumerate(self._maker.tick(self._start_s, number)):
            if self._is_rotation(server, number):
                self._rotate(server, number)
            self._files[server].write(data)
            self.lines_bytes += len(data)

    def _is_rotation(self, server: int, number: int) -> bool:
        """Servers take turns, so that not all files of a site change names at once."""
        every = int(self._traffic.rotate_s / self._traffic.tick_s)
        shift = every * server // len(self._files)
        return number > 0 and (number + shift) % every == 0

    def _rotate(self, server: int, number: int) -> None:
        self._files[server].close()
        path = self._path(server)
        path.rename(path.with_name(f"{path.name}.{number:06d}"))
        self._files[server] = self._open(server)

    def _path(self, server: int) -> Path:
        return self._directory / f"access-{server + 1}.log"

    def _open(self, server: int) -> IO[bytes]:
        return open(self._path(server), "ab")


def write_bulk(
    directory: Path,
    profile: SiteProfile,
    traffic: Traffic,
    *,
    line_count: int,
    from_s: float,
    to_s: float,
) -> int:
    """Complete files of ``line_count`` lines together, for benchmarks; returns their bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    maker, written = LineMaker(profile, traffic), 0
    with ExitStack() as files:
        paths = [directory / f"access-{n + 1}.log" for n in range(profile.file_count)]
        opened = [files.enter_context(path.open("wb")) for path in paths]
        stretch = min(BULK_LINES, -(-line_count // len(opened)))
        data_of = maker.bulk(line_count=line_count, from_s=from_s, to_s=to_s, stretch=stretch)
        for number, data in enumerate(data_of):
            written += opened[number % len(opened)].write(data)
    return written


def _iso(times_us: Integers) -> pa.Array:
    """``2026-05-04T12:00:00.123456Z``; Arrow writes naive times far faster than zoned ones."""
    naive = pa.array(times_us, type=pa.timestamp("us")).cast(pa.string())
    return pc.binary_join_element_wise(pc.binary_replace_slice(naive, 10, 11, "T"), "Z", "")


def _text(numbers: Any) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _zipf_like(draw: Generator, count: int, size: int) -> Integers:
    """Ranks below ``size`` with weight about 1/rank: cheap, for clients, where nobody counts."""
    return (np.power(float(size), draw.random(count)) - 1.0).astype(np.int64)


def _addresses(client: Integers) -> pa.Array:
    """Private addresses, scattered so that popular clients are not neighbours."""
    spread = (client * 2_654_435_761) % (1 << 24)
    octets = [_text(spread >> shift & 255) for shift in (16, 8, 0)]
    return pc.binary_join_element_wise("10", *octets, ".")


def _damage(draw: Generator, lines: pa.Array, share: float) -> pa.Array:
    """A few lines as crashed writers and strange clients leave them: torn, empty, or not ours."""
    spoilt = np.flatnonzero(draw.random(len(lines)) < share)
    if not len(spoilt):
        return lines
    texts = []
    for number in spoilt.tolist():
        line = lines[number].as_py()
        torn = line[: len(line) // 3]
        texts.append((torn, "-- worker restarted --", line.replace("Z", "?", 1))[number % 3])
    mask = np.zeros(len(lines), dtype=bool)
    mask[spoilt] = True
    return pc.replace_with_mask(lines, pa.array(mask), pa.array(texts, type=pa.string()))


def _joined(lines: pa.Array) -> bytes:
    """All lines with their ends, as one piece: Arrow has them side by side in memory."""
    if not len(lines):
        return b""
    ended = pc.binary_join_element_wise(lines, "\n", "")
    _, offsets, data = ended.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[ended.offset : ended.offset + len(ended) + 1]
    return bytes(data[int(bounds[0]) : int(bounds[-1])].to_pybytes())
