"""The tuning of a root: every period and limit, with its reason."""

from __future__ import annotations

import msgspec

from headwater.errors import ConfigurationError

MEBIBYTE = 1 << 20


class RootConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checked when made. Times are intervals, in seconds of a steady clock."""

    absence_life_s: float = 5.0
    """For so long counts what a parent says of a link that it has lost: two heartbeats and the way.
    """
    summary_life_s: float = 30.0
    """How long a spare is parked at most; must be the same in the whole federation."""
    ack_every_s: float = 2.0
    """Acknowledgements of one query are made this often while there is news or a gap."""
    ack_idle_s: float = 15.0
    """And this often when there is neither, since the last one may have been lost."""
    panes_per_ack_max: int = 64
    """Panes that one acknowledgement spells out; the others come with later ones, in turn."""
    extras_per_ack_max: int = 4_096
    """Updates beyond the first of a site, from which on an acknowledgement begins no further pane
    that has such; those of the last one come on top."""
    ranges_per_ack_max: int = 512
    """Ranges of panes in one acknowledgement; the newest stay."""
    greetings_per_ack_max: int = 10_000
    share_worth_s: float = 0.5
    """Who would flush a pane in less needs no share of an absolute bound."""

    windows_per_answer_max: int = 64
    """Windows that one Spark job answers."""
    windows_opened_per_tick_max: int = 1_000
    """Windows that the clock opens in one tick (many only after the root was away)."""
    windows_max: int = 100_000
    """Windows that are open at a time; beyond, clocks open no further one before others are over,
    however long ago a query is to begin."""
    answer_retry_first_s: float = 1.0
    """The pause after a failed answer; it doubles."""
    answer_retry_last_s: float = 60.0
    over_limit_max: int = 3
    """Answers in a row that went beyond their share of the agent, after which none is tried."""
    clock_settle_s: float = 60.0
    """After a restart the clocks open no windows for so long: that of the new process may be
    anything, and sites must have heard it before they can tell how theirs differ from it. In the
    beginning, the root's own clock stands for so long for those of sites that have not told."""
    horizon_slack_s: float = 900.0
    """How long after ``revise_for_s`` a window is kept for the last seals to arrive."""

    ahead_wait_s: float = 60.0
    """A site that catches up and has not spoken for so long holds up nobody: others go on without
    it, and windows of the past get their deadline."""
    panes_max: int = 200_000
    """Panes of one query that the scoreboard holds; news of further ones is refused and shown."""
    compares_per_tick_max: int = 64
    """Sites whose digests are held against the boards in one go; the others follow at once, and
    what else is due comes between."""
    agreed_per_ack_max: int = 8
    """How far sites are agreed with differs little; of more than so many values those that most
    sites have are told first."""
    asks_per_ack_max: int = 64
    """Sites that one acknowledgement asks for their closes one by one; of more, in turn."""
    disputes_max: int = 1_024
    """Panes that are disputed at a time; beyond, the site whose word differs stays uncompared, and
    so nothing of it becomes final by its seal."""
    replacing_max: int = 16
    """Disputed panes for which the sites' own updates are collected at a time."""
    wanted_per_ack_max: int = 16
    """Panes of which one acknowledgement wants sites' own updates."""
    bench_bytes_max: int = 64 * MEBIBYTE
    """Of such updates, until all of a pane are in; beyond, they are dropped and asked for again."""
    pieces_max: int = 10_000
    """Kept summaries of which is known what is in them, so that they could be replaced; beyond,
    those of the oldest panes are forgotten, and a dispute there lasts."""
    parked_max: int = 10_000
    """Spares that are parked; beyond, the oldest is let in before its time."""
    parked_bytes_max: int = 64 * MEBIBYTE
    unanswered_bytes_max: int = 256 * MEBIBYTE
    """Of one query: rows of panes whose first window has no answer, and parked spares. Beyond,
    sites are asked to wait with the youngest panes."""
    top_bytes_max: int = 64 * MEBIBYTE
    """Of rows among which the root looks for the largest groups, where sites send these alone;
    panes beyond are not looked at, and none of their rows is called exact."""
    missing_listed_max: int = 10_000
    """Missing sites that an envelope names; beyond, they are only counted."""
    alarms_max: int = 1_024
    """Alarms of one query that are kept by name. Beyond, the oldest about windows that are over
    give way; where there are none, one alarm stands for all that find no room."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) <= 0:
                raise ConfigurationError(f"root: wanted {name} > 0, got {getattr(self, name)}")
