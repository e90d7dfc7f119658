"""What travels between whoever asks a question about the past and the agent that takes it.

The names of the requests are beside all others, in ``control_api``.
"""

from __future__ import annotations

import msgspec


class AskRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    select: str
    """What is asked, as one SELECT of a source."""
    name: str
    """What the question is called, chosen by whoever asks."""
    since_s: float | None = None
    """About so long before now; None: from … to, in microseconds since 1970."""
    from_us: int | None = None
    to_us: int | None = None
    """None: now."""
    sites: str = ""
    """As in WITH (sites = …)."""
    reads_logs: bool = False
    """Wanted from the logs, whatever the cubes have."""
    adds_open: bool = False
    """Wanted with what sites have of panes that are open yet."""


class PreparedAsk(msgspec.Struct, frozen=True):
    """As ``Prepared``: the question, and what is to be asked before of how much it reads."""

    question: bytes
    estimate: bytes | None
    """None: of logs nobody knows beforehand."""
    source: str
    """CREATE SOURCE, as the streams that run have it."""
    first_us: int
    end_us: int
    step_us: int
    """What is asked about, in whole steps: a window from first to end, cut so, where the SELECT has
    none of its own."""
    why_not: tuple[str, ...]
    """Where no stream has it: what each lacks."""
    group_share: float
    """For the estimate: which power of the stream's groups are groups of the question."""
    installer: str
    home: str
    sites: tuple[str, ...]


class EndAskRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    questions: tuple[str, ...]
    """Their ids."""


class EndAskReply(msgspec.Struct, frozen=True):
    ended: tuple[str, ...]
