"""The settings of a query: what of it may change from a pane on, while it runs.

All else is what the query is: its window, its source, its sites. Who changes that asks another
question, and installs another stream.

Settings are told whole, never as differences. So of two that are numbered the later one holds, in
whichever order they come, and one that was never heard of leaves no gap.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.remainders.tolerance import Finally, Tolerance
from headwater.plan.altered.link_share import EVEN, LinkShare
from headwater.plan.degrading.degradation import Degradation
from headwater.plan.query import Query, Rounds

SETTINGS_KEPT_MAX = 32
"""Numbered settings of one query that are kept: beyond, the lowest numbers are forgotten."""
SETTINGS_AHEAD_US_MAX = 7 * 86_400_000_000
"""Nobody plans settings for longer ahead: a pane beyond is a mistake, or a trap."""
OPTIONS_MAX = 16
OPTION_NAME_MAX = 40
OPTION_VALUE_MAX = 4_000
ENDED = "the stream has ended, and its panes are kept for questions"
SECONDS_MAX = 1e10
"""Three hundred years: longer than any deadline, and still a number that a clock can add."""
Seconds = Annotated[float, Meta(ge=0.0, le=SECONDS_MAX)]
OptionName = Annotated[str, Meta(max_length=OPTION_NAME_MAX)]
OptionValue = Annotated[str, Meta(max_length=OPTION_VALUE_MAX)]


class Settings(msgspec.Struct, frozen=True, omit_defaults=True):
    """As they hold for a pane. Further ones are further fields: who does not know them leaves them
    alone, and goes by the others."""

    deadline_s: Seconds = 10.0
    """As in ``Timing``, of windows that begin with the pane."""
    revise_every_s: Seconds = 1.0
    waits: bool = False
    """As in ``Query``."""
    tolerance: Tolerance | None = None
    """None: nothing is kept back."""
    share: LinkShare = EVEN
    """Of the links that its summaries pass."""
    degradation: Degradation | None = None
    """None: nothing is given up."""
    is_end: bool = False
    """Nothing from the pane on is the query's any more. Sites keep the panes before as long as
    they would have, so that they can be asked. It is never taken back."""
    options: Annotated[
        tuple[tuple[OptionName, OptionValue], ...], Meta(max_length=OPTIONS_MAX)
    ] = ()
    """By which people know them: every option of these settings that is not left to its default,
    its value as it was written, quotes and all. Of the first ones the statement says so."""
    rounds: Rounds | None = None
    """Into how many rounds a pane is divided at whose ends keys may leave; 1: none leave before
    the close. None: as the query was installed, and as agents of before wrote all settings."""

    @classmethod
    def of(cls, query: Query) -> Settings:
        """Those that it was installed with."""
        return cls(
            deadline_s=query.timing.deadline_s,
            revise_every_s=query.timing.revise_every_s,
            waits=query.waits is True,
            tolerance=query.tolerates,
            share=query.link_share,
            degradation=query.degrades,
        )

    def on(self, query: Query) -> Query:
        """The query as if it had been installed with them. Raises ``ValueError`` where it can't
        have them, whoever wrote that."""
        times = (self.deadline_s, self.revise_every_s)
        if not all(0.0 <= time_s <= SECONDS_MAX for time_s in times):
            raise ValueError(f"settings of {query.id}: wanted times from 0 s on, got {times}")
        timing = msgspec.structs.replace(
            query.timing, deadline_s=self.deadline_s, revise_every_s=self.revise_every_s
        )
        return msgspec.structs.replace(
            query,
            timing=timing,
            waits=True if self.waits else msgspec.UNSET,
            tolerance=self.tolerance or msgspec.UNSET,
            share=msgspec.UNSET if self.share == EVEN else self.share,
            degradation=self.degradation or msgspec.UNSET,
            rounds=query.rounds if self.rounds is None else self.rounds,
        )

    def as_written(self) -> Settings:
        """For its bytes alone."""
        if self.tolerance is None:
            return self
        return msgspec.structs.replace(self, tolerance=self.tolerance.as_written())

    @property
    def owes_rest(self) -> bool:
        """Whether what sites keep back is to follow."""
        return self.tolerance is not None and self.tolerance.finally_ is Finally.EXACT

    @property
    def follows(self) -> bool:
        """Whether what a way had no room for comes when it has."""
        return self.degradation is not None and self.degradation.follows

    def text(self) -> str:
        """For people, in one line.

        >>> Settings(options=(("error", "'1 %'"),)).text()
        "error = '1 %'"
        """
        if self.is_end:
            return ENDED
        return ", ".join(f"{name} = {value}" for name, value in self.options) or "all by default"

    def is_like(self, other: Settings) -> bool:
        """The same, however they are written."""
        return msgspec.structs.replace(self, options=()) == msgspec.structs.replace(
            other, options=()
        )
