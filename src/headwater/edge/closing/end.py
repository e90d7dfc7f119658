"""A query that is ended by command, where its panes are to stay (``remove --keep-panes``).

It is as if it had been installed with an extent that ends there: its last window is answered, what
it has closed is sealed as its lateness says, and then nothing is read for it any more.
"""

from __future__ import annotations

from headwater.algebra.words.site_state import FOREVER
from headwater.edge.query_state import News, QueryState


def end_by_command(state: QueryState, commanded: int | None) -> None:
    """When its settings are heard. Nothing from the pane ``commanded`` on is the query's; here from
    a later one on, where that has begun: what was closed in between stays for questions, and nobody
    waits for it. An end is never taken back, and never a later one."""
    end = state.settings.end_pane
    former = FOREVER if state.record.end_pane is None else state.record.end_pane
    if commanded is None or end is None or end >= former:
        return
    state.change(News.WORD, end_pane=end)
    if commanded < end:
        state.want_no_more(((commanded, end - 1),))
