"""How ``try`` ends: what was read and what was not, and when that is a failure."""

from __future__ import annotations

import msgspec
from query_kit import queries_in

from headwater.algebra.words.malformed import Malformed
from headwater.algebra.words.site_state import Unread
from headwater.cli.show.reading_report import SITES_SHOWN, reading_report
from headwater.local.trial.reading import SiteReading
from headwater.local.trial.results import StreamResult
from headwater.plan.query import Query
from headwater.plan.sources.local_times import Guessed

SOURCE = "CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = '*.csv', time = 'ts'{});"
STREAM = "CREATE STREAM {} AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 minute');"
KIND = Malformed(reason="wanted 4 fields, got 5", lines=40, came=None, sample="a,b,c,d,")
GOOD = SiteReading("lima", files=2, lines=1_000, records=1_000)


def queries(options: str = "", count: int = 1) -> list[Query]:
    text = SOURCE.format(options) + "".join(STREAM.format(f"s{n}") for n in range(count))
    return queries_in(text, at="r")


def report(*readings: SiteReading, options: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = reading_report([StreamResult(queries(options)[0], (), readings=readings)])
    return found.lines, found.failures


def bad(site: str = "oslo", malformed: int = 40, lines: int = 100) -> SiteReading:
    kind = msgspec.structs.replace(KIND, lines=malformed)
    return SiteReading(site, 1, lines, lines - malformed, malformed, (kind,))


def test_what_was_read_is_one_line_where_all_went_well() -> None:
    assert report(GOOD) == (
        ("hits: read 2 files at 1 site: 1,000 lines, 1,000 records, 0 malformed",),
        (),
    )


def test_too_many_malformed_lines_at_one_site_are_a_failure_whatever_the_others_have() -> None:
    lines, failures = report(msgspec.structs.replace(GOOD, lines=10**6, records=10**6), bad())
    assert lines[0].endswith("1,000,060 records, 40 malformed (0.00%)")
    assert lines[1] == "  oslo: wanted 4 fields, got 5 (40 lines; the first: 'a,b,c,d,')"
    assert failures == (
        "hits: oslo: 40 of 100 lines are malformed, more than malformed_max = '1%'",
    )


def test_a_few_lines_at_each_of_many_sites_are_a_failure_together() -> None:
    few = [bad(f"s{n}", 1, 20) for n in range(10)]
    lines, failures = report(*few)
    assert lines[1].startswith("  s0 and 9 sites more: wanted 4 fields, got 5 (10 lines;")
    assert failures == ("hits: 10 of 200 lines are malformed, more than malformed_max = '1%'",)
    assert report(few[0])[1] == (), "one line in a small file"
    assert report(*few, options=", malformed_max = '5%'")[1] == ()
    assert report(*few, options=", malformed_max = '1'")[1] == (), "a number is for each site"
    assert len(report(*few, options=", malformed_max = '0'")[1]) == SITES_SHOWN + 1


def test_every_line_malformed_is_a_failure() -> None:
    assert report(bad(malformed=1, lines=1))[1] != ()
    assert report(bad(malformed=1, lines=1), options=", malformed_max = '100%'")[1] == ()


def test_a_site_without_a_file_is_named_and_none_at_all_is_a_failure() -> None:
    none = SiteReading("oslo", no_file="no file matches '*.csv'; nearest: a.txt")
    lines, failures = report(GOOD, none)
    assert lines[1:] == ("  oslo: no file matches '*.csv'; nearest: a.txt",)
    assert failures == ()
    assert report(none)[1] == ("hits: nothing was read: no file that matches '*.csv' has a line",)
    many = [msgspec.structs.replace(none, site=f"s{n}") for n in range(SITES_SHOWN + 2)]
    assert report(GOOD, *many)[0][-1] == "  and 2 sites more"


def test_files_that_a_site_left_alone_are_named() -> None:
    alone = msgspec.structs.replace(GOOD, unread=Unread.of(1, [("a.zip", "why")]))
    assert report(alone)[0][1:] == ("  lima: 1 file is not read: a.zip (why)",)


def test_a_source_of_several_streams_is_told_once_and_one_spark_by_its_worst_stream() -> None:
    first, second = queries(count=2)
    both = [StreamResult(one, (), readings=(GOOD,)) for one in (first, second)]
    assert len(reading_report(both).lines) == 1
    central = [
        StreamResult(first, (), readings=(SiteReading("", 2, 100, 100),)),
        StreamResult(second, (), readings=(bad(""),)),
    ]
    found = reading_report(central)
    assert found.lines == (
        "hits: read 1 file: 100 lines, 60 records, 40 malformed (40.00%)",
        "  wanted 4 fields, got 5 (40 lines; the first: 'a,b,c,d,')",
    )
    assert found.failures == (
        "hits: 40 of 100 lines are malformed, more than malformed_max = '1%'",
    )


def test_a_reason_is_told_of_the_site_that_has_most_of_it() -> None:
    lines, _ = report(bad("oslo", 1), bad("lima", 60), bad("bern", 2))
    assert lines[1].startswith("  lima and 2 sites more: wanted 4 fields, got 5 (63 lines")


def test_reasons_that_were_not_looked_at_are_counted() -> None:
    more = msgspec.structs.replace(bad(), malformed=50)
    assert report(more)[0][-1] == "  10 lines for other reasons"


def test_results_of_who_tells_nothing_of_reading_are_no_failure() -> None:
    assert reading_report([StreamResult(queries()[0], ())]).failures == ()


def test_empty_files_are_counted_beside_those_that_were_read() -> None:
    some = msgspec.structs.replace(GOOD, empty=1)
    assert report(some)[0] == (
        "hits: read 2 files at 1 site (1 more is empty): 1,000 lines, 1,000 records, 0 malformed",
    )
    none = SiteReading("oslo", empty=3)
    lines, failures = report(some, none)
    assert "(4 more are empty)" in lines[0]
    assert lines[1:] == ("  oslo: all 3 files that match are empty",)
    assert failures == ()
    assert report(SiteReading("oslo", empty=1))[0][1:] == (
        "  oslo: the file that matches is empty",
    )
    assert report(none)[1] == ("hits: nothing was read: no file that matches '*.csv' has a line",)


def test_records_with_a_guessed_time_are_counted_over_all_sites() -> None:
    one = msgspec.structs.replace(GOOD, guessed=Guessed("Europe/Oslo", 1, 0))
    other = msgspec.structs.replace(GOOD, guessed=Guessed("Europe/Oslo", 1, 1))
    assert report(one, GOOD, other)[0][1:] == (
        "  2 records have a local time that comes twice in Europe/Oslo: taken for the first",
        "  1 record has a local time that no clock shows in Europe/Oslo: moved on as clocks were",
    )
