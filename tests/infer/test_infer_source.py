"""What is made of files as people have them: format, columns, types, time, and what is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.infer.guess import NoGuess, SourceGuess
from headwater.infer.infer_source import infer_source
from headwater.infer.json_columns import are_objects, column_name
from headwater.infer.log_shapes import find_shape
from headwater.infer.sample import Sample


def guessed(*files: str) -> SourceGuess | NoGuess:
    return infer_source(
        tuple(Sample(f"{n}.log", tuple(text.splitlines())) for n, text in enumerate(files))
    )


def found(*files: str) -> SourceGuess:
    guess = guessed(*files)
    assert isinstance(guess, SourceGuess), guess
    return guess


def types(guess: SourceGuess) -> dict[str, str]:
    return {column.name: column.type for column in guess.columns}


T = "2026-05-01T12:00:00Z"


@pytest.mark.parametrize(
    ("sign", "format_", "options"),
    [
        (",", "csv", {"header": "true"}),
        (";", "csv", {"delimiter": ";", "header": "true"}),
        ("|", "csv", {"delimiter": "|", "header": "true"}),
        ("\t", "tsv", {"header": "true"}),
    ],
    ids=["comma", "semicolon", "pipe", "tab"],
)
def test_delimited_files_with_a_header(sign: str, format_: str, options: dict[str, str]) -> None:
    rows = [("ts", "city", "n", "x"), (T, "Oslo", "1", "2.5"), (T, "Bern", "20", "3")]
    guess = found("\n".join(sign.join(row) for row in rows))
    assert guess.format == format_
    assert dict(guess.options) == options
    assert types(guess) == {"ts": "TIMESTAMP", "city": "STRING", "n": "BIGINT", "x": "DOUBLE"}
    assert (guess.time.columns, guess.time.pattern, guess.doubts) == (("ts",), "", ())


def test_a_file_without_a_header_gets_numbered_columns_and_says_so() -> None:
    guess = found(f"{T},Oslo,1\n{T},Bern,2\n")
    assert list(types(guess)) == ["column_1", "column_2", "column_3"]
    assert dict(guess.options) == {}
    assert guess.doubts == ("no header was found: columns are numbered; give them names",)


def test_a_header_over_a_split_time_is_found() -> None:
    guess = found("day,time,city\n01.05.2026,12:00:00,Oslo\n02.05.2026,13:00:00,Bern\n")
    assert dict(guess.options) == {"header": "true"}
    assert guess.time.columns == ("day", "time")
    assert guess.time.pattern == "dd.MM.yyyy HH:mm:ss"


def test_files_with_other_headers_are_said() -> None:
    guess = found(f"ts,who\n{T},ann\n", f"who,ts\nbob,{T}\n", f"ts,where\n{T},Oslo\n")
    assert types(guess) == {"ts": "TIMESTAMP"}
    assert guess.doubts == ("`where`, `who` is not in every file: left out",)
    same = found(f"ts,who\n{T},ann\n", f"who,ts\nbob,{T}\n")
    assert types(same) == {"ts": "TIMESTAMP", "who": "STRING"}
    assert same.doubts == ()


def test_a_header_that_stands_again_in_its_file_is_no_value() -> None:
    guess = found(f"ts,n\n{T},1\nts,n\n{T},2\n")
    assert types(guess) == {"ts": "TIMESTAMP", "n": "BIGINT"}
    assert guess.doubts == ()


def test_a_trailing_delimiter_and_a_name_that_stands_twice_are_left_out_and_said() -> None:
    guess = found(f"ts,a,n,n,\n{T},x,1,2,\n{T},y,1,2,\n")
    assert types(guess) == {"ts": "TIMESTAMP", "a": "STRING"}
    assert dict(guess.options) == {"header": "true"}
    assert guess.doubts == (
        "`n` stands twice in a header: left out",
        "a column without a name in the header is left out",
    )


def test_quoted_values_with_delimiters_and_breaks_are_one_record() -> None:
    guess = found(f'ts,text\n{T},"a, b"\n{T},"two\nlines"\n{T},c\n')
    assert dict(guess.options) == {"header": "true", "multiline": "true"}
    assert types(guess) == {"ts": "TIMESTAMP", "text": "STRING"}


def test_a_text_for_missing_values_is_found_where_it_hides_a_type() -> None:
    guess = found(f"ts,n\n{T},1\n{T},NULL\n{T},3\n")
    assert dict(guess.options)["null_value"] == "NULL"
    assert types(guess)["n"] == "BIGINT"
    assert "'NULL' is taken for a missing value" in guess.doubts


def test_lines_of_another_width_are_counted() -> None:
    guess = found(f"ts,a,b\n{T},1,2\n{T},1,2\n{T},1,2\n{T},1,2\n{T},1,2\n{T},1,2,3\n")
    assert "1 of 7 lines have another number of values than 3" in guess.doubts


def test_comments_before_a_table_are_left_out() -> None:
    guess = found(f"# made by hand\nts,n\n{T},1\n")
    assert dict(guess.options) == {"header": "true", "comment": "#"}


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("1777636800", "epoch_s"),
        ("1777636800.123", "epoch_s"),
        ("1777636800123", "epoch_ms"),
        ("1777636800123456", "epoch_us"),
        ("1777636800123456789", "epoch_ns"),
        ("2026-05-01 12:00:00", ""),
        ("2026-05-01T12:00:00.123+02:00", ""),
        ("2026-05-01 12:00", ""),
        ("2026-05-01 12:00:00,123", "yyyy-MM-dd HH:mm:ss,SSS"),
        ("01/May/2026:12:00:00 +0200", "dd/MMM/yyyy:HH:mm:ss Z"),
        ("2026/05/01 12:00:00", "yyyy/MM/dd HH:mm:ss"),
        ("31.05.2026 12:00:00", "dd.MM.yyyy HH:mm:ss"),
        ("31.05.2026 12:00", "dd.MM.yyyy HH:mm"),
        ("05/31/2026 12:00:00", "MM/dd/yyyy HH:mm:ss"),
        ("31/05/2026 12:00:00", "dd/MM/yyyy HH:mm:ss"),
        ("5/31/2026 9:05", "M/d/yyyy H:mm"),
        ("05/31/2026 09:05:00 PM", "MM/dd/yyyy hh:mm:ss a"),
        ("20260531T120000Z", "yyyyMMdd'T'HHmmssX"),
        ("20260531120000", "yyyyMMddHHmmss"),
        ("31 May 2026 12:00:00", "dd MMM yyyy HH:mm:ss"),
        ("31-May-2026 12:00:00.123", "dd-MMM-yyyy HH:mm:ss.SSS"),
    ],
)
def test_times_as_they_are_written(value: str, pattern: str) -> None:
    guess = found(f"ts;n\n{value};1\n{value};2\n{value};3\n")
    assert (guess.time.columns, guess.time.pattern) == (("ts",), pattern)
    assert guess.time.first_us is not None
    says_zone = value.endswith("Z") or "+02" in value or pattern.startswith("epoch")
    assert ["no zone" in doubt for doubt in guess.doubts] == ([] if says_zone else [True])


def test_a_day_that_could_be_a_month_is_a_doubt_until_a_value_tells() -> None:
    doubtful = found("ts,n\n03/04/2026 12:00:00,1\n")
    assert doubtful.time.pattern == "MM/dd/yyyy HH:mm:ss"
    assert "no value tells the day from the month" in doubtful.doubts[0]
    told = found("ts,n\n03/04/2026 12:00:00,1\n13/04/2026 12:00:00,2\n")
    assert told.time.pattern == "dd/MM/yyyy HH:mm:ss"
    assert not any("no value tells" in doubt for doubt in told.doubts)


def test_a_split_date_and_time_are_joined() -> None:
    guess = found("date,time,n\n2026-05-01,12:00:00,1\n2026-05-01,12:00:01,2\n")
    assert guess.time.columns == ("date", "time")
    assert guess.time.pattern == "yyyy-MM-dd HH:mm:ss"
    assert types(guess) == {"date": "STRING", "time": "STRING", "n": "BIGINT"}


def test_hours_of_one_digit_are_read_and_so_are_those_of_two() -> None:
    guess = found("date,time,n\n2026-05-01,9:05:00,1\n2026-05-01,12:00:01,2\n")
    assert guess.time.pattern == "yyyy-MM-dd H:mm:ss"


def test_times_of_three_digits_are_said_not_to_be_read() -> None:
    guess = found("Year,Month,Day,DepTime,n\n2026,5,1,930,1\n2026,5,1,1200,2\n")
    assert guess.time.pattern == "y-M-d HHmm"
    assert "less than four digits" in guess.doubts[0]


def test_a_date_in_three_columns_is_joined_with_its_time_of_day() -> None:
    guess = found("Year,Month,DayofMonth,DepTime,n\n2026,5,1,0930,1\n2026,5,1,1200,2\n")
    assert guess.time.columns == ("Year", "Month", "DayofMonth", "DepTime")
    assert (guess.time.pattern, guess.time.symbols) == ("y-M-d HHmm", ("-", "-", " "))


def test_of_several_times_the_best_named_is_taken_and_the_others_are_named() -> None:
    guess = found(f"updated_at,ts,n\n{T},{T},1\n{T},{T},2\n")
    assert guess.time.columns == ("ts",)
    assert types(guess)["updated_at"] == "TIMESTAMP"
    assert "`updated_at` could as well" in guess.doubts[0]


def test_a_time_of_another_form_than_the_chosen_one_stays_text() -> None:
    guess = found(f"ts,other,n\n{T},31.05.2026 12:00:00,1\n{T},31.05.2026 12:00:00,2\n")
    assert types(guess)["other"] == "STRING"


def test_a_large_number_is_a_time_only_where_nothing_better_is_there() -> None:
    guess = found("number,n\n1777636800,1\n1777636801,2\n")
    assert guess.time.columns == ("number",)
    assert "look like times since 1970" in guess.doubts[0]
    assert found(f"number,ts\n1777636800,{T}\n").time.columns == ("ts",)
    split = found("number,date,time\n1777636800,2026-05-01,12:00:00\n")
    assert split.time.columns == ("date", "time")


def test_a_bad_time_here_and_there_does_not_hide_the_time_column() -> None:
    lines = [f"{T},{n}" for n in range(30)] + ["soon,30"]
    guess = found("\n".join(["ts,n", *lines]))
    assert guess.time.columns == ("ts",)
    assert guess.doubts == ("`ts`: 1 of 31 values are no such times",)


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (("007", "123"), "STRING"),
        (("9223372036854775808", "1"), "DECIMAL(38, 0)"),
        (("true", "FALSE"), "BOOLEAN"),
        (("2026-05-01", "2026-05-02"), "DATE"),
        (("1e3", "-.5"), "DOUBLE"),
        (("1", "x"), "STRING"),
        (("", "7"), "BIGINT"),
        (("", ""), "STRING"),
    ],
)
def test_types_of_values(values: tuple[str, ...], type_: str) -> None:
    text = "\n".join(["ts,v", *(f"{T},{value}" for value in values)])
    assert types(found(text))["v"] == type_


def test_a_bad_value_among_many_does_not_hide_a_type_and_is_said() -> None:
    lines = [f"{T},{n}" for n in range(60)] + [f"{T},oops"]
    guess = found("\n".join(["ts,n", *lines]))
    assert types(guess)["n"] == "BIGINT"
    assert guess.doubts == ("`n` has 1 of 61 values of another kind, such as 'oops'",)


def test_a_column_with_more_than_a_few_words_is_one_of_words() -> None:
    lines = [f"{T},{n}" for n in range(98)] + [f"{T},oops"] * 3
    assert types(found("\n".join(["ts,n", *lines])))["n"] == "STRING"
    assert types(found("\n".join(["ts,n", *lines[:-1]])))["n"] == "BIGINT"


@pytest.mark.parametrize(
    ("number", "type_"), [((1 << 63) - 1, "BIGINT"), (1 << 63, "DECIMAL(38, 0)")]
)
def test_a_number_of_json_that_no_bigint_holds_is_a_decimal(number: int, type_: str) -> None:
    assert types(found(json.dumps({"ts": T, "n": number})))["n"] == type_


def test_lines_of_which_too_many_are_something_else_are_not_of_a_format() -> None:
    assert are_objects(['{"a": 1}'] * 9 + ["x"])
    assert not are_objects(['{"a": 1}'] * 8 + ["x"] * 2)
    assert find_shape([ACCESS] * 9 + ["x"]) is not None
    assert find_shape([ACCESS] * 8 + ["x"] * 2) is None


def test_names_of_columns_differ_by_more_than_the_case_of_their_letters() -> None:
    assert column_name(("geo", "city"), ["geo_city", "GEO_CITY_2"]) == "geo_city_3"


def test_json_lines_with_members_of_members() -> None:
    rows = [
        {"@timestamp": T, "n": 1, "ok": True, "geo": {"city": "Oslo", "at": [1, 2]}, "x": 1},
        {"@timestamp": T, "n": 2, "ok": False, "geo": {"city": "Bern"}, "x": 1.5, "new": None},
    ]
    guess = found("\n".join(map(json.dumps, rows)))
    assert guess.format == "json"
    assert types(guess) == {
        "@timestamp": "TIMESTAMP",
        "n": "BIGINT",
        "ok": "BOOLEAN",
        "geo_city": "STRING",
        "geo_at": "ARRAY<BIGINT>",
        "x": "DOUBLE",
        "new": "STRING",
    }
    assert {c.name: c.path for c in guess.columns if c.path} == {
        "geo_city": "geo.city",
        "geo_at": "geo.at",
    }
    assert guess.time.columns == ("@timestamp",)


@pytest.mark.parametrize(
    ("lists", "type_"),
    [
        ([["a", "b"], [], ["c", None]], "ARRAY<STRING>"),
        ([[1, 2], [3]], "ARRAY<BIGINT>"),
        ([[1, 2.5], [3]], "ARRAY<DOUBLE>"),
        ([[True], [False]], "ARRAY<BOOLEAN>"),
        ([[], []], "STRING"),
        ([["a", 1]], "STRING"),
        ([[1 << 63]], "STRING"),
        ([[[1]], [[2]]], "STRING"),
        ([[{"a": 1}]], "STRING"),
        (["a", ["a"]], "STRING"),
    ],
)
def test_lists_are_arrays_where_their_elements_are_of_one_plain_kind(
    lists: list[Any], type_: str
) -> None:
    guess = found("\n".join(json.dumps({"ts": T, "tags": one}) for one in lists))
    assert types(guess)["tags"] == type_


def test_names_with_dots_are_told_from_members_of_members() -> None:
    guess = found(json.dumps({"ts": T, "a.b": 1, "a": {"b": 2, "x-y": 3}, "a_b": 4}))
    assert {column.name: column.path for column in guess.columns} == {
        "ts": "",
        "a.b": "",
        "a_b_2": "a.b",
        "a_x_y": "a.`x-y`",
        "a_b": "",
    }


def test_a_time_within_an_object_is_found() -> None:
    guess = found('{"meta": {"ts": 1777636800123}, "n": 1}\n')
    assert (guess.time.columns, guess.time.pattern) == (("meta_ts",), "epoch_ms")


ACCESS = '10.0.0.1 - ann [01/May/2026:14:00:00 +0200] "GET /a?b=1 HTTP/1.1" 200 17'


def test_access_logs() -> None:
    common = found(f"{ACCESS}\n{ACCESS[:-2]}-\n")
    assert common.format == "apache"
    assert types(common)["status"] == types(common)["bytes"] == "BIGINT"
    assert (common.time.columns, common.options) == (("ts",), ()), "the format knows the rest"
    combined = found(f'{ACCESS} "https://x.example/" "curl/8 \\"x\\""\n')
    assert list(types(combined))[-2:] == ["referer", "agent"]


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("<34>1 2026-05-01T12:00:00.1Z web su - ID47 - it failed", {"priority", "host", "message"}),
        ("2026-05-01T12:00:00+02:00 web sshd[7]: accepted", {"host", "app", "pid", "message"}),
        ("[2026-05-01 12:00:00,123] INFO Closed. (kafka.server.Log)", {"level", "logger"}),
        ("2026-05-01 12:00:00,123 [main] WARN  a.b.C - slow", {"thread", "level", "logger"}),
        ("2026-05-01 12:00:00 ERROR it failed", {"level", "message"}),
        ("26/05/01 12:00:00 INFO spark.Manager: acls: x", {"level", "logger", "message"}),
        ("260501 120000 148 INFO dfs.Node$Part: ended", {"pid", "level", "logger"}),
        ("2026-05-01 12:00:00,123 INFO [main] a.b.C: slow", {"thread", "level", "logger"}),
        ("2026-05-01 12:00:00,123 - WARN  [Peer[id=1]/0:0:21] - x", {"thread", "level", "message"}),
        ("api.log.1 2026-05-01 12:00:00.123 7 INFO a.b [req-1 x] GET", {"file", "pid", "request"}),
        ("[Fri May 01 12:00:00 2026] [error] [client 10.0.0.1] no", {"level", "client", "message"}),
        ("[Fri May 01 12:00:00.123456 2026] [core:error] [pid 7:tid 8] x", {"module", "pid"}),
        ("2026-05-01 12:00:00, Info                  CBS    Loaded", {"level", "component"}),
        ("- 1777636800 2026.05.01 dn228 May 1 12:00:00 dn228 cron[7]: x", {"alert", "node"}),
        ("20260501-12:0:0:606|Step|30002312|changed 3579", {"ms", "component", "pid"}),
    ],
    ids=[
        "rfc5424",
        "iso syslog",
        "kafka",
        "log4j",
        "level",
        "spark",
        "hdfs",
        "hadoop",
        "zookeeper",
        "openstack",
        "apache error",
        "new apache error",
        "cbs",
        "supercomputer",
        "steps",
    ],
)
def test_logs_of_well_known_programs(line: str, columns: set[str]) -> None:
    guess = found(f"{line}\n{line}\n")
    assert guess.format == ("syslog" if "host" in columns else "regex")
    assert guess.time.columns == ("ts",)
    assert columns <= set(types(guess))


@pytest.mark.parametrize(
    ("line", "before", "pattern"),
    [
        ("05-01 12:00:00.811  1702  2395 D Win (x): tag: y", "2026-", "yyyy-MM-dd HH:mm:ss.SSS"),
        ("[05.01 12:00:00] a.exe *64 - b:443 close, 19 bytes", "2026.", "yyyy.MM.dd HH:mm:ss"),
    ],
    ids=["android", "proxifier"],
)
def test_a_log_without_a_year_gets_the_one_in_which_it_was_written(
    line: str, before: str, pattern: str
) -> None:
    guess = infer_source((Sample("a", (line, line), year=2026),))
    assert isinstance(guess, SourceGuess)
    assert (guess.time.columns, guess.time.before) == (("stamp",), before)
    assert (guess.time.pattern, types(guess)["stamp"]) == (pattern, "STRING")
    assert "no year and no zone: taken as 2026" in guess.doubts[0]
    assert guess.time.first_us is not None


def test_years_of_two_digits_are_a_doubt() -> None:
    guess = found("26/05/01 12:00:00 INFO a.B: x\n")
    assert guess.time.pattern == "yy/MM/dd HH:mm:ss"
    assert guess.doubts[0].startswith("years of two digits")


def test_syslog_without_a_year_is_said() -> None:
    line = "May  1 12:00:00 web sshd[7]: accepted"
    guess = infer_source((Sample("a", (line,), year=2026), Sample("b", (line,), year=2024)))
    assert isinstance(guess, SourceGuess)
    assert (guess.format, guess.options) == ("syslog", (("year", "2026"),))
    assert "no year" in guess.doubts[0]


def test_logfmt() -> None:
    guess = found(f'ts={T} level=info msg="a b" n=1\nts={T} level=warn msg=c n=2 new=x\n')
    assert guess.format == "logfmt"
    assert types(guess) == {
        "ts": "TIMESTAMP",
        "level": "STRING",
        "msg": "STRING",
        "n": "BIGINT",
        "new": "STRING",
    }


def test_w3c_logs_take_their_columns_from_the_fields_line() -> None:
    guess = found(
        "#Version: 1.0\n#Fields: date time c-ip sc-status\n2026-05-01 12:00:00 10.0.0.1 200\n"
    )
    assert guess.format == "w3c"
    assert guess.time.columns == ("date", "time")
    assert types(guess)["sc-status"] == "BIGINT"


def test_files_that_name_other_fields_are_said() -> None:
    line = "2026-05-01 12:00:00 x\n"
    guess = found(f"#Fields: date time a\n{line}", f"#Fields: date time b\n{line}")
    assert guess.doubts == ("not all files have the same #Fields; the first one's are taken",)


def test_cloudfront_logs_and_w3c_logs_with_tabs_are_told_apart() -> None:
    line = "2026-05-01\t12:00:00\tFRA\n"
    assert found(f"#Fields: date time x-edge-location\n{line}").format == "cloudfront"
    other = found(f"#Fields: date time place\n{line}")
    assert (other.format, other.options) == ("w3c", (("delimiter", "\t"),))


def test_a_time_somewhere_in_unknown_lines_is_taken_out_by_a_pattern() -> None:
    guess = found(f"eth0 up at {T} speed 100\neth1 down at {T}\n")
    assert guess.format == "regex"
    assert list(types(guess)) == ["before", "ts", "rest"]
    assert "take the rest apart by hand" in guess.doubts[0]


@pytest.mark.parametrize(
    ("time", "pattern"),
    [
        ("1777636800", "epoch_s"),
        ("31.05.2026 12:00:00", "dd.MM.yyyy HH:mm:ss"),
        ("2026-05-31-12.00.00.123456", "yyyy-MM-dd-HH.mm.ss.SSSSSS"),
        ("May 31 12:00:00 2026", "MMM dd HH:mm:ss yyyy"),
        ("26/05/31 12:00:00", "yy/MM/dd HH:mm:ss"),
        ("20260531-12:00:00", "yyyyMMdd-H:m:s"),
    ],
)
def test_other_ways_of_writing_a_time_are_found_in_a_line(time: str, pattern: str) -> None:
    guess = found(f"134 node-2 hw {time} 1 Component x\n7 node hw {time} 1 a, b\n")
    assert list(types(guess)) == ["before", "ts", "rest"]
    assert guess.time.pattern == pattern


def test_a_table_without_a_time_column_may_have_a_time_in_its_lines() -> None:
    guess = found(f"one,up at {T} again\ntwo,down at {T} again\n")
    assert list(types(guess)) == ["before", "ts", "rest"]


def test_what_no_format_fits_is_said_with_what_to_write() -> None:
    guess = guessed("hello\nworld\n")
    assert isinstance(guess, NoGuess)
    assert "'hello'; write the source by hand: format = 'regex', a pattern" in guess.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no whole line"),
        ("hello\nworld\n", "no format fits"),
        ("a,b\n1,2\n3,4\n", "no column holds points in time"),
        ("[\n{},\n{}\n]\n", "no column holds points in time"),
        ("[\n1,\n2\n]\n", "JSON array"),
        (
            "ts;n\nFri, 01 May 2026 12:00:00 GMT;1\n",
            "time = \"to_timestamp(substring(ts, 6), 'dd MMM yyyy HH:mm:ss z')\"",
        ),
        (
            "ts;n\nSun Mar 29 00:30:00 +0000 2026;1\n",
            "time = \"to_timestamp(substring(ts, 5), 'MMM dd HH:mm:ss Z yyyy')\"",
        ),
    ],
)
def test_what_can_not_be_read_is_said_with_why(text: str, said: str) -> None:
    guess = guessed(text)
    assert isinstance(guess, NoGuess)
    assert said in guess.reason


def test_a_day_without_a_time_of_day_is_doubted_once() -> None:
    guess = found("day,n\n2026-05-01,1\n2026-05-02,2\n2026-05-03,3\n")
    assert [doubt for doubt in guess.doubts if "UTC" in doubt] == [guess.doubts[0]]
    assert "midnight" in guess.doubts[0]


TRACE = (
    "java.io.IOException: No space left on device\n"
    "\tat sun.nio.ch.FileDispatcherImpl.force0(Native Method)\n"
    "Caused by: java.lang.IllegalStateException: 2026\n\t... 3 more\n"
)


@pytest.mark.parametrize(
    ("line", "start", "logger"),
    [
        (
            "[2026-05-04 09:00:16,418] {level} Rolled {n} (kafka.log.Log)\n",
            r"\[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
            1,
        ),
        (
            "2026-05-04 09:00:16,418 {level} [main] org.apache.Job: Created {n}\n",
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
            1,
        ),
        (
            "26/05/04 09:00:16 {level} storage.Memory: Block {n}\n",
            r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d ",
            1,
        ),
    ],
    ids=["Kafka", "Hadoop", "Spark"],
)
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_lines_of_a_trace_go_on_with_the_record_before_them(
    line: str, start: str, logger: int, share: float
) -> None:
    """Whether they are few or most of the lines."""
    every = round(1 / share)
    log = "".join(
        line.format(level="ERROR" if n % every == 0 else "INFO", n=n)
        + (TRACE if n % every == 0 else "")
        for n in range(40)
    )
    guess = found(log)
    assert dict(guess.options)["record_start"] == start
    assert types(guess)["trace"] == "STRING"
    columns = {column.name: column for column in guess.columns}
    assert columns["logger"].distinct == logger
    assert columns["trace"].filled == pytest.approx(share, abs=0.01)
    assert guess.records == 40
    assert any("lines begin otherwise" in doubt and "`trace`" in doubt for doubt in guess.doubts)


def test_lines_that_go_on_in_a_syslog_are_in_its_message() -> None:
    log = "".join(f"{T} web app[{n}]: failed\n\tat x\n" for n in range(9))
    guess = found(log)
    assert (guess.format, "record_start" in dict(guess.options)) == ("syslog", True)


def test_a_log_without_such_lines_says_nothing_of_them() -> None:
    guess = found("".join(f"{T} INFO [main] a.B: {n}\n" for n in range(9)))
    assert "record_start" not in dict(guess.options)
    assert "trace" not in types(guess)


def test_an_export_of_a_journal_is_told_with_what_to_write() -> None:
    export = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1777600000000000\nMESSAGE=up\n\n"
    guess = guessed(export)
    assert isinstance(guess, NoGuess)
    assert "CREATE SOURCE journal WITH (format = 'journald'" in guess.reason
