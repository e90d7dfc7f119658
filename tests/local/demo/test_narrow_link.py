"""What is shown of the narrow link: when its site was in the answers to both streams."""

from __future__ import annotations

import msgspec
from query_kit import queries_in

from headwater.algebra.words.site_state import PaneState
from headwater.local.demo.demo import demo_sql
from headwater.local.demo.narrow_link import BOUNDED, SITE, STREAMS, WHOLE, NarrowLink
from headwater.root.said.envelope import Envelope, MissingSite, Trigger
from headwater.root.said.withheld import StatedError, StatedErrors

STATED = StatedErrors((StatedError("requests", "0.5 % of total", 9.0, 0.004, 80.0, True),), 70)


def an_answer(stale_s: float, *, revision: int = 1, lacks: bool = False, rows: int = 9) -> Envelope:
    missing = (MissingSite(SITE, PaneState.OPEN, "", ()),) if lacks else ()
    return Envelope(
        stream="",
        query="",
        window=1,
        start_us=0,
        end_us=10_000_000,
        revision=revision,
        roster_version=1,
        expected=12,
        covered=12 - lacks,
        missing=missing,
        missing_count=len(missing),
        exact=False,
        final=False,
        staleness_s=stale_s,
        answered_at_s=0.0,
        trigger=Trigger.DEADLINE,
        rows=rows,
    )


def test_the_first_answer_that_has_the_site_counts() -> None:
    link = NarrowLink()
    link.hear(WHOLE, an_answer(6.0, lacks=True))
    link.hear(BOUNDED, msgspec.structs.replace(an_answer(3.0), withheld=STATED))
    assert link.shown(3).windows[0].whole_s is None
    link.hear(WHOLE, an_answer(9.0, revision=2))
    link.hear(WHOLE, an_answer(12.0, revision=3))
    (window,) = link.shown(3).windows
    assert (window.whole_s, window.bounded_s) == (9.0, 3.0)
    assert (window.asked, window.reached, window.withheld_keys) == ("0.5 % of total", 0.004, 70)
    verdict = link.verdict()
    assert (verdict.whole_in_time, verdict.bounded_in_time, verdict.window_count) == (0, 1, 1)


def test_other_streams_and_windows_after_the_logs_are_nothing_to_it() -> None:
    link = NarrowLink()
    link.hear(WHOLE, an_answer(0.0, rows=0))
    link.hear("top_domains", an_answer(3.0))
    assert link.shown(3).windows == ()
    assert link.verdict().window_count == 0


def test_its_streams_ask_the_same_and_one_of_them_with_an_error() -> None:
    queries = queries_in(demo_sql())
    whole, bounded = (next(q for q in queries if q.stream == name) for name in STREAMS)
    assert whole.program.site_sql == bounded.program.site_sql
    assert whole.tolerates is None
    assert bounded.tolerates is not None
