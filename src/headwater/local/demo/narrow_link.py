"""The demo's narrow link, and the question that is asked twice over it: with and without an error.

One site has a line of a few kilobytes a second. All that it has to say of a window takes nearly as
long as the answer may wait, and more with what comes before: the answer comes without it, and is
revised. With an error the site keeps small groups back, has a tenth of the bytes to send, and is in
the first answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf
from statistics import median

from headwater.local.demo.demo_snapshot import NarrowShown, NarrowVerdict, NarrowWindow
from headwater.root.said.envelope import Envelope

SITE = "lagos"
BYTES_PER_S = 3_500
DELAY_S = 0.12
WHOLE, BOUNDED = "misses", "misses_soon"
"""The streams that ask the same without an error and with one."""
STREAMS = (WHOLE, BOUNDED)
TEXT = f"{SITE}'s line of {BYTES_PER_S * 8 // 1000} kbit/s"


class NarrowLink:
    """What the answers to both streams say of the site behind it."""

    def __init__(self) -> None:
        self._first: dict[str, dict[int, float]] = {name: {} for name in STREAMS}
        """By stream and window, how stale the first answer was that has the site."""
        self._in_time: dict[str, set[int]] = {name: set() for name in STREAMS}
        """Windows whose first answer has it."""
        self._newest: dict[int, Envelope] = {}
        """Of the stream with an error."""
        self._spans: dict[int, tuple[int, int]] = {}
        self._sent: Counter[str] = Counter()
        """By stream."""
        self._logs_end_us: float = inf

    def hear(self, stream: str, envelope: Envelope) -> None:
        if stream not in STREAMS or envelope.end_us > self._logs_end_us:
            return  # another stream, or a window that has little in it
        self._spans[envelope.window] = (envelope.start_us, envelope.end_us)
        if stream == BOUNDED:
            self._newest[envelope.window] = envelope
        if all(one.site != SITE for one in envelope.missing):
            self._first[stream].setdefault(envelope.window, envelope.staleness_s)
            if envelope.revision == 1:
                self._in_time[stream].add(envelope.window)

    def logs_end(self, at_s: float) -> None:
        """What ends later is nothing to measure by."""
        self._logs_end_us = at_s * 1e6

    def add_sent(self, sent: Mapping[str, int]) -> None:
        """What an agent has sent for each stream, when it ends."""
        self._sent.update(sent)

    def shown(self, count: int) -> NarrowShown:
        """The newest windows."""
        windows = sorted(self._spans)[-count:]
        return NarrowShown(TEXT, WHOLE, BOUNDED, tuple(map(self._window, windows)))

    def verdict(self) -> NarrowVerdict:
        """Over all of them, when the demo is over."""
        stated = [one.withheld for one in self._newest.values() if one.withheld.columns]
        middle = {
            name: median(found.values()) if found else 0.0 for name, found in self._first.items()
        }
        return NarrowVerdict(
            TEXT,
            window_count=len(self._spans),
            whole_s=middle[WHOLE],
            bounded_s=middle[BOUNDED],
            whole_in_time=len(self._in_time[WHOLE]),
            bounded_in_time=len(self._in_time[BOUNDED]),
            asked=stated[0].columns[0].asked if stated else "",
            reached=max((one.reached for whole in stated for one in whole.columns), default=0.0),
            withheld_keys=round(median([one.keys for one in stated])) if stated else 0,
            whole_bytes=self._sent[WHOLE],
            bounded_bytes=self._sent[BOUNDED],
        )

    def _window(self, window: int) -> NarrowWindow:
        start_us, end_us = self._spans[window]
        newest = self._newest.get(window)
        columns = newest.withheld.columns if newest is not None else ()
        return NarrowWindow(
            start_us,
            end_us,
            whole_s=self._first[WHOLE].get(window),
            bounded_s=self._first[BOUNDED].get(window),
            asked=columns[0].asked if columns else "",
            reached=max((one.reached for one in columns), default=0.0),
            withheld_keys=newest.withheld.keys if newest is not None else 0,
        )
