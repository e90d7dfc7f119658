"""The last records of a site, as arrays, against a list of them in plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.windows.last_rows import last_of, still_wanted

READ = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=20)
"""For each record in the order of reading: its pane, and its rows."""


def arrays(read: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = [n for n, (_, count) in enumerate(read) for _ in range(count)]
    panes = [pane for pane, count in read for _ in range(count)]
    return np.array(rows, dtype=np.int64), np.array(panes, dtype=np.int64)


def meant(read: list[tuple[int, int]], through: int, last_n: int) -> list[int]:
    return [n for n, (pane, _) in enumerate(read) if pane <= through][-last_n:]


@given(READ, st.integers(0, 7), st.integers(1, 6))
def test_they_are_the_last_that_lie_in_panes_up_to_the_one_asked_for(
    read: list[tuple[int, int]], through: int, last_n: int
) -> None:
    rows, panes = arrays(read)
    last = last_of(rows, panes, through=through, last_n=last_n)
    wanted = meant(read, through, last_n)
    assert rows[last.places].tolist() == [n for n in wanted for _ in range(read[n][1])]
    assert last.oldest == (wanted[0] if len(wanted) == last_n else None)


@given(READ, READ, st.integers(0, 7), st.integers(1, 6))
def test_what_goes_is_in_no_later_state(
    read: list[tuple[int, int]], later: list[tuple[int, int]], closed_below: int, last_n: int
) -> None:
    rows, panes = arrays(read)
    kept = still_wanted(rows, panes, closed_below=closed_below, last_n=last_n)
    more_rows, more_panes = arrays(read + later)
    more = len(rows)
    few_rows = np.concatenate([rows[kept], more_rows[more:]])
    few_panes = np.concatenate([panes[kept], more_panes[more:]])
    for pane in range(closed_below, 9):
        whole = last_of(more_rows, more_panes, through=pane, last_n=last_n)
        short = last_of(few_rows, few_panes, through=pane, last_n=last_n)
        assert few_rows[short.places].tolist() == more_rows[whole.places].tolist()


@given(READ, st.integers(0, 20), st.integers(0, 7), st.integers(1, 6))
def test_a_state_lacks_what_was_missed_until_enough_newer_records_were_read(
    read: list[tuple[int, int]], at_row: int, through: int, last_n: int
) -> None:
    rows, panes = arrays(read)
    last = last_of(rows, panes, through=through, last_n=last_n)
    newer = [n for n, (pane, _) in enumerate(read) if pane <= through and n >= at_row]
    assert last.lacks(at_row) == (len(newer) < last_n)
