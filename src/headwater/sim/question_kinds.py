"""What people in a simulated world ask: about some time of a stream that can be asked."""

from __future__ import annotations

from random import Random

import msgspec

from headwater.algebra.panes import MICROS, WindowSpec
from headwater.plan.query import Query, QueryId, TimeKind
from headwater.plan.questions.ask import Ask
from headwater.sim.records.admits import rows_max_of

ASKED_BACK_S = (15.0, 40.0, 80.0, 120.0)
"""How long before now a question begins; cubes forget after seventy seconds."""
ASKED_LIFE_S = 40.0


def may_be_asked(query: Query) -> bool:
    """As ``subsume`` has it."""
    is_whole = query.tolerates is None and query.draw is None and query.degrades is None
    is_one = query.part is None and query.stands_for is None and query.asked is None
    is_timed = query.time is TimeKind.EVENT and query.numbers is None and not query.ends
    is_of_records = not query.holds_states and query.sessions is msgspec.UNSET
    return is_whole and is_one and is_timed and is_of_records and rows_max_of(query) is None


def draw_question(
    random: Random, stream: Query, id_: QueryId, *, root: str, now_s: float, wall_s: float
) -> Query | None:
    """About some time before now; None: there is none that is any of the stream's."""
    step_us = stream.window.pane_us * random.choice((1, 2, 3))
    window = WindowSpec(step_us * random.choice((1, 2, 4)), step_us)
    assert stream.begin_pane is not None, "its begin is drawn"
    begin_us = stream.window.pane_start_us(stream.begin_pane)
    from_us = max(begin_us, round((now_s - random.choice(ASKED_BACK_S)) * MICROS))
    first = window.panes_of(window.first_window_from(from_us))[0]
    end = first + window.panes_per_window
    if window.pane_start_us(end) > now_s * MICROS:
        return None
    return msgspec.structs.replace(
        stream,
        id=id_,
        unit_last=0,
        window=window,
        root=root,
        begin_pane=first,
        end_pane=end,
        reads_past=True,
        demand=msgspec.UNSET,
        waits=msgspec.UNSET,
        ask=Ask(stream=str(stream.id), until_us=round((wall_s + ASKED_LIFE_S) * MICROS)),
    )
