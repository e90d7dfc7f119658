"""*Every refusal names the place, what is wrong and what to write*: what people write, in a table.

Each entry: the SELECT, or what stands in WITH; what is underlined; what must be said of it.
"""

from __future__ import annotations

import pytest
from query_kit import queries_in

from headwater.errors import QueryRefused
from headwater.sql.validate.finding import Severity
from headwater.sql.validate.validate import validate

SOURCE = """CREATE SOURCE access (
  ts TIMESTAMP, domain STRING, status INT, bytes BIGINT, ms DOUBLE, tags ARRAY<STRING>
) WITH (format = 'json', path = 'a.log', time = 'ts');
"""
W = "window(ts, '1 minute')"

SELECTS = {
    "a window whose range and slide have a tiny divisor": (
        "SELECT count(*) AS n FROM access GROUP BY window(ts, '1 minute', '59.99 seconds')",
        "window(ts, '1 minute', '59.99 seconds')", "10 milliseconds in common", "at least",
    ),
    "a window of too many panes": (
        "SELECT count(*) AS n FROM access GROUP BY window(ts, '1 day', '1 second')",
        "window(ts, '1 day', '1 second')", "86400 panes", "take a longer slide",
    ),
    "a window without a length": (
        "SELECT count(*) AS n FROM access GROUP BY window(ts)",
        "window(ts)", "takes a time, a length", "'10 seconds'",
    ),
    "a window over another column": (
        "SELECT count(*) AS n FROM access GROUP BY window(bytes, '1 minute')",
        "bytes", "over the time column", "time = '…'",
    ),
    "windows of numbers that have a tiny divisor": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes, 100000, 99999)",
        "sequence_window(bytes, 100000, 99999)", "only 1 in common", "divides 100000",
    ),
    "a window of numbers that slides by more than its length": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes, 10, 20)",
        "20", "longer than the window", "",
    ),
    "a window of no numbers": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes, 0)",
        "0", "from 1 to", "sequence_window(lsn, 100000)",
    ),
    "a window of less than no numbers": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes, -5)",
        None, "from 1 to", "sequence_window(lsn, 100000)",
    ),
    "a length of numbers in quotes": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes, '10')",
        "'10'", "without quotes", "sequence_window(lsn, 100000)",
    ),
    "a window of numbers over a text": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(domain, 10)",
        "domain", "is string", "whole numbers: status, bytes",
    ),
    "a window of numbers over what is computed": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes + 1, 10)",
        "bytes", "counts a column", "whole numbers: status, bytes",
    ),
    "a window of numbers without a length": (
        "SELECT count(*) AS n FROM access GROUP BY sequence_window(bytes)",
        "sequence_window(bytes)", "a column, a length", "sequence_window(lsn, 100000)",
    ),
    "a length that is no length": (
        "SELECT count(*) AS n FROM access GROUP BY window(ts, '1 month')",
        "'1 month'", "of fixed size", "'10 seconds'",
    ),
    "two windows": (
        f"SELECT count(*) AS n FROM access GROUP BY {W}, window(ts, '2 minutes')",
        "window(ts, '2 minutes')", "two windows", "write one stream for each",
    ),
    "no window": (
        "SELECT domain, count(*) AS n FROM access GROUP BY domain",
        None, "answers by windows", "GROUP BY window(ts",
    ),
    "a limit of nothing": (
        f"SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain LIMIT 0",
        "0", "takes a number", "from 1 to",
    ),
    "a limit above the maximum": (
        f"SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain LIMIT 5000000",
        "5000000", "takes a number", "to 1000000",
    ),
    "an aggregate within an aggregate": (
        f"SELECT sum(count(*)) AS n FROM access GROUP BY {W}",
        "count(*)", "within an aggregate", "aggregates once",
    ),
    "an aggregate in WHERE": (
        f"SELECT count(*) AS n FROM access WHERE max(bytes) > 1 GROUP BY {W}",
        "max(bytes)", "about single records", "HAVING",
    ),
    "an aggregate as a key": (
        f"SELECT count(*) AS n FROM access GROUP BY {W}, max(bytes)",
        "max(bytes)", "can't be grouped by", "",
    ),
    "a name that means two things": (
        f"SELECT status, sum(bytes) AS domain FROM access GROUP BY {W}, status HAVING domain > 3",
        "domain", "also the alias", "give the alias another name",
    ),
    "two columns of one name": (
        f"SELECT count(*) AS n, sum(bytes) AS n FROM access GROUP BY {W}",
        None, "two columns are called `n`", "give one of them an alias",
    ),
    "a column that is no key": (
        f"SELECT domain, count(*) AS n FROM access GROUP BY {W}",
        "domain", "neither in GROUP BY", "max(domain)",
    ),
    "a number of a column that is not there": (
        f"SELECT domain, count(*) AS n FROM access GROUP BY {W}, 7",
        None, "columns 1 to 2", "",
    ),
    "a sum of texts": (
        f"SELECT sum(domain) AS n FROM access GROUP BY {W}",
        "sum(domain)", "takes a number", "CAST",
    ),
    "a comparison of two kinds": (
        f"SELECT count(*) AS n FROM access WHERE tags = 'a' GROUP BY {W}",
        "tags", "array<string>", "",
    ),
    "a function with a slip": (
        f"SELECT uper(domain) AS d, count(*) AS n FROM access GROUP BY {W}, uper(domain)",
        "uper(domain)", "is not available", "did you mean upper",
    ),
    "code that runs": (
        f"SELECT reflect('java.lang.System', 'exit') AS d, count(*) AS n FROM access GROUP BY {W}",
        "reflect('java.lang.System', 'exit')", "reflect", "no site admits",
    ),
    "a source with a slip": (
        f"SELECT count(*) AS n FROM acces GROUP BY {W}",
        "acces", "no source `acces`", "did you mean `access`",
    ),
    "a table of another world": (
        f"SELECT count(*) AS n FROM csv.`/etc/passwd` GROUP BY {W}",
        None, "reads FROM a source by its name", "",
    ),
}  # fmt: skip

OPTIONS = {
    "an option that this version has not": (
        "recover = 'gap'", "recover", "in this version", "leaves no gap"
    ),
    "an option with a slip": ("deadlin = '1 s'", "deadlin", "no option", "did you mean `deadline`"),
    "a length of time that is none": ("deadline = 'soon'", "'soon'", "no length of time", "'10s'"),
    "an option that is there twice": (
        "deadline = '1 s', deadline = '2 s'", "deadline", "occurs twice", ""
    ),
    "lateness below disorder": (
        "lateness = '1 s', disorder = '2 s'", "'1 s'", "shorter than disorder", "raise lateness"
    ),
    "a begin that is no time": ("begin = 'tomorrow'", "'tomorrow'", "no point in time", "write"),
    "a time of another kind": ("time = 'lunar'", "'lunar'", "wanted 'event' or 'age'", ""),
    "a root that is named twice": ("roots = 'a, a'", "'a, a'", "named twice", "name it once"),
    "root and roots": ("root = 'a', roots = 'a, b'", "'a, b'", "got both", "write all sites"),
    "an error that is none": ("error = 'small'", "'small'", "wanted a bound", "0.1 % of total"),
    "an error of zero": ("error = '0 %'", "'0 %'", "above 0", ""),
    "a negative error": ("error = '-5'", "'-5'", "above 0", ""),
    "an error of more than all": ("error = '120 %'", "'120 %'", "at most 100 %", ""),
    "an error that is no number": ("error = 'nan'", "'nan'", "wanted a bound", "write"),
    "a total without a share": (
        "error = '5 of total'", "'5 of total'", "a share of the total", "0.1 % of total"
    ),
    "an error of an unknown column": ("error = 'm: 1 %'", "'m: 1 %'", "no column `m`", "n"),
    "a column with two errors": (
        "error = 'n: 1 %, N: 5'", "'n: 1 %, N: 5'", "two bounds", "write one"
    ),
    "a list with something else in it": (
        "error = 'n: 1 %, 5'", "'n: 1 %, 5'", "wanted `column: bound`", ""
    ),
    "finally of another kind": (
        "error = '5', finally = 'never'", "'never'", "wanted 'exact', 'bounded' or 'enough'", ""
    ),
    "bounded without an error": (
        "finally = 'bounded'", "'bounded'", "nothing is kept back", "add error"
    ),
}  # fmt: skip


ERRORS = {
    "a sum that may be negative": (
        "SELECT domain, sum(bytes) AS b FROM access GROUP BY {W}, domain",
        "1 % of total", "may have negative values", "write sum(abs(…))",
    ),
    "a share of each value of such a sum": (
        "SELECT domain, sum(bytes) AS b FROM access GROUP BY {W}, domain",
        "1 %", "may have negative values", "'500'",
    ),
    "an average": (
        "SELECT domain, avg(ms) AS a FROM access GROUP BY {W}, domain",
        "1 % of total", "how many of them may be missing", "'a: 1 %'",
    ),
    "a percentile by a number": (
        "SELECT domain, percentile_approx(ms, 0.9) AS p FROM access GROUP BY {W}, domain",
        "5", "how many of them may be missing", "'p: 1 %'",
    ),
    "what is computed of counts": (
        "SELECT domain, count(*) + 1 AS n FROM access GROUP BY {W}, domain",
        "5", "none of what can be bounded", "without error",
    ),
    "a minimum": (
        "SELECT domain, min(ms) AS m FROM access GROUP BY {W}, domain",
        "5", "none of what can be bounded", "without error",
    ),
    "a share of a distinct count": (
        "SELECT domain, count(DISTINCT status) AS n FROM access GROUP BY {W}, domain",
        "1 %", "add up to many times the bound", "'n: 50'",
    ),
    "a share of a sketch of different values": (
        "SELECT domain, approx_count_distinct(status) AS n FROM access GROUP BY {W}, domain",
        "1 % of total", "add up to many times the bound", "'n: 50'",
    ),
    "an unknown column": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "n: 5, m: 5", "no column `m`", "n",
    ),
    "a unit that does not fit": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "5 s", "wanted a bound, got '5 s'", "write '0.1 % of total'",
    ),
    "a number of the total": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "5 of total", "wanted a share of the total", "as '0.1 % of total'",
    ),
    "zero": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "0 % of total", "wanted a number above 0", "got '0 % of total'",
    ),
    "a negative number": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "-5", "wanted a number above 0", "got '-5'",
    ),
    "no number": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "nan", "wanted a bound, got 'nan'", "write '0.1 % of total'",
    ),
    "more than everything": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain",
        "101 % of total", "wanted at most 100 %", "got 101 %",
    ),
    "a column without a bound": (
        "SELECT domain, count(*) AS n, sum(bytes) AS b FROM access GROUP BY {W}, domain",
        "n: 5", "`b` has no bound", "for it too",
    ),
    "HAVING": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain HAVING count(*) + 1 > 5",
        "5", "HAVING chooses rows by values that may be off", "`column > number`",
    ),
    "HAVING of what is not shown": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain HAVING sum(bytes) > 5",
        "5", "maximum that SELECT shows", "(here `n`)",
    ),
    "HAVING with OR": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain HAVING n > 5 OR n < 2",
        "5", "with AND", "leave HAVING to who reads",
    ),
    "HAVING by an average": (
        "SELECT domain, count(*) AS n, avg(ms) AS a FROM access GROUP BY {W}, domain HAVING a > 5",
        "n: 5, a: 1 %", "count, sum or maximum", "(here `n`)",
    ),
    "HAVING and LIMIT": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain HAVING n > 5 "
        "ORDER BY n DESC LIMIT 3",
        "5", "nobody knows its place", "write one of them",
    ),
    "LIMIT": (
        "SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain ORDER BY n LIMIT 3",
        "5", "LIMIT leaves out rows by what may be off", "ORDER BY column DESC LIMIT n",
    ),
    "no keys": (
        "SELECT count(*) AS n FROM access GROUP BY {W}", "5", "questions without keys", "leave",
    ),
    "rows": (
        "SELECT domain FROM access GROUP BY {W}, domain", "5", "wanted 1 to 64 columns", "leave",
    ),
}  # fmt: skip


def text_of(select: str, options: str = "") -> str:
    return f"{SOURCE}CREATE STREAM s {f'WITH ({options}) ' if options else ''}AS\n{select};"


def check(text: str, place: str | None, wrong: str, write: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        queries_in(text)
    said = refused.value.said
    assert wrong in said
    assert write in said
    assert str(refused.value).startswith("line "), "the place"
    findings = [one for one in validate(text) if one.severity is Severity.FAULT]
    assert said in [one.message for one in findings], "validate says the same"
    if place is not None:
        line = text.splitlines()[findings[0].line - 1]
        found = [
            line[one.column - 1 : one.end_column - 1] for one in findings if one.message == said
        ]
        assert place in found


@pytest.mark.parametrize("what", SELECTS)
def test_a_select_is_refused_with_place_fault_and_remedy(what: str) -> None:
    select, place, wrong, write = SELECTS[what]
    check(text_of(select), place, wrong, write)


@pytest.mark.parametrize("what", OPTIONS)
def test_an_option_is_refused_with_place_fault_and_remedy(what: str) -> None:
    options, place, wrong, write = OPTIONS[what]
    select = f"SELECT domain, count(*) AS n FROM access GROUP BY {W}, domain"
    check(text_of(select, options), place, wrong, write)


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_is_refused_where_it_can_not_be_kept(what: str) -> None:
    select, error, wrong, write = ERRORS[what]
    check(text_of(select.replace("{W}", W), f"error = '{error}'"), f"'{error}'", wrong, write)
