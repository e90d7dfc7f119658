"""What operators may ask an agent: the names of the requests, and the values that come back.

Requests and replies travel as plain data over the control channel; these structs say what is in
them, for the agent that answers and for the command line that prints.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from headwater.agent.view.watched_site import WatchedSite

PREPARE = "prepare"
PREPARE_REMOVAL = "prepare removal"
PREPARE_ALTER = "prepare settings"
GIVE = "give"
PREPARE_BUDGET = "prepare budget"
GIVE_BUDGET = "give budget"
EXPLAIN = "explain"
STREAMS = "streams"
SITES = "sites"
WATCH = "watch"
WHY = "why"
STATEMENTS = "statements"
ALARMS = "alarms"
COMPARE = "compare"
PREPARE_ASK = "prepare question"
END_ASK = "end question"


class NamedWindow(StrEnum):
    """Windows whose number whoever asks does not know."""

    NEWEST = "newest"
    """The last that should have an answer by now."""
    LAST = "last"
    """The last that has one."""


class Standing(StrEnum):
    """What a stream of a file is, beside those that run."""

    NEW = "new"
    SAME = "same"
    CHANGED = "changed"
    ALTERED = "altered"
    """Only in settings, which can change while it runs."""


class PrepareRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Also for ``compare``."""

    text: str


class Prepared(msgspec.Struct, frozen=True):
    """What is to be signed, and by what the client can make the same itself."""

    words: tuple[bytes, ...]
    """The words of the commands, in order; who commands is not in them yet."""
    installer: str
    home: str
    sites: tuple[str, ...]


class AlterRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stream: str
    settings: str
    """As they stand between the brackets of SET."""
    is_whole: bool = False
    """What is not among them is as by default, instead of as it is."""
    ends: bool = False
    """The stream is to end, and its panes to stay for questions; no settings are named then."""


class Altered(msgspec.Struct, frozen=True):
    """Other settings of a stream, or of a part of it."""

    stream: str
    id: str
    settings: int
    """Their number."""
    changes: str
    begins: str
    """The start of the first window for which they hold, as text."""
    sites: int
    """How many are asked to go by them."""


class PreparedAlter(msgspec.Struct, frozen=True):
    """As ``Prepared``; no words: nothing would change."""

    words: tuple[bytes, ...]
    altered: tuple[Altered, ...]
    """What each of them does."""
    installer: str
    home: str
    sites: tuple[str, ...]
    text: str
    """The source and the stream, with the settings that it has."""


class Installed(msgspec.Struct, frozen=True):
    stream: str
    id: str
    root: str
    begin: str
    """The start of the first window, as text; ``earliest`` where all input is read."""
    sites: int
    part: str = ""
    """Of a stream with several roots: which one, as text."""
    change: str = "installed"
    """installed; unchanged: it was there already, and goes on; altered: the same, with other
    settings; replaces and the former id."""
    refused: str = ""
    """Why the agent that was asked does not do its own part in it; others may do theirs."""


class Compared(msgspec.Struct, frozen=True):
    """One stream of a file, beside what runs under its name."""

    stream: str
    state: Standing
    text: str
    """Its source and itself, as the file has them."""
    former_text: str = ""
    """As they run; empty where whoever asks may not read them."""
    running: tuple[Installed, ...] = ()
    """What runs: one query, or one for each part."""
    begins: str = ""
    """If it is replaced: with what the new one begins, as text."""
    results: tuple[str, ...] = ()
    """Where the answers so far lie and stay: of each that runs."""
    settings: str = ""
    """If only settings are others: as the file has them, in the form of SET."""


class ComparedReply(msgspec.Struct, frozen=True):
    streams: tuple[Compared, ...]


class SignedCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    word: bytes
    signature: bytes
    key: bytes
    certificate: bytes


class GiveRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands of one kind, all or none."""

    installs: tuple[SignedCommand, ...] = ()
    removals: tuple[SignedCommand, ...] = ()
    alters: tuple[SignedCommand, ...] = ()


class RunReply(msgspec.Struct, frozen=True):
    installed: tuple[Installed, ...]


class ExplainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str


class ExplainReply(msgspec.Struct, frozen=True):
    plans: tuple[str, ...]


class StreamLine(msgspec.Struct, frozen=True):
    stream: str
    id: str
    root: str
    window: str
    """Its range and slide, as text."""
    answered: int = 0
    revisions: int = 0
    exact: int = 0
    final: int = 0
    newest: str = ""
    """The start of the newest answered window, as text."""
    coverage: str = ""
    """Of the newest answer: covered of expected sites."""
    part: str = ""
    """Of a stream with several roots: which one, as text."""
    trouble: str = ""
    """What fails at the site that was asked and is tried again: its source, or writing."""
    spark_deaths: int = 0
    """How often a JVM of the agent that answers died while this query was at work."""
    unread: str = ""
    """Input that sites do not read, with the first names and reasons: of all sites at the root,
    elsewhere of the site that was asked."""
    remarks: str = ""
    """What sites remark about their input: a path that matches no file, too many malformed lines;
    of all sites at the root, elsewhere of the site that was asked."""
    alarms: int = 0
    """That stand at its root: ``headwater alarms`` there has them."""
    clocks: str = ""
    """By age: where the root's clock is unconfirmed, as the root knows it."""
    settings: str = ""
    """Where settings were altered: those that hold, and those that are to come."""
    sending: str = ""
    """Where it has a budget or a weight: what the site that was asked sends for it, and may."""
    carries: str = ""
    """What the way from the site that was asked to its root carries, and where that is least."""
    backlog: str = ""
    """What waits at the site that was asked, and for how long."""
    degraded: str = ""
    """Where it may give something up: what the site that was asked gives up now, and at the root
    how many sites do."""
    unwanted: str = ""
    """Where windows have had enough: how many panes are wanted no more, at the root since it was
    started, and by the site that was asked."""
    former: int = 0
    """Former queries of this name of which answers are left: ``headwater streams --former``."""


class FormerLine(msgspec.Struct, frozen=True):
    """A query that was replaced or removed, and of which answers are left."""

    stream: str
    id: str
    ended: str
    """When it last answered, as text."""
    windows: int
    """That have an answer."""
    first: str
    newest: str
    """The starts of the first and of the newest of them, as text."""
    results: str
    """The directory that they lie in, at the agent that answers."""


class StreamsRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    former: bool = False
    """Former queries are wanted, too."""


class StreamsReply(msgspec.Struct, frozen=True):
    streams: tuple[StreamLine, ...]
    """Counts are known at the root of a stream; elsewhere they are 0."""
    asked: str = ""
    """The agent that answers."""
    former: tuple[FormerLine, ...] = ()
    """That were answered there."""
    elsewhere: tuple[str, ...] = ()
    """Other agents at which streams are answered."""
    budgets: tuple[str, ...] = ()
    """Of the agent that answers: what counts before its file, a sentence for each."""


class PreparedBudget(msgspec.Struct, frozen=True):
    site: str
    number: int
    """Of the next command for what this agent may send."""


class GiveBudget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    budget: SignedCommand


class BudgetReply(msgspec.Struct, frozen=True):
    commanded: tuple[str, ...]
    """What counts before the agent's file, a sentence for each."""
    present: str
    """All budgets that count now, as text."""


class SiteLine(msgspec.Struct, frozen=True):
    site: str
    region: str
    role: str
    """data, relay; with ``home`` where commands meet."""
    address: str
    link: str
    """here, up, down, or nothing where this agent has no link to it."""
    rtt_ms: float | None = None
    parents: str = ""
    """In the federation's trees."""
    place: str = ""
    """Its network coordinate, in milliseconds."""
    clock_ms: float | None = None
    """How far the root's clock is ahead of it, as far as is known here."""
    fenced: int = 0
    """Records from the future that the site read, as far as is known here."""
    sending: str = ""
    """What this agent sends there, and what it may, where a budget counts; of its own line: over
    all links."""
    carries: str = ""
    """What the link there carries, as it was shown last; nothing where nothing was measured."""


class AlarmLine(msgspec.Struct, frozen=True):
    """An alarm about panes of a stream that is answered at the agent, or a lie that it has met."""

    last: str
    """When it was last raised or met, as text."""
    since: str
    count: int
    kind: str
    stream: str
    """The stream's name; empty for a lie, which is about none."""
    site: str
    """Whose panes they are, or which neighbour the lie came from; empty: several."""
    panes: str
    """The first and the last, as text."""
    text: str
    carriers: tuple[str, ...] = ()
    """Peers that may have carried what is wrong."""
    id: str = ""
    """Of the query."""


class AlarmsReply(msgspec.Struct, frozen=True):
    asked: str
    """The agent that answers."""
    alarms: tuple[AlarmLine, ...]
    elsewhere: tuple[str, ...] = ()
    """Other agents at which streams are answered, and their alarms are kept."""


class StatementsReply(msgspec.Struct, frozen=True):
    text: str
    """The source and the stream, as they were written."""


class SitesReply(msgspec.Struct, frozen=True):
    asked: str
    """The agent that answers."""
    sites: tuple[SiteLine, ...]


class StreamRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """For ``watch`` (a stream of ``AnswerEvent``), ``statements`` and ``prepare removal``."""

    stream: str
    newest: bool = True
    """watch: begin with the newest answer of each window that is still there."""
    waits: bool = False
    """watch: say what is waited for, too (``WaitEvent``)."""
    sites: bool = False
    """watch: tell of all sites with each answer, also of those with nothing to say. An agent of
    before refuses that, and is asked without it otherwise."""


class AnswerEvent(msgspec.Struct, frozen=True):
    header: dict[str, Any]
    """The envelope, as plain data."""
    rows: tuple[dict[str, Any], ...]
    sites: tuple[WatchedSite, ...] = ()
    """As they are when it is told, which for answers of before is now; those with something to
    say."""


class WaitEvent(msgspec.Struct, frozen=True):
    """Between answers: what is waited for has changed."""

    text: str
    has_ended: bool = False
    """Nothing more comes."""


class WhyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stream: str
    window: str
    """A time in it (ISO 8601, or 09:10 for when it was last that; UTC), its number, ``newest`` (the
    last that should have an answer by now) or ``last`` (the last that has one)."""


class WhyReply(msgspec.Struct, frozen=True):
    text: str
    value: dict[str, Any]


class RemoveReply(msgspec.Struct, frozen=True):
    removed: str


class Elsewhere(msgspec.Struct, frozen=True, tag=True):
    """The stream is answered by another agent: ask that one."""

    site: str
    host: str
    port: int
