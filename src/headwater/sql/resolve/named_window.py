"""The window that WITH names, for a stream whose SELECT has none: rows have no GROUP BY.

::

    CREATE STREAM errors WITH (window = '10 seconds') AS SELECT ts, url FROM access WHERE …
    CREATE STREAM errors WITH (window = '1 minute every 10 seconds') AS …
"""

from __future__ import annotations

import re

from headwater.algebra.panes import WindowSpec
from headwater.plan.durations import duration_us
from headwater.sql.read.options import Options
from headwater.sql.resolve.find_window import pane_fault

EXAMPLES = "window = '10 seconds' or window = '1 minute every 10 seconds'"


def named_window(options: Options) -> WindowSpec | None:
    """None: it names none. Raises ``QueryRefused``."""
    text = options.text("window")
    if text is None:
        return None
    length, *slides = re.split(r"\s+every\s+", text.strip(), flags=re.IGNORECASE)
    lengths = [duration_us(one) for one in (length, *slides)]
    range_us, slide_us = lengths[0], lengths[-1]
    if len(lengths) > 2 or not range_us or not slide_us:
        raise options.refused("window", f"`{text[:60]}` is no window; write {EXAMPLES}")
    if slide_us > range_us:
        raise options.refused(
            "window", "the slide is longer than the window; records would be lost"
        )
    window = WindowSpec(range_us, slide_us)
    fault = pane_fault(window)
    if fault is not None:
        raise options.refused("window", fault)
    return window
