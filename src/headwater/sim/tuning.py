"""The times and limits of a simulated world, and the machines' configuration made of them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from headwater.edge.config import EdgeConfig
from headwater.node.config import NodeConfig
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.root.config import RootConfig


class Pace(msgspec.Struct, frozen=True):
    """All the times that the drivers and the machines' configurations are made of."""

    summary_life_s: float = 8.0
    heartbeat_every_s: float = 2.5
    ack_every_s: float = 3.0
    state_every_s: float = 4.0
    retention_s: float = 70.0
    ahead_wait_s: float = 10.0
    poll_every_s: float = 2.0
    poll_within_s: float | None = None
    """None: each site polls in a rhythm of its own. Else all begin so soon after each multiple of
    ``poll_every_s`` on their own clocks."""
    install_s: tuple[float, float] = (0.0, 1.5)
    """From hearing of a query until batches have it."""
    batch_s: tuple[float, float] = (0.1, 1.2)
    """How long Spark takes for a batch at a site."""
    answer_fails_share: float = 0.03
    """How often an answer fails on Spark; it is tried again."""
    answer_s: tuple[float, float] = (0.1, 1.5)
    """And for an answer at the root."""
    batch_records_max: int = 40
    """A site that is behind catches up in batches of at most this many."""
    past_records_max: int = 6
    """Of the past much fewer, so that a reading of it takes a while beside the live one."""
    clock_settle_s: float = 6.0
    """Three polls: what stands no longer is not believed."""
    clock_tolerance_s: float = 10.0
    tell_s: float = 0.15
    """Between the commit of a batch and the edge's hearing of it, in which a crash may fall."""
    update_records_max: int = 12
    """More in one cut make several updates."""


SMALL_UPDATES_SHARE = 0.4
"""How many worlds have updates so small that sites close most panes with several."""


def draw_pace(random: Random) -> Pace:
    """Drawn apart from all else, which came before."""
    if random.random() >= SMALL_UPDATES_SHARE:
        return Pace()
    return Pace(update_records_max=random.choice((1, 2, 4)))


class Limits(msgspec.Struct, frozen=True):
    """Limits of the machines: mostly far away, in some worlds so near that they are reached."""

    entries_max: int = 10_000
    parts_max: int = 64
    link_queue_bytes_max: int = 4 << 20
    backlog_hold_s: float = 0.25
    panes_per_ack_max: int = 64
    ranges_per_ack_max: int = 512
    extras_per_ack_max: int = 4_096
    greetings_per_ack_max: int = 10_000
    windows_per_answer_max: int = 64
    parked_max: int = 10_000
    panes_per_cut_max: int = 256
    sends_per_tick_max: int = 256
    spares_per_tick_max: int = 64
    empty_ranges_max: int = 4_096
    dials_per_s_max: float = 10.0
    dials_burst_max: float = 64.0
    hosts_sought_per_s_max: float = 4.0
    hosts_sought_burst_max: float = 16.0
    repairs_per_s_max: float = 100.0
    repairs_burst_max: float = 256.0
    digest_panes: int = 64
    digests_told_max: int = 64
    closes_told_max: int = 1_024
    compares_per_tick_max: int = 64
    asks_per_ack_max: int = 64
    replacing_max: int = 16
    wanted_per_ack_max: int = 16
    ahead_panes_max: int = 20_000
    early_worth_s: float = 0.002
    """Panes are small, and so are the flushes that are too long."""
    thin_worth_s: float = 0.02
    early_keys_min: int = 1
    flush_piece_s: float = 0.003
    unanswered_bytes_max: int = 256 << 20
    pause_bytes_max: int = 128 << 20


BUDGET_SHARE = 0.5
"""How many worlds have budgets that are soon used up."""


def draw_budgets(random: Random, limits: Limits) -> Limits:
    """Drawn apart from the other limits, which came before."""
    if random.random() >= BUDGET_SHARE:
        return limits
    return msgspec.structs.replace(
        limits,
        dials_per_s_max=random.choice((1.0, 3.0)),
        dials_burst_max=random.choice((2.0, 6.0)),
        hosts_sought_per_s_max=random.choice((1.0, 3.0)),
        hosts_sought_burst_max=random.choice((2.0, 6.0)),
        repairs_per_s_max=random.choice((2.0, 20.0)),
        repairs_burst_max=random.choice((2.0, 20.0)),
    )


LINK_BUDGETS_SHARE = 0.25
"""How many worlds have members that may only send so much."""
LINK_BYTES_PER_S = (1_500.0, 3_000.0, 6_000.0)
"""Enough for what a member has to say in calm, and little for what follows a trouble."""


def draw_link_budgets(random: Random, links: Sequence[tuple[str, str]]) -> dict[str, LinkBudgets]:
    """Of some who send up one of these links: over all of theirs, or over this one."""
    if random.random() >= LINK_BUDGETS_SHARE or not links:
        return {}
    found = {}
    for sender, receiver in random.sample(links, min(len(links), random.choice((1, 3)))):
        rate = random.choice(LINK_BYTES_PER_S)
        is_single = random.random() < 0.3
        found[sender] = LinkBudgets(None, {receiver: rate}) if is_single else LinkBudgets(rate)
    return found


ROOT_BYTES_PER_S = (700.0, 1_500.0)
"""Of a link into a root whose relays may leave groups out: less than what they merge."""


def draw_narrow_relays(random: Random, links: Sequence[tuple[str, str]]) -> dict[str, LinkBudgets]:
    """Most of these links into a root."""
    found = {}
    for sender, root in dict(links).items():
        if random.random() < 0.7:
            found[sender] = LinkBudgets(None, {root: random.choice(ROOT_BYTES_PER_S)})
    return found


def draw_digests(random: Random, limits: Limits) -> Limits:
    """Drawn apart as well. Runs and retention are short, so blocks are; in one world of four the
    limits matter."""
    limits = msgspec.structs.replace(limits, digest_panes=random.choice((2, 4, 8)))
    if random.random() >= 0.25:
        return limits
    return msgspec.structs.replace(
        limits,
        digests_told_max=random.choice((1, 64)),
        closes_told_max=random.choice((1, 3, 1_024)),
        compares_per_tick_max=random.choice((1, 64)),
        asks_per_ack_max=random.choice((1, 64)),
        replacing_max=random.choice((1, 16)),
        wanted_per_ack_max=random.choice((1, 16)),
    )


def draw_ahead(random: Random, limits: Limits) -> Limits:
    """Drawn apart, for late queries: in some worlds nobody may be far ahead of the others."""
    return msgspec.structs.replace(limits, ahead_panes_max=random.choice((2, 6, 20_000)))


LITTLE_MEMORY_SHARE = 0.2
"""How many worlds have roots, and relays, that soon ask sites to wait."""


def draw_memory(random: Random, limits: Limits) -> Limits:
    """Drawn apart as well; at the root some ten records, or forty."""
    if random.random() >= LITTLE_MEMORY_SHARE:
        return limits
    return msgspec.structs.replace(
        limits,
        unanswered_bytes_max=random.choice((400, 1_500)),
        pause_bytes_max=random.choice((200, 128 << 20)),
    )


def draw_limits(random: Random) -> Limits:
    """Half of the worlds have one or more limits so low that they matter."""
    if random.random() < 0.5:
        return Limits(backlog_hold_s=random.choice((0.25, 1.5)))
    return Limits(
        entries_max=random.choice((3, 10_000)),
        parts_max=random.choice((2, 64)),
        link_queue_bytes_max=random.choice((600, 3_000, 4 << 20)),
        backlog_hold_s=random.choice((0.25, 1.5)),
        panes_per_ack_max=random.choice((6, 64)),
        ranges_per_ack_max=random.choice((2, 512)),
        extras_per_ack_max=random.choice((8, 4_096)),
        greetings_per_ack_max=random.choice((2, 10_000)),
        windows_per_answer_max=random.choice((3, 64)),
        parked_max=random.choice((1, 10_000)),
        panes_per_cut_max=random.choice((1, 256)),
        sends_per_tick_max=random.choice((1, 256)),
        spares_per_tick_max=random.choice((1, 64)),
        empty_ranges_max=random.choice((1, 4_096)),
    )


def node_config(pace: Pace, limits: Limits) -> NodeConfig:
    """The machines' own tuning at the pace of a simulated world."""
    life_s = pace.summary_life_s
    return NodeConfig(
        overlay=OverlayConfig(
            summary_life_s=life_s,
            heartbeat_every_s=pace.heartbeat_every_s,
            silent_floor_s=2.5 * pace.heartbeat_every_s,
            net_dist_ceiling_s=0.25 * life_s,
            dial_last_s=4.0,
            entries_max=limits.entries_max,
            parts_max=limits.parts_max,
            link_queue_bytes_max=limits.link_queue_bytes_max,
            backlog_hold_s=limits.backlog_hold_s,
            thin_worth_s=limits.thin_worth_s,
            dials_per_s_max=limits.dials_per_s_max,
            dials_burst_max=limits.dials_burst_max,
            hosts_sought_per_s_max=limits.hosts_sought_per_s_max,
            hosts_sought_burst_max=limits.hosts_sought_burst_max,
            pause_bytes_max=limits.pause_bytes_max,
        ),
        edge=EdgeConfig(
            summary_life_s=life_s,
            live_for_s=life_s,
            state_every_s=pace.state_every_s,
            clock_settle_s=pace.clock_settle_s,
            clock_tolerance_s=pace.clock_tolerance_s,
            seal_every_s=5.0,
            panes_per_cut_max=limits.panes_per_cut_max,
            sends_per_tick_max=limits.sends_per_tick_max,
            spares_per_tick_max=limits.spares_per_tick_max,
            repairs_per_s_max=limits.repairs_per_s_max,
            repairs_burst_max=limits.repairs_burst_max,
            empty_ranges_max=limits.empty_ranges_max,
            digest_panes=limits.digest_panes,
            digests_told_max=limits.digests_told_max,
            ahead_panes_max=limits.ahead_panes_max,
            closes_told_max=limits.closes_told_max,
            early_worth_s=limits.early_worth_s,
            early_keys_min=limits.early_keys_min,
            flush_piece_s=limits.flush_piece_s,
        ),
        root=RootConfig(
            summary_life_s=life_s,
            ack_every_s=pace.ack_every_s,
            share_worth_s=limits.early_worth_s,
            ack_idle_s=2.0 * pace.ack_every_s,
            horizon_slack_s=20.0,
            clock_settle_s=2.0 * pace.clock_settle_s,
            panes_per_ack_max=limits.panes_per_ack_max,
            ranges_per_ack_max=limits.ranges_per_ack_max,
            extras_per_ack_max=limits.extras_per_ack_max,
            greetings_per_ack_max=limits.greetings_per_ack_max,
            windows_per_answer_max=limits.windows_per_answer_max,
            parked_max=limits.parked_max,
            compares_per_tick_max=limits.compares_per_tick_max,
            asks_per_ack_max=limits.asks_per_ack_max,
            replacing_max=limits.replacing_max,
            ahead_wait_s=pace.ahead_wait_s,
            wanted_per_ack_max=limits.wanted_per_ack_max,
            unanswered_bytes_max=limits.unanswered_bytes_max,
        ),
        retention_s=pace.retention_s,
    )
