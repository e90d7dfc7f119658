"""An answer that states how far it may be off is held to that."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest

from headwater.local.trial.stated_bounds import broken_bound
from headwater.root.said.withheld import StatedError, StatedErrors

HITS = StatedError("hits", "5 % of total", 5.0, 0.05, 8.0, True)
STATED = StatedErrors((HITS,), 2)


def rows(**hits: int) -> pa.Table:
    return pa.table({"page": list(hits), "hits": pa.array(list(hits.values()), pa.int64())})


TRUTH = rows(a=60, b=32, c=5, d=3)


def stated(**changes: object) -> StatedErrors:
    return StatedErrors((msgspec.structs.replace(HITS, **changes),), 2)


def test_groups_that_are_not_in_it_count_as_nothing() -> None:
    assert broken_bound(STATED, rows(a=60, b=32), TRUTH) is None


@pytest.mark.parametrize(
    ("told", "mine", "fault"),
    [
        (stated(largest=4.0), rows(a=60, b=32), "off by 5, where at most 4"),
        (stated(total=7.0), rows(a=60, b=32), "all rows lack 8, where 7"),
        (stated(is_kept=False), rows(a=60, b=32), "not kept"),
        (STATED, rows(a=60, b=26, c=5, d=3), "off by 6"),
        (STATED, rows(a=60, b=32, x=6, c=5, d=3), "off by 6"),
        (STATED, None, "off by 60"),
    ],
)
def test_what_is_stated_wrongly_is_named(
    told: StatedErrors, mine: pa.Table | None, fault: str
) -> None:
    assert fault in (broken_bound(told, mine, TRUTH) or "")


def test_a_window_without_records_is_true() -> None:
    assert broken_bound(STATED, None, None) is None
    assert broken_bound(STATED, TRUTH.slice(0, 0), None) is None
