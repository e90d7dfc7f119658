"""What is known of one source, and what of it a report tells the edge.

``read_through_s`` follows from polls: when a poll reached the end of the input, and all cuts up to
then are committed, everything that was in the logs when that poll began has been counted. That
knowledge is not written down; the first poll after a start finds it again.

A loss is told at least once: it stays in the manifest until the record of every query that reads
the source knows of it, so a crash after the report tells it again rather than never.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import msgspec

from headwater.edge.report import BatchReport
from headwater.errors import EpochOver

CLEAN_POLLS_MAX = 1_000
"""Polls whose commit is awaited; beyond, the oldest is forgotten and a newer one stands for it."""


class Loss(msgspec.Struct, frozen=True):
    """Input that can't be counted: bytes that are gone, or lines that were stepped over."""

    bytes: int = 0
    lines: int = 0
    what: str = ""


class Past(msgspec.Struct, frozen=True):
    """Of a reading of the past: where the live reading stood when it began, and what it holds."""

    after_cut: int
    """Live cuts up to this one are the past's for its queries, which count only later ones."""
    first_us: int | None = None
    """The earliest record time of its first batch with records; None: there was none yet."""


class AsidePanes(msgspec.Struct, frozen=True):
    """Which panes of a query a stretch may touch that was set aside."""

    query: str
    first: int
    last: int


class Aside(msgspec.Struct, frozen=True):
    """Of a stretch that was set aside: where it ends, and for whom it is."""

    after_cut: int
    """Live cuts up to this one are its, or an earlier one's, for its queries."""
    panes: tuple[AsidePanes, ...] = ()
    bytes: int = 0

    @property
    def queries(self) -> set[str]:
        return {one.query for one in self.panes}

    def has(self, query: str) -> bool:
        return any(one.query == query for one in self.panes)

    def grown(self, more: Aside) -> Aside:
        """Of the same queries."""
        both = zip(self.panes, more.panes, strict=True)
        return Aside(
            more.after_cut,
            tuple(AsidePanes(a.query, min(a.first, b.first), max(a.last, b.last)) for a, b in both),
            self.bytes + more.bytes,
        )


@dataclass
class SourceState:
    """Changed by ``CutLog`` alone, when a transaction is committed, in the same hold of the lock.

    A source that was forgotten and made anew has another state: the old one is refused.
    """

    id: int
    name: str
    ends: bool
    is_begun: bool
    """A first poll has been registered: what appears from now on is new."""
    epoch: int
    last_cut: int
    committed_cut: int
    is_clean: bool = False
    """The newest poll reached the end of the input."""
    has_unread: bool = True
    """It has met input that can't be read now; until a process has polled, there may be some."""
    is_behind: bool = True
    """It has left input that can be read, for want of room."""
    read_through_s: float | None = None
    losses: dict[int, Loss] = field(default_factory=dict)
    """By their number in the manifest."""
    told: set[int] = field(default_factory=set)
    polled_s: float | None = None
    """When the newest poll began that reached the end of the input."""
    waiting_bytes: int = 0
    """Found and not committed."""
    past: Past | None = None
    """Set: it is a reading of the past, and has begun."""
    aside: Aside | None = None
    """Set: it is a stretch that was set aside."""
    _clean_polls: deque[tuple[int, float]] = field(default_factory=deque)
    _waiting: deque[tuple[int, int, float]] = field(default_factory=deque)
    """(last cut, bytes, time) of what polls have found and is not committed."""

    @property
    def waiting_since_s(self) -> float | None:
        """When the oldest was found of what waits; None: nothing does."""
        with contextlib.suppress(IndexError):  # other threads commit
            return self._waiting[0][2]
        return None

    @property
    def has_ended(self) -> bool:
        is_all_found = self.past is None or not self.is_behind
        return self.ends and self.is_begun and is_all_found and self.committed_cut == self.last_cut

    def past_begun(self, past: Past) -> None:
        self.is_begun, self.past = True, past

    @property
    def found(self) -> list[tuple[int, int, float]]:
        """(last cut, bytes, steady time) of what polls have found and is not committed."""
        while True:
            with contextlib.suppress(RuntimeError):  # other threads commit
                return list(self._waiting)

    def set_aside(self, aside: Aside, last_cut: int, byte_count: int, found_s: float) -> None:
        """It is, or has grown."""
        self.aside = aside
        if last_cut > self.last_cut:
            self.wait(last_cut, byte_count, found_s)
        self.last_cut = last_cut

    def refuse_other_epoch(self, epoch: int, what: str) -> None:
        if epoch != self.epoch:
            raise EpochOver(
                f"source {self.name}, epoch {epoch}, {what}: wanted a batch of epoch {self.epoch}; "
                "another Spark has taken over"
            )

    def polled(
        self, *, started_s: float, is_clean: bool, has_unread: bool = False, is_behind: bool = False
    ) -> None:
        """A poll is over, and all that it found is registered."""
        self.is_clean, self.has_unread, self.is_behind = is_clean, has_unread, is_behind
        polls = self._clean_polls
        if is_clean:
            self.polled_s = started_s
            if polls and polls[-1][0] == self.last_cut:
                polls.pop()
            polls.append((self.last_cut, started_s))
        if len(polls) > CLEAN_POLLS_MAX:
            polls.popleft()
        self._see_committed()

    def registered(
        self,
        last_cut: int,
        news: dict[int, Loss],
        heard: Collection[int],
        found: int,
        found_s: float,
    ) -> None:
        """``found`` is how many bytes the new cuts have."""
        if last_cut > self.last_cut:
            self.wait(last_cut, found, found_s)
        self.is_begun = True
        self.last_cut = last_cut
        if heard:
            self.forget_losses(heard)
        self.losses.update(news)

    def wait(self, last_cut: int, byte_count: int, found_s: float) -> None:
        """Of the newest of very many entries only the sum is kept."""
        if len(self._waiting) >= CLEAN_POLLS_MAX:
            _, more, found_s = self._waiting.pop()
            byte_count += more
        self._waiting.append((last_cut, byte_count, found_s))
        self._count_waiting()

    def _count_waiting(self) -> None:
        self.waiting_bytes = sum(count for _, count, _ in self._waiting)

    def committed(self, through: int, heard: Collection[int] = ()) -> None:
        if heard:
            self.forget_losses(heard)
        self.committed_cut = through
        self._see_committed()

    def lost(self, number: int, loss: Loss, through: int) -> None:
        """A chunk is gone, and the committed cut has moved past what is lost."""
        self.losses[number] = loss
        self.committed(through)

    def _see_committed(self) -> None:
        polls = self._clean_polls
        while polls and polls[0][0] <= self.committed_cut:
            self.read_through_s = polls.popleft()[1]
        while self._waiting and self._waiting[0][0] <= self.committed_cut:
            self._waiting.popleft()
        self._count_waiting()

    def report(self) -> BatchReport:
        """The source's own part of a report; a batch adds what it did for each query."""
        new = [loss for number, loss in self.losses.items() if number not in self.told]
        self.told.update(self.losses)
        return BatchReport(
            source=self.name,
            read_through_s=self.read_through_s if self.is_clean else None,
            has_unread=self.has_unread and not self.ends,
            is_caught_up=not self.is_behind and self.committed_cut == self.last_cut,
            ended=self.has_ended,
            unparsed=sum(loss.lines for loss in new),
            skipped_lines=sum(loss.lines for loss in new),
            lost_bytes=sum(loss.bytes for loss in new),
            loss_through=max(self.losses, default=0) if new else 0,
            low_time_us=None if self.past is None else self.past.first_us,
        )

    def forget_losses(self, heard: Iterable[int]) -> None:
        for number in heard:
            self.losses.pop(number, None)
            self.told.discard(number)
