"""Access logs for the measurements: plain lines, drawn from a seed, built by Arrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SOURCE = """
CREATE SOURCE access (
  ts TIMESTAMP, domain STRING, url STRING, status INT, bytes BIGINT, latency_ms DOUBLE,
  client STRING, cache STRING
) WITH (format = 'csv', path = '*.csv', time = 'ts');
"""
SCHEMA = (
    "ts TIMESTAMP, domain STRING, url STRING, status INT, bytes BIGINT, latency_ms DOUBLE, "
    "client STRING, cache STRING"
)
LINES_PER_S = 5_000


def lines(count: int, *, seed: int, start_s: float = 1_777_636_800.0) -> pa.Array:
    """So many requests, one after the other, on 400 domains of very unlike popularity."""
    chance = np.random.default_rng(seed)
    micros = ((start_s + np.arange(count) / LINES_PER_S) * 1e6).astype("int64")
    times = pc.strftime(pa.array(micros, pa.timestamp("us")), format="%Y-%m-%dT%H:%M:%SZ")
    domains = [f"www.site{n}.example" for n in range(400)]
    urls = [f"/img/{n:x}.jpg" for n in range(5_000)]
    clients = [f"10.1.{n >> 8}.{n & 255}" for n in range(20_000)]
    return pc.binary_join_element_wise(
        times,
        _drawn(domains, np.minimum(chance.zipf(1.3, count), len(domains)) - 1),
        _drawn(urls, chance.integers(0, len(urls), count)),
        _text(chance.choice([200, 206, 304, 404, 500], count)),
        _text(chance.integers(100, 2_000_000, count)),
        _text(np.round(chance.lognormal(3, 1, count), 2)),
        _drawn(clients, chance.integers(0, len(clients), count)),
        _drawn(["HIT", "MISS", "EXPIRED"], chance.integers(0, 3, count)),
        ",",
    )


def write_files(directory: Path, *, files: int, lines_each: int) -> list[Path]:
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(files):
        start_s = 1_777_636_800.0 + number * lines_each / LINES_PER_S
        made = lines(lines_each, seed=number, start_s=start_s)
        path = directory / f"log-{number:04d}.csv"
        path.write_bytes(b"\n".join(value.as_buffer().to_pybytes() for value in made) + b"\n")
        paths.append(path)
    return paths


def _drawn(values: list[str], numbers: np.ndarray) -> pa.Array:
    return pa.array(values).take(pa.array(numbers))


def _text(numbers: np.ndarray) -> pa.Array:
    return pc.cast(pa.array(numbers), pa.string())
