"""Rates as operators write them: ``"200 kbit/s"``, ``"25 kB/s"``, ``"1.5 Mbit/s"``.

Inside everything is bytes a second. Networks are sold in thousands, so k is 1,000. A bare number or
``kb/s`` is refused: off by eight is the usual mistake, and nobody would see it.
"""

from __future__ import annotations

import re

UNITS = {
    f"{prefix}{unit}/s": factor * bytes_each
    for prefix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))
    for unit, bytes_each in (("bit", 1 / 8), ("B", 1.0))
}
"""Bytes a second of each."""
BYTES_PER_S_MAX = 1e12
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(\S+)\s*")
WANTED = 'wanted bits or bytes a second, as "200 kbit/s", "25 kB/s" or "1.5 Mbit/s"'


def bytes_per_s_of(text: str) -> float:
    """Raises ``ValueError`` with what to write.

    >>> bytes_per_s_of("200 kbit/s"), bytes_per_s_of("25kB/s")
    (25000.0, 25000.0)
    """
    found = _RATE.fullmatch(text)
    unit = None if found is None else UNITS.get(found[2])
    if found is None or unit is None:
        raise ValueError(f"{WANTED}, got {text!r}; units are {', '.join(UNITS)}")
    rate = float(found[1]) * unit
    if not 0.0 < rate <= BYTES_PER_S_MAX:
        raise ValueError(f"{WANTED}, more than 0 and at most 1000 GB/s, got {text!r}")
    return rate


def rate_text(bytes_per_s: float) -> str:
    """As links are sold, in bits.

    >>> rate_text(25_000), rate_text(187_500), rate_text(12)
    ('200 kbit/s', '1.5 Mbit/s', '96 bit/s')
    """
    bits = 8.0 * bytes_per_s
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if bits >= factor:
            return f"{_short(bits / factor)} {prefix}bit/s"
    return f"{_short(bits)} bit/s"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
