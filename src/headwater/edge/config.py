"""The tuning of a site's edge: every period and limit, with its reason."""

from __future__ import annotations

import msgspec

from headwater.errors import ConfigurationError


class EdgeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checked when made. Times are intervals, in seconds of a steady clock."""

    summary_life_s: float = 30.0
    """After which a summary that is still under way is dropped by relays; must be the same in the
    whole federation, and equal to the overlay's. Nothing is repaired earlier."""
    live_for_s: float = 30.0
    """A first send within this time of the close is live, a later one is backlog."""
    late_coalesce_s: float = 1.0
    """Late records of a pane are collected this long, then made into one further update."""
    state_every_s: float = 5.0
    """A state that the root has not acknowledged is repeated this often."""
    tally_every_s: float = 10.0
    """Counts of records that could not be used are news at most this often."""
    seal_every_s: float = 60.0
    """A growing seal is told at most this often, or every hundredth of the lateness if that is
    longer: it is news to nobody but old answers."""
    future_tolerance_s: float = 5.0
    """How far ahead of the site's clock a record may be stamped, unless its source says otherwise
    (``future_tolerance``); one beyond is fenced. A query that is installed late starts at a pane
    beyond this, since records of an earlier one may have been read before it was there."""
    future_keep_s: float | None = None
    """Records further ahead than this are refused; absent: the cube's retention."""
    clock_settle_s: float = 60.0
    """A wall clock that was set is believed when it has stood for so long: one that is a day ahead
    for three polls closes nothing. Three times as long is that of a new process doubted, unless an
    acknowledgement tells what the others' clocks show."""
    clock_tolerance_s: float = 60.0
    """A site whose clock is ahead of the others' by more than this closes panes by theirs, and says
    that its clock is off. Panes are sealed by theirs in any case."""
    slew_max: float = 0.005
    """By age, the offset to the root's clock follows small changes by this much in a second."""
    unread_wait_s: float = 30.0
    """So long are panes kept open for input that can't be read, such as a file without permission.
    Then they are closed without it, and are never exact."""
    failures_max: int = 5
    """So many failed batches in a row, and the query is suspended at this site."""

    rests_per_tick_max: int = 64
    """Panes whose withheld rest is made into updates at once, where nothing else is due."""
    panes_per_cut_max: int = 256
    """Panes of one query that one tick makes updates of; the rest waits for the next tick."""
    sends_per_tick_max: int = 256
    """First sends of backlog in one tick, over all queries, whatever the room."""
    spares_per_tick_max: int = 64
    """Repairs in one tick, over all queries, whatever the room."""
    repairs_per_s_max: float = 100.0
    """Repairs in the long run, over all queries; fewer while the machine is busy. What was lost in
    a long trouble comes again over minutes, and does not become the next one."""
    repairs_burst_max: float = 256.0
    empty_ranges_max: int = 4_096
    """Ranges of panes closed empty that a state may list; beyond, they are sent one by one."""
    declined_ranges_max: int = 1_024
    """Ranges of declined panes in a state; beyond, neighbours are joined (more is given up)."""
    panes_waiting_max: int = 200_000
    """Panes of one query that wait to be sent or acknowledged; beyond, the oldest expire."""
    ahead_panes_max: int = 20_000
    """Panes with rows that a site closes, while it catches up, beyond the lowest one that the root
    awaits from another one that does; a tenth of what a root holds of a query."""
    digest_panes: int = 64
    """Panes of a block of which a state tells a digest as soon as all are closed."""
    digests_told_max: int = 64
    """Digests in one state: of the oldest blocks that the root has not agreed to."""
    closes_told_max: int = 1_024
    """Closes that one state tells one by one where the root asks for a range of them."""
    asked_max: int = 16
    """Ranges that a site remembers to have been asked for; beyond, the oldest gives way."""
    resends_max: int = 4_096
    """Panes that a site remembers to have sent again because the root wants its own word of them;
    beyond, the oldest may be sent again too soon."""
    queries_max: int = 1_000
    early_worth_s: float = 0.5
    """Keys leave before the close only as far as the flush after it would take longer than this."""
    early_keys_min: int = 100
    """No fewer leave in one update while more wait: ten cost 50 bytes each, a hundred cost 24."""
    flush_piece_s: float = 1.5
    """Under an error or a staleness a flush that takes the way for longer leaves in pieces that
    take about so long, what matters most first."""
    top_hold_s: float = 60.0
    """For so long after the close the root may ask for further groups of a pane of which the
    largest alone were sent; it is not sealed before."""
    outbox_keys_max: int = 500_000
    """Keys of one pane that are followed one by one, at some 120 bytes each."""
    outbox_keys_site_max: int = 2_000_000
    """The same of all open panes of all queries together, and of what is remembered of earlier
    ones, at some 40 bytes each. Beyond, the largest puts its smallest keys aside."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigurationError(f"edge: wanted {name} > 0, got {value}")
        if self.repairs_burst_max < 1.0:
            raise ConfigurationError(
                f"edge: wanted repairs_burst_max >= 1, got {self.repairs_burst_max}"
            )
