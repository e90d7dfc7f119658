"""Bytes, ratios and times as people read them."""

from datetime import UTC, datetime

_STEPS = ("B", "kB", "MB", "GB", "TB")


def amount(size_bytes: float) -> str:
    """
    >>> amount(0), amount(999), amount(1_234_000)
    ('0 B', '999 B', '1.2 MB')
    """
    size, step = float(size_bytes), 0
    while size >= 999.5 and step < len(_STEPS) - 1:
        size, step = size / 1000.0, step + 1
    return f"{size:.0f} {_STEPS[step]}" if step == 0 else f"{size:.1f} {_STEPS[step]}"


def ratio(whole: float, part: float) -> str:
    """How many times ``part`` goes into ``whole``.

    >>> ratio(300, 4), ratio(0, 0)
    ('75 ×', '–')
    """
    if part <= 0:
        return "–"
    times = whole / part
    return f"{times:.0f} ×" if times >= 10 else f"{times:.1f} ×"


def utc(time_us: int) -> str:
    """
    >>> utc(0)
    '1970-01-01T00:00:00Z'
    """
    text = datetime.fromtimestamp(time_us / 1_000_000, tz=UTC).isoformat()
    return text.replace("+00:00", "Z")
