"""What is shown of the narrow link: when its site was in the answers to both streams."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import pytest
from query_kit import queries_in

from headwater.algebra.words.site_state import PaneState
from headwater.local.demo.demo import Demo, demo_sql, sql_for_all
from headwater.local.demo.narrow_link import BOUNDED, SITE, STREAMS, WHOLE, NarrowLink
from headwater.local.demo.narrowed_line import SITE as NARROWED
from headwater.local.demo.workload import LineMaker, SiteProfile, Traffic
from headwater.root.said.envelope import Envelope, MissingSite, Trigger
from headwater.root.said.withheld import StatedError, StatedErrors
from headwater.spark.jvm.session import RunningSpark

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
    link.hear("top_domains", an_answer(3.0))
    link.logs_end(9.5)
    link.hear(WHOLE, an_answer(0.0, rows=0))
    assert link.shown(3).windows == ()
    assert link.verdict().window_count == 0
    link.logs_end(10.5)
    link.hear(WHOLE, an_answer(6.0, rows=0, lacks=True))
    assert link.verdict().window_count == 1, "an answer without the only site is one that is late"


def test_the_worst_column_counts() -> None:
    worse = msgspec.structs.replace(STATED.columns[0], column="bytes", share=0.009)
    stated = msgspec.structs.replace(STATED, columns=(*STATED.columns, worse))
    link = NarrowLink()
    link.hear(BOUNDED, msgspec.structs.replace(an_answer(3.0), withheld=stated))
    assert link.verdict().reached == link.shown(1).windows[0].reached == 0.009


def test_its_streams_ask_the_same_and_one_of_them_with_an_error() -> None:
    queries = queries_in(demo_sql())
    whole, bounded = (next(q for q in queries if q.stream == name) for name in STREAMS)
    assert whole.program.site_sql == bounded.program.site_sql
    assert whole.tolerates is None
    assert bounded.tolerates is not None
    assert whole.sites == bounded.sites == (SITE,)
    assert whole.timing == bounded.timing


def test_where_sites_have_other_names_all_is_asked_of_all() -> None:
    asked = [(query.stream, query.sites) for query in queries_in(sql_for_all())]
    assert asked == [(query.stream, ()) for query in queries_in(demo_sql())]


def test_sites_with_narrow_lines_are_as_busy_by_day_as_by_night(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whether its line is too narrow would go by the time of day."""
    made: dict[str, SiteProfile] = {}

    class Writer:
        def __init__(self, _: Path, profile: SiteProfile, *__: object, **___: object) -> None:
            made[profile.name] = profile

    monkeypatch.setattr("headwater.local.demo.demo.SiteWriter", Writer)
    spark = cast(RunningSpark, None)
    Demo(tmp_path, spark, seconds=60.0, seed=1, show=lambda _: None)._start_logs()
    assert {name for name, profile in made.items() if not profile.swing} == {SITE, NARROWED}
    traffic = Traffic(seed=1, swing=0.6)
    loads = LineMaker(made[SITE], traffic).load_at(np.linspace(0.0, traffic.day_s, 9))
    assert set(loads.tolist()) == {1.0}
