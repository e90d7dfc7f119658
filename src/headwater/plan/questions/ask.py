"""That a query is a question: asked once, about the past, and over when it is answered.

::

    operator ── estimate ─► sites look into their manifests ─► rows, bytes, of how many sites
             ── question ─► sites read their cubes of a stream ─► an answer with its envelope
                            └ or, where no stream has it, their logs, as any late query

A question is an ordinary query with an extent that has passed, so all that holds of queries holds
of it. What is here says what else does: at each site its site part is not run over records but over
the panes of a stream that contains it (``sql/questions/subsume.py``), within limits, and all of it
is forgotten at a moment that is known beforehand, though whoever asked is gone.
"""

from __future__ import annotations

import msgspec

ASK_BYTES_MAX = 256 << 20
"""Of panes as they lie on the disk, read at one site for one question."""
ASK_S_MAX = 60.0
"""What a site gives to one question, from the moment on when its turn has come."""
ASK_LIFE_S = 600.0
"""After which a question ends, answered or not; as long its panes stay pinned."""
NAMED = "ask_"
"""What names of questions begin with. A name that is taken twice ends a stream, so who may only ask
must not take one of those."""
LIFE_S_MAX = 7 * 86_400.0


class Ask(msgspec.Struct, frozen=True):
    """What a question is beside a query. The limits are those of the agent that took it; each site
    has its own, and the least counts."""

    stream: str = ""
    """The id of the stream whose cube is read; empty: the logs are."""
    until_us: int = 0
    """When it ends at the latest, by the clock of the agent that took it."""
    bytes_max: int = ASK_BYTES_MAX
    seconds_max: float = ASK_S_MAX
    estimates: bool = False
    """Only how much there would be to read is asked: of the stream's panes, or of the files of its
    source, as they are listed."""
    open_panes: bool | msgspec.UnsetType = msgspec.UNSET
    """What sites have of panes that are open yet is wanted, too, and marked. A site that does not
    know it declines these."""

    @property
    def reads_cube(self) -> bool:
        """It needs no records: panes are read, or an estimate is."""
        return bool(self.stream) or self.estimates

    @property
    def adds_open(self) -> bool:
        return self.open_panes is True

    def fault(self) -> str | None:
        """What is wrong with it; None: nothing."""
        if self.bytes_max < 0 or not 0.0 < self.seconds_max <= LIFE_S_MAX:
            return f"wanted limits above 0, got {self.bytes_max} bytes, {self.seconds_max} s"
        if self.adds_open and not self.stream:
            return "wanted open panes of a stream's cube, got no stream"
        return None
