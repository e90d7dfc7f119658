"""A federation as it is shown: its sites and its streams at one moment, as plain values.

The lines are what an agent tells whoever asks it (``control_api``). What is seen only where more is
known, by the demo that runs all sites, stands beside them. Nothing in here can be acted upon, so a
view can't disturb what it shows.
"""

from __future__ import annotations

import msgspec

from headwater.agent.control.control_api import SiteLine, StreamLine
from headwater.root.said.envelope import Envelope


class SiteView(msgspec.Struct, frozen=True):
    line: SiteLine
    raw_bytes: int = 0
    """What its logs have grown to."""
    sent_bytes: int = 0
    """What it put on the network, everything counted."""
    record_count: int = 0
    """Records that Spark has read and committed here."""


class StreamView(msgspec.Struct, frozen=True):
    line: StreamLine
    windows: tuple[Envelope, ...] = ()
    """The newest answer of each of its recent windows, oldest first."""


class FederationView(msgspec.Struct, frozen=True):
    sites: tuple[SiteView, ...] = ()
    streams: tuple[StreamView, ...] = ()

    @property
    def raw_bytes(self) -> int:
        return sum(site.raw_bytes for site in self.sites)

    @property
    def sent_bytes(self) -> int:
        return sum(site.sent_bytes for site in self.sites)
