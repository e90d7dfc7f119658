"""What a CDN serves: domains, URLs and how popular each is, drawn from a seed.

Popularity is Zipf over a finite catalogue. Sites share the catalogue and mostly agree on what is
popular, with favourites of their own: each site's ranking is the common one, disturbed. Names end
in ``.example``, which nobody can own.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

_FIRST = ("river", "north", "pixel", "daily", "urban", "green", "metro", "cloud", "prime", "solar")
_SECOND = ("news", "shop", "video", "music", "games", "maps", "books", "mail", "health", "sport")
_HOSTS = ("www", "cdn", "static", "img", "api", "media")
_KINDS = (
    # path, smallest size in bytes (Pareto's scale)
    ("/img/{n:x}.jpg", 8_000),
    ("/static/app-{n:x}.js", 3_000),
    ("/video/seg-{n:05d}.ts", 180_000),
    ("/api/v1/items/{n}", 400),
    ("/css/theme-{n:x}.css", 2_000),
    ("/dl/package-{n}.zip", 500_000),
)
_KIND_WEIGHTS = (0.42, 0.18, 0.12, 0.18, 0.08, 0.02)
_STATUSES = np.array([200, 206, 301, 304, 403, 404, 500, 502, 503], dtype=np.int64)
_STATUS_WEIGHTS = (0.838, 0.04, 0.012, 0.06, 0.006, 0.03, 0.006, 0.004, 0.004)
_CACHES = ("HIT", "MISS", "EXPIRED", "BYPASS")
FAVOUR = 0.4
"""How far a site's ranking strays from the common one, in powers of e of the rank."""
SIZE_BYTES_MAX = 2_000_000_000


class Requests(msgspec.Struct, frozen=True):
    """Columns of equal length, one entry for each request."""

    domain: pa.Array
    url: pa.Array
    status: np.ndarray[Any, np.dtype[np.int64]]
    size_bytes: np.ndarray[Any, np.dtype[np.int64]]
    cache: pa.Array
    is_hit: np.ndarray[Any, np.dtype[np.bool_]]


class Catalogue:
    """The domains and paths that requests are drawn from, with one site's ranking of them."""

    def __init__(
        self,
        *,
        domains: pa.Array,
        paths: pa.Array,
        scales: Any,
        order: Any,
        domain_steps: Any,
        path_steps: Any,
    ) -> None:
        self._domains = domains
        self._paths = paths
        self._scales = scales
        self._order = order
        self._domain_steps = domain_steps
        self._path_steps = path_steps

    @classmethod
    def make(
        cls,
        *,
        seed: int,
        domain_count: int,
        path_count: int,
        zipf_exponent: float,
        favourites: np.random.Generator,
    ) -> Catalogue:
        """``seed`` fixes what all sites share; ``favourites`` draws what is this site's own."""
        common = np.random.default_rng(seed)
        kinds = common.choice(len(_KINDS), size=path_count, p=_KIND_WEIGHTS)
        rank = np.log(np.arange(1, domain_count + 1, dtype=np.float64))
        return cls(
            domains=pa.array([_domain(number) for number in range(domain_count)]),
            paths=pa.array([_KINDS[kind][0].format(n=n) for n, kind in enumerate(kinds)]),
            scales=np.array([_KINDS[kind][1] for kind in kinds], dtype=np.float64),
            order=np.argsort(rank + favourites.normal(0.0, FAVOUR, domain_count), kind="stable"),
            domain_steps=zipf_steps(domain_count, zipf_exponent),
            path_steps=zipf_steps(path_count, zipf_exponent),
        )

    def draw(self, draw: np.random.Generator, count: int) -> Requests:
        """``count`` requests; each domain has the common paths in an order of its own."""
        domain = self._order[np.searchsorted(self._domain_steps, draw.random(count), side="right")]
        rank = np.searchsorted(self._path_steps, draw.random(count), side="right")
        path = (rank + domain * 7_919) % len(self._paths)
        status = _STATUSES[np.searchsorted(_steps(_STATUS_WEIGHTS), draw.random(count), "right")]
        size = self._scales[path] * (1.0 + draw.pareto(1.3, count))
        size = np.where(status == 304, 0.0, np.where(status >= 400, 600.0, size))
        is_hit = (draw.random(count) < 1.0 - 0.05 * np.log1p(rank)) & (status < 500)
        cache = np.where(is_hit, 0, draw.integers(1, len(_CACHES), count))
        return Requests(
            domain=self._domains.take(pa.array(domain)),
            url=self._paths.take(pa.array(path)),
            status=status,
            size_bytes=np.minimum(size, SIZE_BYTES_MAX).astype(np.int64),
            cache=pa.array(_CACHES).take(pa.array(cache)),
            is_hit=is_hit,
        )


def zipf_steps(size: int, exponent: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The cumulative share of ranks 1 … size; a uniform number is placed by binary search."""
    return _steps(np.arange(1, size + 1, dtype=np.float64) ** -exponent)


def _steps(weights: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    steps = np.cumsum(np.asarray(weights, dtype=np.float64))
    steps /= steps[-1]
    return steps


def _domain(number: int) -> str:
    """The first six hosts share a name, the next six another; beyond the words come numbers."""
    name, host = divmod(number, len(_HOSTS))
    second, first = divmod(name, len(_FIRST))
    suffix, second = divmod(second, len(_SECOND))
    tail = str(suffix) if suffix else ""
    return f"{_HOSTS[host]}.{_FIRST[first]}{_SECOND[second]}{tail}.example"
