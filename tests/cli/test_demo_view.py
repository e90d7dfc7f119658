"""The demo's picture, drawn from snapshots alone."""

import io

import msgspec
import pytest
from query_kit import queries_in
from rich.console import Console

from headwater.agent.control.control_api import SiteLine, StreamLine
from headwater.agent.view.federation_view import FederationView, SiteView, StreamView
from headwater.agent.view.watched_site import WatchedSite
from headwater.algebra.words.site_state import PaneState
from headwater.cli.show.demo_summary import summary_table
from headwater.cli.show.demo_view import (
    BAR_CELLS,
    INTRODUCTION,
    PLAIN_EVERY_S,
    REPAIRS_TOLD,
    DemoView,
    coverage_bar,
    event_lines,
    picture,
    progress_line,
)
from headwater.local.demo.demo import demo_sql
from headwater.local.demo.demo_snapshot import (
    AskedVerdict,
    DemoSnapshot,
    DemoSummary,
    EventKind,
    EventShown,
    LevelVerdict,
    LineShown,
    NarrowShown,
    NarrowVerdict,
    NarrowWindow,
    SiteCondition,
    StreamVerdict,
)
from headwater.root.said.envelope import Envelope, MissingSite, Trigger

NOON_US = 1_767_268_800_000_000


def window(
    number: int,
    *,
    covered: int = 12,
    revision: int = 1,
    missing: tuple[str, ...] = (),
    exact: bool = False,
    final: bool = False,
) -> Envelope:
    start_us = NOON_US + number * 5_000_000
    return Envelope(
        stream="",
        query="",
        window=number,
        start_us=start_us,
        end_us=start_us + 5_000_000,
        revision=revision,
        roster_version=1,
        expected=12,
        covered=covered,
        missing=tuple(MissingSite(site, state, "", ()) for site in missing for state in PaneState),
        missing_count=len(missing),
        exact=exact,
        final=final,
        staleness_s=1.0,
        answered_at_s=0.0,
        trigger=Trigger.COMPLETE,
        rows=40,
    )


def a_site(name: str, region: str, condition: SiteCondition, *amounts: int) -> SiteView:
    return SiteView(SiteLine(name, region, "data", "", condition), *amounts)


def a_stream(name: str, *windows: Envelope, **counts: int) -> StreamView:
    return StreamView(StreamLine(name, name, "london", "5 seconds", **counts), windows)


def snapshot(elapsed_s: float = 20.0, **more: object) -> DemoSnapshot:
    sites = tuple(
        a_site(f"site{n:02d}", "eu-west", SiteCondition.UP, 5_000_000, 20_000, 1_234)
        for n in range(10)
    )
    troubled = (
        a_site("gru", "sa-east", SiteCondition.CUT_OFF, 1_000_000, 900),
        a_site("nrt", "ap-east", SiteCondition.DEAD),
    )
    streams = (
        a_stream(
            "top_domains",
            window(0, exact=True, final=True),
            window(1, covered=10, missing=("gru", "nrt")),
            window(2, revision=3, exact=True),
            answered=3,
            revisions=7,
            exact=2,
            final=1,
        ),
        a_stream("slow_requests"),
    )
    events = (
        EventShown(1.0, EventKind.INFO, "12 sites are up"),
        EventShown(15.0, EventKind.TROUBLE, "region sa-east is cut off"),
    )
    values = {"streams": streams, "events": events} | more
    view = FederationView(sites + troubled, values["streams"])
    return DemoSnapshot(elapsed_s, 60.0, "sa-east is cut off", view, values["events"])


def drawn(columns: int, shown: DemoSnapshot) -> str:
    console = Console(file=io.StringIO(), width=columns, force_terminal=False)
    with console.capture() as text:
        console.print(picture(shown, columns=columns))
    return text.get()


@pytest.mark.parametrize("columns", [80, 140])
def test_the_picture_has_sites_windows_events_and_totals(columns: int) -> None:
    text = drawn(columns, snapshot())
    for wanted in (
        "site00",
        "cut off",
        "dead",
        "top_domains",
        "slow_requests",
        "12:00:00–12:00:05",
        "12/12",
        "10/12",
        "3 answered, 4 revisions, 2 exact, 1 final",
        "exact final",
        "without gru, nrt",
        "r3",
        "region sa-east is cut off",
        "51.0 MB",
        "200.9 kB",
    ):
        assert wanted in text


@pytest.mark.parametrize("columns", [80, 140])
def test_the_picture_fits_a_screen_of_24_lines_whatever_there_is(columns: int) -> None:
    many = tuple(EventShown(float(n), EventKind.REPAIRED, f"event {n}") for n in range(50))
    full = tuple(a_stream(name, *(window(n) for n in range(20))) for name in ("one", "two"))
    lines = drawn(columns, snapshot(events=many, streams=full)).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= columns
    assert any("event 49" in line for line in lines)


def narrow(*windows: NarrowWindow) -> NarrowShown:
    return NarrowShown("lagos's line of 56 kbit/s", "misses", "misses_soon", windows)


def narrow_window(number: int, *, whole_s: float | None = 9.14) -> NarrowWindow:
    start_us = NOON_US + number * 10_000_000
    asked, end_us = "0.5 % of total", start_us + 10_000_000
    return NarrowWindow(start_us, end_us, whole_s, 3.2, asked, reached=0.0041, withheld_keys=1_812)


@pytest.mark.parametrize("columns", [80, 140])
def test_what_an_error_brings_over_the_narrow_link_stands_side_by_side(columns: int) -> None:
    shown = msgspec.structs.replace(
        snapshot(), narrow=narrow(narrow_window(0), narrow_window(1, whole_s=None))
    )
    text = drawn(columns, shown)
    for wanted in ("lagos's line of 56 kbit/s", "0.5 % of total", "after 9.1 s", "after 3.2 s"):
        assert wanted in text
    assert "after …" in text
    assert "0.41%" in text
    assert "1,812" in text


@pytest.mark.parametrize("columns", [80, 140])
def test_the_narrow_link_has_room_on_the_screen_as_well(columns: int) -> None:
    many = tuple(EventShown(float(n), EventKind.REPAIRED, f"event {n}") for n in range(50))
    names = ("one", "two", "misses", "misses_soon")
    full = tuple(a_stream(name, *(window(n) for n in range(20))) for name in names)
    shown = msgspec.structs.replace(
        snapshot(events=many, streams=full), narrow=narrow(*map(narrow_window, range(9)))
    )
    text = drawn(columns, shown)
    assert len(text.splitlines()) <= 24
    assert "misses: " not in text, "both streams share a table"


def test_without_a_terminal_the_newest_window_over_the_narrow_link_is_told() -> None:
    out = io.StringIO()
    windows = (narrow_window(0), narrow_window(1, whole_s=None))
    with DemoView(Console(file=out, width=80)) as view:
        view.show(msgspec.structs.replace(snapshot(), narrow=narrow(*windows)))
    assert "misses after 9.1 s, misses_soon after 3.2 s, off by 0.41%" in out.getvalue()


def test_a_picture_of_nothing_is_drawn_too() -> None:
    assert "starting" in drawn(80, DemoSnapshot(0.0, 60.0, "starting"))


def test_the_bar_is_full_only_when_every_site_is_in() -> None:
    assert coverage_bar(12, 12).plain == "█" * BAR_CELLS + " 12/12"
    assert "░" in coverage_bar(999, 1000).plain
    assert coverage_bar(0, 0).plain.startswith("░" * BAR_CELLS)


def test_without_a_terminal_each_event_is_told_once_and_totals_now_and_then() -> None:
    out = io.StringIO()
    with DemoView(Console(file=out, width=80)) as view:
        view.show(snapshot(20.0))
        view.show(snapshot(20.5))
        view.show(snapshot(20.0 + PLAIN_EVERY_S))
    lines = out.getvalue().splitlines()
    assert sum("region sa-east is cut off" in line for line in lines) == 1
    totals = [line for line in lines if "10/12 sites up" in line]
    assert len(totals) == 2
    assert "raw 51.0 MB, sent 200.9 kB" in totals[0]


def test_only_the_first_repairs_are_told_one_by_one() -> None:
    repairs = tuple(EventShown(30.0, EventKind.REPAIRED, f"window {n} is exact") for n in range(9))
    trouble = EventShown(30.1, EventKind.TROUBLE, "region asia is cut off")
    lines = list(event_lines((*repairs, trouble)))
    assert sum("is exact" in line for line in lines) == REPAIRS_TOLD
    assert "region asia" in lines[-1]
    later = list(event_lines((*repairs, trouble), repairs=9))
    assert [line.partition("] ")[2] for line in later] == ["region asia is cut off"]


def test_on_a_terminal_the_picture_is_drawn_in_place() -> None:
    out = io.StringIO()
    with DemoView(Console(file=out, width=140, height=40, force_terminal=True)) as view:
        view.show(snapshot(20.0))
        first = len(out.getvalue())
        view.show(snapshot(21.0))
    assert "\x1b[1A" in out.getvalue()[first:]
    assert "top_domains" in out.getvalue()


def summary(*, is_equal: bool, final_count: int = 9, exact_count: int = 9) -> DemoSummary:
    verdict = StreamVerdict(
        "top_domains",
        9,
        final_count,
        exact_count,
        3,
        90,
        is_equal,
        "" if is_equal else "window 4 differs",
        unparsed_count=61,
    )
    return DemoSummary(
        (verdict,),
        80_000_000,
        8_000_000,
        400_000,
        500_000,
        70.0,
        summaries_bytes=300_000,
        incomplete_count=7,
    )


def summary_text(shown: DemoSummary) -> str:
    console = Console(file=io.StringIO(), width=400)
    with console.capture() as text:
        console.print(summary_table(shown))
    return text.get()


def test_the_summary_says_what_was_saved_and_that_all_is_equal() -> None:
    good = summary(is_equal=True)
    text = summary_text(good)
    assert good.is_good
    assert "400.0 kB crossed the network: 200 × less than the logs, 20 × less" in text
    assert "7 said who was missing" in text
    assert "61 lines were malformed" in text
    assert "300.0 kB are summaries of records. The other 100.0 kB keep twelve sites" in text
    assert "every answer was exact, and equal to that of one Spark" in text


def test_a_difference_or_a_window_that_is_not_final_is_no_success() -> None:
    assert not summary(is_equal=False).is_good
    assert not summary(is_equal=True, final_count=8).is_good
    assert not summary(is_equal=True, exact_count=8).is_good
    assert not DemoSummary((), 1, 1, 1, 1, 1.0).is_good
    text = summary_text(summary(is_equal=False))
    assert "window 4 differs" in text
    assert "NOT every answer" in text


def test_the_introduction_fits_a_terminal_and_names_what_runs() -> None:
    assert max(map(len, INTRODUCTION.splitlines())) <= 80
    for query in queries_in(demo_sql()):
        assert query.stands_for is not None or f"  {query.stream} " in INTRODUCTION


def test_a_stream_of_which_something_was_kept_back_is_held_to_what_it_says() -> None:
    bounded = StreamVerdict("misses_soon", 9, 9, 2, 3, 90, True, bounded_count=7)
    verdict = NarrowVerdict("lagos's line", 9, 9.14, 3.2, 1, 9, "0.5 % of total", 0.0041, 1_812)
    good = DemoSummary((bounded,), 1, 1, 1, 1, 1.0, narrow=verdict)
    assert good.is_good
    text = summary_text(good)
    assert "yes, within what it says" in text
    assert "misses was there in time in 1 of 9 windows, after 9.1 s in the middle" in text
    assert "misses_soon, which may be off by 0.5 % of total, in 9 of 9, after 3.2 s" in text
    assert "too busy" not in text
    assert "doesn't show" not in text
    lost = msgspec.structs.replace(bounded, bounded_count=6)
    assert not DemoSummary((lost,), 1, 1, 1, 1, 1.0).is_good


@pytest.mark.parametrize(
    ("whole", "bounded", "said"), [(1, 2, "too busy"), (8, 9, "wide enough for both")]
)
def test_a_run_that_does_not_show_what_an_error_brings_says_so(
    whole: int, bounded: int, said: str
) -> None:
    verdict = NarrowVerdict("lagos's line", 9, 9.1, 3.2, whole, bounded, "0.2 %", 0.001, 1_812)
    assert said in summary_text(DemoSummary((), 1, 1, 1, 1, 1.0, narrow=verdict))


NARROWED = LineShown(
    "sydney",
    WatchedSite(
        "sydney", "coarsen at level 1", is_degraded=True, sending="all links 20 of 24 kbit/s"
    ),
    2.4,
    ("pages", "pages_by_coarser_url"),
)


@pytest.mark.parametrize("columns", [80, 140])
def test_the_line_that_is_narrowed_has_one_line_and_its_streams_no_table(columns: int) -> None:
    streams = tuple(a_stream(name, window(1)) for name in ("top_domains", *NARROWED.streams))
    shown = msgspec.structs.replace(snapshot(streams=streams), line=NARROWED)
    text = drawn(columns, shown)
    assert "sydney sends kinds of pages; 20 of 24 kbit/s; answered 2.4 s after the end" in text
    assert "top_domains: " in text
    assert "pages: " not in text
    assert len(text.splitlines()) <= 24


def test_a_line_of_progress_has_the_narrowed_line_while_it_is_news() -> None:
    shown = msgspec.structs.replace(snapshot(), line=NARROWED)
    assert "; sydney sends kinds of pages; 20 of 24 kbit/s; " in progress_line(shown)
    calm = msgspec.structs.replace(NARROWED, now=WatchedSite("sydney", "all is sent"))
    assert "sydney" not in progress_line(msgspec.structs.replace(shown, line=calm))


def said_of(level: LevelVerdict | None, asked: AskedVerdict | None) -> str:
    summary = DemoSummary((), 1, 1, 1, 1, 1.0, level=level, asked=asked)
    console = Console(file=io.StringIO(), width=400, force_terminal=False)
    with console.capture() as text:
        console.print(summary_table(summary))
    return text.get()


def test_the_end_says_what_was_given_up_and_whether_it_followed() -> None:
    level = LevelVerdict("sydney", "24 kbit/s", 6.0, 11.0, by_kind=7, exact_by_page=7)
    assert (
        "When sydney could send no more than 24 kbit/s, it sent kinds of pages after 6.0 s; pages "
        "came back 11.0 s after it was wide again. 7 windows of pages were answered by kind "
        "meanwhile, and 7 of them are exact by page in the end." in said_of(level, None)
    )
    none = msgspec.structs.replace(level, went_after_s=None)
    assert "This run doesn't show a change of level" in said_of(none, None)
    late = msgspec.structs.replace(level, back_after_s=None)
    assert "it did not return before the logs ended" in said_of(late, None)


def test_the_end_says_what_the_cubes_said_when_they_were_asked() -> None:
    asked = AskedVerdict("SELECT 1", 4, 1.5, is_equal=True, reads_cubes=True)
    said = "(SELECT 1), the sites' cubes answered after 1.5 s: 4 rows, as one Spark has it."
    assert said in said_of(None, asked)
    wrong = msgspec.structs.replace(asked, is_equal=False, difference="row 2", reads_cubes=False)
    assert "NOT as one Spark: row 2" in said_of(None, wrong)
    assert "the sites' logs" in said_of(None, wrong)


def test_a_wrong_answer_to_the_question_fails_the_demo() -> None:
    stream = StreamVerdict("s", 1, 1, 1, 0, 1, is_equal=True)
    summary = DemoSummary((stream,), 1, 1, 1, 1, 1.0)
    assert summary.is_good
    wrong = AskedVerdict("SELECT 1", 4, 1.5, is_equal=False, reads_cubes=True)
    assert not msgspec.structs.replace(summary, asked=wrong).is_good


def test_a_level_that_nobody_went_to_has_no_windows_and_lacks_none() -> None:
    none = StreamVerdict("s", 0, 0, 0, 0, 0, is_equal=True)
    assert not none.is_whole
    assert msgspec.structs.replace(none, is_level=True).is_whole
