"""The tuning of a peer: every hold, limit and period of the overlay, with its reason."""

from __future__ import annotations

import msgspec

from headwater.errors import ConfigurationError

MEBIBYTE = 1 << 20


class OverlayConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checked when made; the defaults suit a federation over the Internet."""

    heartbeat_every_s: float = 2.0
    """As in Mortar. Whoever ends or is killed is noticed at once, by its connections; heartbeats
    are for those who are cut off or stand still, and their cost counts on every link."""
    silent_floor_s: float = 4.5
    """A neighbour is never called silent earlier than this, however regular it was before."""
    silent_ceiling_s: float = 15.0
    """And always after this, however irregular it was."""
    heartbeat_bytes_s_max: int = 4_096
    """What a peer spends on heartbeats in a second, over all its links. With more neighbours than
    that allows, heartbeats come less often, and their silence is judged by that."""
    reconcile_every_s: float = 1.0
    """How often, at most, two neighbours compare their commands while their digests differ."""

    clock_apart_s: float = 0.25
    """What neighbours may differ by on a root's clock, beside what each says that it may be wrong
    by; who is farther from the middle is set aside, and shown."""
    clock_vote_s: float = 6.0
    """So long does a query by age wait for three neighbours who agree on its root's clock, where
    there are three, and five times as long where they disagree; then it begins, and says that its
    clock is unconfirmed."""

    coordinates_every_s: float = 60.0
    """How often the table of coordinates is told on; latencies change over minutes."""

    summary_life_s: float = 30.0
    """A summary older than this is dropped; sites repair only what is older, so that a repair
    and its original are not under way together."""
    net_dist_alpha: float = 0.1
    """The weight of a new sample in netDist (Mortar, section 4.3: 10%)."""
    net_dist_initial_s: float = 1.0
    """netDist before the first sample."""
    net_dist_ceiling_s: float = 5.0
    """A straggler can't teach a relay to wait longer than this."""
    hold_factor: float = 1.25
    """Holds are proportional to netDist; more than 1, since netDist averages the largest age and
    half of the panes are slower than an average."""
    backlog_hold_s: float = 0.25
    """Backlog comes in the same order from all sites, so its panes meet within a short time."""

    entries_max: int = 10_000
    """Entries of the time-space list, over all queries; beyond, the oldest leaves early."""
    bytes_max: int = 256 * MEBIBYTE
    """Bytes of rows in the time-space list; beyond, the oldest leaves early."""
    pause_bytes_max: int = 128 * MEBIBYTE
    """Bytes in the time-space list beyond which sites below are asked to wait with the youngest
    panes; well below ``bytes_max``, for what is under way comes all the same."""
    merged_bytes_max: int = 32 * MEBIBYTE
    """Rows that one entry gathers; a further summary begins another one. What leaves as one must
    fit into one message, which may unpack to 64 MiB."""
    parts_max: int = 64
    """Rows are merged when an entry leaves, all at once, or when it has gathered this many
    summaries: more than a tree branches, so that it seldom happens twice."""
    queue_s_max: float = 2.0
    """Summaries wait here, where they can still merge, while a link has so many seconds to send of
    what it carries, measured or by its budget; and at least a chunk of 16 KiB."""
    link_queue_bytes_max: int = 4 * MEBIBYTE
    """And at most this much, however fast the link is."""

    states_hold_s: float = 0.1
    """Site states are collected for this long and travel on in one message."""
    states_max: int = 100_000
    """Site states that wait for the way up, over all queries."""
    queries_max: int = 1_000
    """Live queries in the federation."""

    resort_after_s: float = 2.0
    """No tree has led on for this long: look for a host. A parent that restarts is back sooner."""
    resort_try_s: float = 1.5
    """How long one candidate has to take us in before the next is tried."""
    resort_keep_s: float = 10.0
    """How long a host is kept after a tree leads on again."""
    absent_after_s: float = 4.0
    """A child without a link for so long is called lost, to the roots: by then who is alive and cut
    off from its trees has found a host. One that was never seen here has ``dial_last_s``."""
    absences_per_s_max: float = 100.0
    """Words of other peers on whom they have lost that are looked at and handed on; beyond, they
    are dropped: where so many have lost somebody, windows wait for their deadlines."""
    guests_max: int = 64
    """Peers outside of all trees that are taken in at once; more are sent away to others."""
    guest_after_s: float = 60.0
    """A sender that has been silent for this long is no longer told acknowledgements, and whose
    words it brought is forgotten some time after that."""

    dial_first_s: float = 0.5
    """The pause after the first failed dial; it doubles."""
    dial_last_s: float = 30.0
    """The longest pause between two dials of the same neighbour."""

    late_after_s: float = 0.25
    """A peer whose tick comes later than this was asleep meanwhile: silence of others does not
    count, and budgets fall."""
    awake_over_s: float = 10.0
    """Budgets fall with the share of about this time that the peer was asleep, and rise again over
    about this time."""
    budget_share_min: float = 0.1
    """What stays of a budget, however busy the machine is: whoever is cut off must get back."""
    unmerged_below_share: float = 0.5
    """A peer that was awake for less of the last while passes summaries on unmerged."""
    dials_per_s_max: float = 10.0
    """Dials of neighbours, in the long run. The pauses of each neighbour spread them; this is for
    when all are lost at once, again and again."""
    dials_burst_max: float = 64.0
    """Dials at once: about the neighbours of a peer in four trees that branch by 16."""
    hosts_sought_per_s_max: float = 4.0
    """Hosts that are dialled as a last resort, for all queries together: one search tries four at
    once for a second and a half."""
    hosts_sought_burst_max: float = 16.0
    notice_every_s: float = 1.0
    """How often, at most, one kind of notice is given; what is left out is counted."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"overlay: wanted {name} > 0, got {getattr(self, name)}")
        if self.net_dist_alpha > 1.0:
            raise ConfigurationError(
                f"overlay: wanted net_dist_alpha <= 1, got {self.net_dist_alpha}"
            )
        for name in ("dials_burst_max", "hosts_sought_burst_max"):
            if getattr(self, name) < 1.0:
                raise ConfigurationError(f"overlay: wanted {name} >= 1, got {getattr(self, name)}")
        if self.budget_share_min > 1.0:
            raise ConfigurationError(
                f"overlay: wanted budget_share_min <= 1, got {self.budget_share_min}"
            )
        longest_hold_s = self.net_dist_ceiling_s * self.hold_factor
        if longest_hold_s >= self.summary_life_s:
            raise ConfigurationError(
                f"overlay: wanted net_dist_ceiling_s x hold_factor ({longest_hold_s} s) below "
                f"summary_life_s ({self.summary_life_s} s), or held summaries die at one hop"
            )
