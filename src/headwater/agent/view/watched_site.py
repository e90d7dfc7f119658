"""How a site of a stream does, as one value: what a watcher is told with each answer."""

from __future__ import annotations

import msgspec


class WatchedSite(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a site of a stream does, as the agent that was asked knows it: what it may send, what its
    way carries and what waits an agent knows of itself alone."""

    site: str
    level: str = ""
    """Where the stream may give something up: what the site does now, and why."""
    is_degraded: bool = False
    sending: str = ""
    """As ``62 of 64 kbit/s``: used and allowed, of the stream and of all links."""
    carries: str = ""
    backlog: str = ""
    stale_s: float | None = None
    """At the root: how long ago the oldest pane ended that it still owes; None: not known."""
    is_behind: bool = False
    """By more than a window and its deadline."""
    error: str = ""
    """At the root: by how much what it has kept back may be off."""

    @property
    def has_news(self) -> bool:
        """Whether it is worth a line where nobody asked for all."""
        waits = bool(self.backlog or self.sending or self.error)
        return self.is_degraded or self.is_behind or waits

    def text(self) -> str:
        """
        >>> WatchedSite("fra", "all is sent", sending="62 of 64 kbit/s", stale_s=1.24).text()
        'fra: all is sent; sends 62 of 64 kbit/s; owes nothing older than 1.2 s'
        >>> WatchedSite("lhr").text()
        'lhr: nothing to say'
        """
        told = [
            self.level,
            self.sending and f"sends {self.sending}",
            self.carries and f"way {self.carries}",
            self.backlog,
            self._stale_text(),
            self.error,
        ]
        return f"{self.site}: {'; '.join(filter(None, told)) or 'nothing to say'}"

    def _stale_text(self) -> str:
        if self.stale_s is None:
            return ""
        return f"owes nothing older than {self.stale_s:.1f} s" if self.stale_s else "owes nothing"
