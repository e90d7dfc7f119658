"""What polls have to say, in the agent's log: each thing once, when it begins and when it ends.

A poll names at every turn what it leaves alone or could not read, and why it stands still; at one
poll a second that would be all that a log says. What is decided in one poll is said as it comes.
"""

from __future__ import annotations

import structlog

from headwater.store.follow.poll import Poll

log = structlog.get_logger()

SAID_MAX = 20
"""Paths that one poll says something about; of further ones only their number is said."""


class PollLog:
    """Of one source at one site."""

    def __init__(self, site: str, source: str) -> None:
        self._log = log.bind(site=site, source=source)
        self._refused: dict[str, str] = {}
        self._stalled = ""

    def say(self, poll: Poll) -> None:
        """Called after each poll."""
        refused = dict(poll.refused)
        news = [(path, why) for path, why in refused.items() if self._refused.get(path) != why]
        for path, reason in news[:SAID_MAX]:
            self._log.warning("input not read", path=path, reason=reason)
        if len(news) > SAID_MAX:
            self._log.warning("more input not read", paths=len(news) - SAID_MAX)
        for path in [path for path in self._refused if path not in refused][:SAID_MAX]:
            self._log.info("input no longer refused", path=path)
        for path, what in poll.told[:SAID_MAX]:
            self._log.info("input decided", path=path, what=what)
        if poll.twice_bytes or poll.lost_bytes:
            self._log.warning("input", lost_bytes=poll.lost_bytes, twice_bytes_max=poll.twice_bytes)
        if poll.stalled != self._stalled:
            self._log.warning("input stands still", reason=poll.stalled or "no longer")
        self._refused, self._stalled = refused, poll.stalled
