"""Files as people have them, and what must come of each: its records and its malformed lines.

``@`` in a file stands for the name of the case. A record is (what follows the case's name, value),
stamped noon, or (…, value, time).

``CASES`` are to be read each at a site of its own, ``FOLDED`` with all files of a dialect at one.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from datetime import UTC, datetime
from typing import Any, NamedTuple

import zstandard

A = "2026-05-01T12:00:00Z"
LONG = "x" * 1_000_000
Record = tuple[str, str | None, int]
"""The case's name and what follows it, the value as text, microseconds since 1970."""


class Case(NamedTuple):
    name: str
    dialect: str
    files: dict[str, bytes]
    records: list[Record]
    malformed: int = 0
    unfinished: list[Record] | None = None
    """Records of a follower, where the last line is still being written as far as it can tell."""
    future: int = 0
    """Records that only a finite input takes: a live site refuses what lies years ahead."""
    others: tuple[str, ...] = ()
    """Cases that are folded into this one."""

    @property
    def live(self) -> list[Record]:
        """Those of a follower."""
        if self.future:
            return []
        return self.records if self.unfinished is None else self.unfinished


def _us(time: str) -> int:
    at = datetime.fromisoformat(time)
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _record(name: str, key: str, value: str | int | None, time: str = A) -> Record:
    return (f"{name}/{key}", None if value is None else str(value), _us(time))


def _case(
    name: str,
    dialect: str,
    content: str | bytes | dict[str, bytes],
    *records: tuple[Any, ...],
    malformed: int = 0,
    unfinished: list[tuple[Any, ...]] | None = None,
    future: int = 0,
    file: str = "a.log",
) -> Case:
    files = content if isinstance(content, dict) else {file: _bytes(content)}
    named = {path: data.replace(b"@", f"{name}/".encode()) for path, data in files.items()}
    expected = [_record(name, *one) for one in records]
    open_ = None if unfinished is None else [_record(name, *one) for one in unfinished]
    return Case(name, dialect, named, expected, malformed, open_, future)


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def _named(name: str, text: str) -> bytes:
    """For content that is packed before the name is put in."""
    return text.replace("@", f"{name}/").encode()


def _wide(name: str, encoding: str) -> bytes:
    """With a byte order mark."""
    return f"\ufeff{name}/ä,{A},日本\n{name}/b,{A},2\n".encode(encoding)


def _journal(key: str, message: bytes, *, is_counted: bool = False, more: bytes = b"") -> bytes:
    """A record of ``journalctl -o export``; a counted value stands behind its size in bytes."""
    size = len(message).to_bytes(8, "little")
    said = b"MESSAGE\n" + size + message if is_counted else b"MESSAGE=" + message
    stamped = b"__REALTIME_TIMESTAMP=1777636800000000\n" + more
    return stamped + said + f"\nSYSLOG_IDENTIFIER=@{key}\n\n".encode()


CORE = b"COREDUMP\n" + (9).to_bytes(8, "little") + b"\x00\xff\n\nA=1\n\n" + b"\n"
TRACE = (
    "java.io.IOException: [2026] no space\n\tat a.B.c(B.java:1)\n\n"
    "Caused by: java.lang.Error\n\t... 3 more\n"
)
TWO = f"@a,{A},1\n@b,{A},2\n"
AB = (("a", 1), ("b", 2))

CASES = [
    _case("plain", "csv", TWO, *AB),
    _case("empty", "csv", b""),
    _case("only_a_newline", "csv", b"\n"),
    _case("only_newlines", "csv", b"\n\n\r\n\n"),
    _case("blank_lines_between", "csv", f"\n@a,{A},1\n\n\n@b,{A},2\n\n", *AB),
    _case("a_line_of_blanks", "csv", f"@a,{A},1\n   \n@b,{A},2\n", *AB, malformed=1),
    _case("crlf", "csv", TWO.replace("\n", "\r\n"), *AB),
    _case("mixed_line_ends", "csv", f"@a,{A},1\r\n@b,{A},2\n@c,{A},3\r\n", *AB, ("c", 3)),
    _case("no_last_newline", "csv", TWO[:-1], *AB, unfinished=[("a", 1)]),
    _case("one_line_without_newline", "csv", f"@a,{A},1", ("a", 1), unfinished=[]),
    _case("bom", "csv", b"\xef\xbb\xbf" + TWO.encode(), *AB),
    _case("bom_and_header", "csv_header", b"\xef\xbb\xbfk,ts,v\n" + TWO.encode(), *AB),
    _case("trailing_comma", "csv", f"@a,{A},1,\n@b,{A},2\n", ("b", 2), malformed=1),
    _case("too_few_fields", "csv", f"@a,{A}\n@b,{A},2\n@c\n", ("b", 2), malformed=2),
    _case("empty_fields", "csv", f"@a,{A},\n,,\n,{A},1\n", ("a", None), malformed=1),
    _case("number_with_blanks", "csv", f"@a,{A}, 7 \n", ("a", 7)),
    _case("number_with_sign", "csv", f"@a,{A},+7\n@b,{A},-7\n", ("a", 7), ("b", -7)),
    _case("number_with_zeros", "csv", f"@a,{A},007\n", ("a", 7)),
    _case("number_with_thousands", "csv_text", f'@a,{A},"1,234"\n', ("a", "1,234")),
    _case("number_too_large", "csv", f"@a,{A},9223372036854775808\n@b,{A},2\n", ("b", 2),
          malformed=1),
    _case("number_with_a_point", "csv", f"@a,{A},1.5\n@b,{A},2\n", ("b", 2), malformed=1),
    _case("header", "csv_header", f"k,ts,v\n{TWO}", *AB),
    _case("header_only", "csv_header", "k,ts,v\n"),
    _case("header_of_other_case", "csv_header", f"K,Ts,V\n{TWO}", *AB),
    _case("header_in_quotes", "csv_header", f'"k","ts","v"\n{TWO}', *AB),
    _case("header_that_recurs", "csv_header", f"k,ts,v\n@a,{A},1\nk,ts,v\n@b,{A},2\n", *AB),
    _case("header_crlf", "csv_header", f"k,ts,v\r\n{TWO}", *AB),
    _case("two_files_with_headers", "csv_header",
          {"1.csv": f"k,ts,v\n@a,{A},1\n".encode(), "2.csv": f"k,ts,v\n@b,{A},2\n".encode()}, *AB),
    _case("quoted_delimiters", "csv_text", f'@a,{A},"x,y"\n"@b",{A},"z"\n', ("a", "x,y"),
          ("b", "z")),
    _case("quoted_quotes", "csv_text", f'@a,{A},"say ""hi"""\n', ("a", 'say "hi"')),
    _case("quoted_empty", "csv_text", f'@a,{A},""\n', ("a", None)),
    _case("quote_within", "csv_text", f'@a,{A},5" pipe\n', ("a", '5" pipe')),
    _case("quotes_are_letters", "csv_raw", f'@a,{A},"x"\n@b,{A},"\n', ("a", '"x"'), ("b", '"')),
    _case("backslashes", "csv_text", f"@a,{A},c:\\new\\table\n", ("a", "c:\\new\\table")),
    _case("null_text", "csv_null", f"@a,{A},\\N\n@b,{A},2\n@c,{A},\n", ("a", None), ("b", 2),
          ("c", None)),
    _case("semicolons", "semicolon", f"@a;{A};1,5\n", ("a", "1,5")),
    _case("pipes", "pipe", f"@a|{A}|x,y\n@b|{A}|^$.\n", ("a", "x,y"), ("b", "^$.")),
    _case("tabs", "tsv", f"@a\t{A}\tx y\n@b\t{A}\t\n", ("a", "x y"), ("b", None)),
    _case("quotes_in_tsv", "tsv", f'@a\t{A}\t"x"\n', ("a", '"x"')),
    _case("nul_bytes", "csv_text", f"@a,{A},x\0y\n".encode(), ("a", "x\0y")),
    _case("control_signs", "csv_text", f"@a,{A},\x01\x1b[31m\x7f\n".encode(),
          ("a", "\x01\x1b[31m\x7f")),
    _case("unicode", "csv_text", f"@ÄÖ,{A},日本\n@b,{A},👩‍👩‍👧\n", ("ÄÖ", "日本"),
          ("b", "👩‍👩‍👧")),
    _case("line_separators_of_unicode", "csv_text", f"@a,{A},x\u2028y\u0085z\x0bw\x0cv\n",
          ("a", "x\u2028y\u0085z\x0bw\x0cv")),
    _case("long_line", "csv_text", f"@a,{A},{LONG}\n@b,{A},short\n", ("a", LONG), ("b", "short")),
    _case("wide_line", "csv", f"@a,{A},1{',' * 20_000}\n@b,{A},2\n", ("b", 2), malformed=1),
    _case("gz", "csv", {"a.csv.gz": gzip.compress(_named("gz", TWO), mtime=0)}, *AB),
    _case("gz_of_two_members", "csv",
          {"a.csv.gz": gzip.compress(_named("gz_of_two_members", f"@a,{A},1\n"), mtime=0)
           + gzip.compress(_named("gz_of_two_members", f"@b,{A},2\n"), mtime=0)}, *AB),
    _case("gz_cut_within_a_line", "csv",
          {"a.csv.gz": gzip.compress(_named("gz_cut_within_a_line", TWO)[:30], mtime=0)
           + gzip.compress(_named("gz_cut_within_a_line", TWO)[30:], mtime=0)}, *AB),
    _case("bz2", "csv", {"a.csv.bz2": bz2.compress(_named("bz2", TWO))}, *AB),
    _case("zst", "csv", {"a.csv.zst": zstandard.compress(_named("zst", TWO))}, *AB),
    _case("gz_of_nothing", "csv", {"a.csv.gz": gzip.compress(b"", mtime=0)}),
    _case("strange_names", "csv",
          {"a b.log": f"@a,{A},1\n".encode(), "ü[1]{x}*.log": f"@b,{A},2\n".encode()}, *AB),
    _case("json", "json", f'{{"k":"@a","ts":"{A}","v":1}}\n{{"v":2,"k":"@b","ts":"{A}"}}\n', *AB),
    _case("json_missing_and_null", "json",
          f'{{"k":"@a","ts":"{A}"}}\n{{"k":"@b","ts":"{A}","v":null}}\n{{"k":"@c","v":1}}\n',
          ("a", None), ("b", None), malformed=1),
    _case("json_more_than_declared", "json", f'{{"k":"@a","ts":"{A}","v":1,"w":{{"x":[1]}}}}\n',
          ("a", 1)),
    _case("json_number_in_quotes", "json", f'{{"k":"@a","ts":"{A}","v":"1"}}\n', ("a", 1)),
    _case("json_cut_off", "json", f'{{"k":"@a","ts":"{A}","v":1\n{{"k":"@b","ts":"{A}","v":2}}\n',
          ("b", 2), malformed=1),
    _case("json_not_an_object", "json", f'null\n[]\n"x"\n7\n{{"k":"@b","ts":"{A}","v":2}}\n',
          ("b", 2), malformed=4),
    _case("json_escapes", "json_text",
          f'{{"k":"@a","ts":"{A}","v":"x\\ny \\u00e4 \\ud83d\\ude00 \\"q\\""}}\n',
          ("a", 'x\ny ä 😀 "q"')),
    _case("json_nested_as_text", "json_text", f'{{"k":"@a","ts":"{A}","v":{{"x":[1,2]}}}}\n',
          ("a", '{"x":[1,2]}')),
    _case("json_empty_string", "json_text", f'{{"k":"@a","ts":"{A}","v":""}}\n', ("a", "")),
    _case("json_mark", "json",
          f'\ufeff{{"k":"@a","ts":"{A}","v":1}}\n{{"k":"@b","ts":"{A}","v":2}}\n', *AB),
    _case("json_blanks", "json",
          f'  {{"k":"@a","ts":"{A}","v":1}} \n \t \n\n{{"k":"@b", "ts":"{A}","v":2}}\n', *AB,
          malformed=1),
    _case("json_nul_bytes", "json_text",
          f'{{"k":"@a","ts":"{A}","v":"x\0y"}}\n\0{{\0}}\n{{"k":"@b","ts":"{A}","v":"z"}}\n',
          ("b", "z"), malformed=2),
    _case("json_other_bytes", "json_text",
          f'{{"k":"@a","ts":"{A}","v":"'.encode() + b'\xed\xa0\x80"}\n'
          + f'{{"k":"@b","ts":"{A}","v":"\u00e4"}}\n'.encode(), ("b", "ä"), malformed=1),
    _case("json_keys_twice", "objects",
          f'{{"k":"@a","ts":"{A}","v":1,"v":2}}\n{{"k":"@b","v":"x","ts":"{A}","v":null}}\n',
          ("a", 2), ("b", None)),
    _case("json_keys_of_other_case", "objects", f'{{"K":"x","k":"@a","ts":"{A}","V":1}}\n',
          ("a", None)),
    _case("json_numbers_otherwise", "objects",
          f'{{"k":"@a","ts":"{A}","v":"007"}}\n{{"k":"@b","ts":"{A}","v":007}}\n'
          f'{{"k":"@c","ts":"{A}","v":1.0}}\n{{"k":"@d","ts":"{A}","v":-0}}\n'
          f'{{"k":"@e","ts":"{A}","v":9223372036854775808}}\n{{"k":"@f","ts":"{A}","v":true}}\n',
          ("a", 7), ("d", 0), malformed=4),
    _case("json_numbers_that_are_none", "objects",
          f'{{"k":"@a","ts":"{A}","v":NaN}}\n{{"k":"@b","ts":"{A}","v":-Infinity}}\n'
          f'{{"k":"@c","ts":"{A}","v":3,"w":NaN}}\n', ("c", 3), malformed=2),
    _case("json_more_behind", "objects",
          f'{{"k":"@a","ts":"{A}","v":1}} x\n{{"k":"@b","ts":"{A}","v":2}}{{"k":"@c"}}\n', *AB),
    _case("json_other_lines", "objects",
          f'Traceback (most recent call last):\n{{"k":"@a","ts":"{A}","v":1}}\n"x"\n7\n{{}}\n}}\n',
          ("a", 1), malformed=5),
    _case("json_half_a_character", "objects_text",
          f'{{"k":"@a","ts":"{A}","v":"\\ud800x"}}\n{{"k":"@b","ts":"{A}","v":"\\udc00"}}\n',
          ("a", "?x"), ("b", "?")),
    _case("json_long_line", "objects_text",
          f'{{"k":"@a","ts":"{A}","v":"{LONG}"}}\n{{"k":"@b","ts":"{A}","v":"ä"}}\n', ("a", LONG),
          ("b", "ä")),
    _case("json_values_as_text", "objects_text",
          f'{{"k":"@a","ts":"{A}","v":{{ "x" : [1, 2.50, null] }}}}\n'
          f'{{"k":"@b","ts":"{A}","v":-0}}\n{{"k":"@c","ts":"{A}","v":1.50}}\n',
          ("a", '{"x":[1,2.5,null]}'), ("b", "0"), ("c", "1.5")),
    _case("json_crlf", "json", f'{{"k":"@a","ts":"{A}","v":1}}\r\n', ("a", 1)),
    _case("json_more_digits_than_a_double", "json_money",
          f'{{"k":"@a","ts":"{A}","pay":{{"v":12345678901234567890.123456789012}}}}\n'
          f'{{"k":"@b","ts":"{A}","pay":{{"v":"12345678901234567890.123456789012"}}}}\n'
          f'{{"k":"@c","ts":"{A}","pay":{{"v":1.0000000000001}}}}\n'
          f'{{"k":"@d","ts":"{A}","pay":{{"v":1.00000000000000000001}}}}\n'
          f'{{"k":"@e","ts":"{A}","pay":{{"v":-0.1234567890120000000}}}}\n'
          f'{{"k":"@f","ts":"{A}","pay":{{"v":7}},"w":0.30000000000000004}}\n'
          f'{{"k":"@g","ts":"{A}","pay":{{}},"w":0.30000000000000004}}\n',
          ("a", "12345678901234567890.123456789012"), ("b", "12345678901234567890.123456789012"),
          ("e", "-0.123456789012"), ("f", "7.000000000000"), ("g", None), malformed=2),
    _case("json_numbers_with_exponents", "json_rate",
          f'{{"k":"@a","ts":"{A}","v":1e-05,"w":0.30000000000000004}}\n'
          f'{{"k":"@b","ts":"{A}","v":1.2345678901234567890e2}}\n'
          f'{{"k":"@c","ts":"{A}","v":0.{"1234567890" * 4}}}\n'
          f'{{"k":"@d","ts":"{A}","v":1.5e3}}\n'
          f'{{"k":"@e","ts":"{A}","v":0.30000000000000004}}\n',
          ("a", "0.00001000000000000000"), ("b", "123.45678901234567890000"),
          ("d", "1500.00000000000000000000"), ("e", "0.30000000000000004000"), malformed=1),
    _case("json_digits_rounded", "json_rounded",
          f'{{"k":"@a","ts":"{A}","v":123456789012345678.125}}\n'
          f'{{"k":"@b","ts":"{A}","v":1234567890123456.781e2}}\n',
          ("a", "123456789012345678.13"), ("b", "123456789012345678.10")),
    _case("json_seconds_with_many_digits", "json_epoch_s",
          '{"k":"@a","ts":1777636800.123456999,"v":1}\n{"k":"@b","ts":1777636800,"v":2}\n',
          ("a", 1, "2026-05-01T12:00:00.123456Z"), ("b", 2)),
    _case("regex", "regex", "@a [01/May/2026:14:00:00 +0200] 1\nnonsense\n", ("a", 1),
          malformed=1),
    _case("trace", "traces", f"[{A}] @a x\n{TRACE}[{A}] @b y\n", ("a", f"x\n{TRACE[:-1]}"),
          ("b", "y")),
    _case("trace_at_the_end", "traces", f"[{A}] @a x\n[{A}] @b y\n{TRACE}", ("a", "x"),
          ("b", f"y\n{TRACE[:-1]}")),
    _case("trace_without_last_newline", "traces", f"[{A}] @a x\n[{A}] @b y\n\tat z\n\tat w",
          ("a", "x"), ("b", "y\n\tat z\n\tat w"), unfinished=[("a", "x"), ("b", "y\n\tat z")]),
    _case("trace_crlf", "traces", f"[{A}] @a x\r\n\tat z\r\n[{A}] @b y\r\n", ("a", "x\n\tat z"),
          ("b", "y")),
    _case("trace_with_empty_lines", "traces", f"\n[{A}] @a x\n\n\tat z\n\n\n[{A}] @b y\n\n",
          ("a", "x\n\n\tat z"), ("b", "y")),
    _case("trace_that_begins_a_file", "traces", f"\tat z\n\tat w\n[{A}] @a x\n", ("a", "x"),
          malformed=1),
    _case("trace_of_a_malformed_record", "traces", f"[yesterday] @a x\n\tat z\n[{A}] @b y\n",
          ("b", "y"), malformed=1),
    _case("trace_gz", "traces", {"a.log.gz": gzip.compress(
          _named("trace_gz", f"[{A}] @a x\n\tat z\n[{A}] @b y\n\tat w"), mtime=0)},
          ("a", "x\n\tat z"), ("b", "y\n\tat w")),
    _case("trace_not_utf8", "traces",
          f"[{A}] @a x\n".encode() + b"\tat \xff\n" + f"[{A}] @b y\n".encode(), ("b", "y"),
          malformed=1),
    _case("trace_of_unicode", "traces", f"[{A}] @ä x\u2028y\n\tat 日本\u0085\n[{A}] @b y\n",
          ("ä", "x\u2028y\n\tat 日本\u0085"), ("b", "y")),
    _case("trace_utf16", "traces_utf16", {"a.log":
          f"\ufeff[{A}] trace_utf16/ä x\n\tat 日本\n[{A}] trace_utf16/b y\n".encode("utf-16-le")},
          ("ä", "x\n\tat 日本"), ("b", "y")),
    _case("trace_in_a_syslog", "syslog_traces",
          "2026-05-01T12:00:00Z web @a[7]: failed\n  File x, line 3\nE: 1\n"
          "2026-05-01T12:00:00Z web @b: fine\n", ("a", "failed\n  File x, line 3\nE: 1"),
          ("b", "fine")),
    _case("seconds", "epoch_s", "@a,1777636800,1\n@b,1777636800.25,2\n", ("a", 1),
          ("b", 2, "2026-05-01T12:00:00.250Z")),
    _case("milliseconds", "epoch_ms", "@a,1777636800000,1\n@b,1777636800250,2\n", ("a", 1),
          ("b", 2, "2026-05-01T12:00:00.250Z")),
    _case("microseconds", "epoch_us", "@a,1777636800000001,1\n", ("a", 1,
          "2026-05-01T12:00:00.000001Z")),
    _case("seconds_before_1970", "epoch_s", "@a,-1,1\n@b,-1.5,2\n",
          ("a", 1, "1969-12-31T23:59:59Z"), ("b", 2, "1969-12-31T23:59:58.5Z")),
    _case("epoch_as_text", "epoch_s", "@a,yesterday,1\n@b,1777636800,2\n@c,1e9,3\n", ("b", 2),
          ("c", 3, "2001-09-09T01:46:40Z"), malformed=1),
    _case("before_1970", "csv", "@a,1912-06-23T12:00:00Z,1\n@b,0001-01-01T00:00:00Z,2\n",
          ("a", 1, "1912-06-23T12:00:00Z"), ("b", 2, "0001-01-01T00:00:00Z")),
    _case("after_2262", "csv", "@a,2262-04-12T00:00:00Z,1\n@b,2999-12-31T23:59:59Z,2\n",
          ("a", 1, "2262-04-12T00:00:00Z"), ("b", 2, "2999-12-31T23:59:59Z"), future=2),
    _case("leap_second", "csv", f"@a,2016-12-31T23:59:60Z,1\n@b,{A},2\n", ("b", 2), malformed=1),
    _case("leap_day", "csv", "@a,2024-02-29T12:00:00Z,1\n@b,2026-02-29T12:00:00Z,2\n",
          ("a", 1, "2024-02-29T12:00:00Z"), malformed=1),
    _case("hour_24", "csv", f"@a,2026-05-01T24:00:00Z,1\n@b,{A},2\n", ("b", 2), malformed=1),
    _case("offsets", "csv", "@a,2026-05-01T14:00:00+02:00,1\n@b,2026-05-01 06:30:00-05:30,2\n",
          *AB),
    _case("zone_names", "csv", "@a,2026-05-01T14:00:00 Europe/Berlin,1\n", ("a", 1)),
    _case("daylight_saving", "csv",
          "@a,2026-10-25T02:30:00 Europe/Berlin,1\n@b,2026-03-29T02:30:00 Europe/Berlin,2\n",
          ("a", 1, "2026-10-25T00:30:00Z"), ("b", 2, "2026-03-29T01:30:00Z")),
    _case("times_without_zone", "csv", "@a,2026-05-01 12:00:00,1\n@b,2026-05-01 12:00,2\n", *AB),
    _case("date_without_time", "csv", "@a,2026-05-01,1\n", ("a", 1, "2026-05-01T00:00:00Z")),
    _case("nanoseconds_in_text", "csv", "@a,2026-05-01T12:00:00.123456789Z,1\n",
          ("a", 1, "2026-05-01T12:00:00.123456Z")),
    _case("time_is_missing", "csv", f"@a,,1\n@b,{A},2\n", ("b", 2), malformed=1),
    _case("day_first", "day_first", "@a,01.05.2026 12:00:00,1\n@b,13.13.2026 12:00:00,2\n",
          ("a", 1), malformed=1),
    _case("money", "money", f"@a,{A},1.50\n@b,{A},1234567.00\n@c,{A},2\n", ("a", "1.50"),
          ("c", "2.00"), malformed=1),
    _case("flags", "flag", f"@a,{A},true\n@b,{A},N\n@c,{A},maybe\n", ("a", "true"),
          ("b", "false"), malformed=1),
    _case("days", "day", f"@a,{A},2026-05-01\n@b,{A},01.05.2026\n", ("a", "2026-05-01"),
          malformed=1),
    _case("the_same_line_twice", "csv", f"@a,{A},1\n@a,{A},1\n", ("a", 1), ("a", 1)),
    _case("header_in_another_order", "csv_header",
          {"1.csv": f"v,ts,more,k\n1,{A},x,@a\n".encode(), "2.csv": f"k,ts,v\n@b,{A},2\n".encode()},
          *AB),
    _case("header_lacks_a_column", "csv_header",
          {"1.csv": f"k,ts\n@a,{A}\n@x,{A}\n".encode(), "2.csv": f"k,ts,v\n@b,{A},2\n".encode()},
          ("b", 2), malformed=2),
    _case("header_has_a_column_twice", "csv_header", f"k,ts,v,v\n@a,{A},1,2\n", malformed=1),
    _case("header_with_blanks", "csv_header", f" k , ts , v \n{TWO}", *AB),
    _case("header_after_empty_lines", "csv_header", f"\n\nk,ts,v\n{TWO}", *AB),
    _case("not_utf8", "csv_text", f"@a,{A},".encode() + b"\xff\xe9\n" + f"@b,{A},é\n".encode(),
          ("b", "é"), malformed=1),
    _case("not_utf8_replaced", "csv_replaced", f"@a,{A},".encode() + b"\xff\xe9\n",
          ("a", "\ufffd\ufffd")),
    _case("xz", "csv", {"a.csv.xz": lzma.compress(_named("xz", TWO))}, *AB),
    _case("zip_is_left_alone", "csv",
          {"a.csv.zip": b"PK\x03\x04nothing", "b.csv": TWO.encode()}, *AB),
    _case("cr_alone", "csv", TWO.replace("\n", "\r"), *AB, unfinished=[("a", 1)]),
    _case("latin1", "latin1", f"@é,{A},Zürich\n".encode("latin-1"), ("é", "Zürich")),
    _case("utf16_le", "utf16", {"a.csv": _wide("utf16_le", "utf-16-le")}, ("ä", "日本"),
          ("b", "2")),
    _case("utf16_be", "utf16", {"a.csv": _wide("utf16_be", "utf-16-be")}, ("ä", "日本"),
          ("b", "2")),
    _case("quoted_breaks", "breaks", f'@a,{A},"one\ntwo\n\nfour"\n@b,{A},x\n',
          ("a", "one\ntwo\n\nfour"), ("b", "x")),
    _case("quoted_breaks_crlf", "breaks", f'@a,{A},"one\r\ntwo"\r\n@b,{A},x\r\n',
          ("a", "one\r\ntwo"), ("b", "x")),
    _case("quoted_quotes_and_breaks", "breaks", f'@a,{A},"say ""hi\n""there"\n',
          ("a", 'say "hi\n"there')),
    _case("comments", "comments", f"# made by hand\n@a,{A},x # y\n#@b,{A},2\n", ("a", "x # y")),
    _case("delimiter_of_two_signs", "double_pipe", f"@a||{A}||x|y\n", ("a", "x|y")),
    _case("nanoseconds", "epoch_ns", "@a,1777636800000000001,1\n@b,1777636800123456789,2\n",
          ("a", 1), ("b", 2, "2026-05-01T12:00:00.123456Z")),
    _case("zone_of_summer_and_winter", "berlin",
          "@a,2026-05-01 14:00:00,1\n@b,2026-01-01 13:00:00,2\n@c,2026-05-01T12:00:00Z,3\n",
          ("a", 1), ("b", 2, "2026-01-01T12:00:00Z"), ("c", 3)),
    _case("hours_that_come_twice_or_never", "berlin",
          "@a,2026-10-25 02:30:00,1\n@b,2026-03-29 02:30:00,2\n",
          ("a", 1, "2026-10-25T00:30:00Z"), ("b", 2, "2026-03-29T01:30:00Z")),
    _case("several_forms_of_time", "two_forms",
          "@a,1777636800000,1\n@b,01.05.2026 12:00,2\n@c,x,3\n", *AB, malformed=1),
    _case("date_and_time_apart", "split", "@a,2026-05-01,12:00:00,1\n@b,2026-05-01,,2\n", ("a", 1),
          malformed=1),
    _case("too_many_digits", "money", f"@a,{A},1.005\n@b,{A},1.50\n", ("b", "1.50"), malformed=1),
    _case("rounded_digits", "rounded", f"@a,{A},1.005\n", ("a", "1.01")),
    _case("paths_into_objects", "paths",
          f'{{"who":{{"k":"@a"}},"x-time":"{A}","a.b":1,"tags":["x","y"]}}\n'
          f'{{"who":{{"k":"@b"}},"x-time":"{A}"}}\n', ("a", "x"), ("b", None)),
    _case("json_array", "array",
          f'[{{"k":"@a","ts":"{A}","v":1}},\n {{"k":"@b",\n"ts":"{A}","v":2}}]\n', *AB),
    _case("fixed_width", "fixed", "fixed_width/a                 2026-05-01T12:00:00Z  1\n",
          ("a", 1)),
    _case("access_log", "apache",
          '10.0.0.1 - - [01/May/2026:14:00:00 +0200] "GET @a HTTP/1.1" 200 17\n'
          '10.0.0.1 - ann [01/May/2026:12:00:00 +0000] "GET @b HTTP/1.1" 404 - "-" "a \\"b\\""\n'
          "nonsense\n", ("a", 200), ("b", 404), malformed=1),
    _case("nginx_log", "nginx",
          '::1 - - [01/May/2026:12:00:00 +0000] "GET @a HTTP/2" 200 17 "-" "-" "10.0.0.1, x"\n',
          ("a", 17)),
    _case("old_syslog", "syslog",
          "<34>May  1 12:00:00 web @a: said: hi\nMay  1 12:00:00 web @b[7]: x\n",
          ("a", "said: hi"), ("b", "x")),
    _case("new_syslog", "syslog",
          '<34>1 2026-05-01T12:00:00Z web @a - ID47 [x y="]"] hi\n'
          "<34>1 2026-05-01T12:00:00Z web @b - - -\n",
          ("a", "hi"), ("b", None)),
    _case("logfmt", "logfmt", f'ts={A} k=@a v="x \\"y\\"" more=1\nk=@b ts={A}\n', ("a", 'x "y"'),
          ("b", None)),
    _case("journal_with_counted_values", "journal",
          _journal("a", b"plain=1") + _journal("b", b"one\n\ntwo\nMESSAGE=x\n", is_counted=True)
          + _journal("c", b"\x1b[31mred", is_counted=True) + _journal("d", b"x", more=CORE)
          + _journal("e", b"\xff\xfe\n\n", is_counted=True) + _journal("f", "ä\u2028ö".encode()),
          ("a", "plain=1"), ("b", "one\n\ntwo\nMESSAGE=x\n"), ("c", "\x1b[31mred"), ("d", "x"),
          ("f", "ä\u2028ö"), malformed=1),
    _case("w3c_with_tabs", "w3c",
          '#Fields:\tdate\ttime\tcs-uri\tsc-status\tcs(User-Agent)\n'
          '2026-05-01\t12:00:00\t@a\t200\ttwo words\n'
          '2026-05-01\t12:00:00\t@b\t404\t"x\ty"\n2026-05-01\t12:00:00\t@c\n'
          '2026-05-01 12:00:00 @d 200 "two words"\n',
          ("a", 200), ("b", 404), ("d", 200), malformed=1),
    _case("date_in_numbers", "parts",
          "@a,2026,5,1,12,0,0.5\n@b,2026,5,1,12,0,60\n@c,300000,1,1,1,1,1\n@d,2026,13,1,12,0,0\n",
          ("a", 2026, "2026-05-01T12:00:00.5Z"), malformed=3),
    _case("number_beside_text", "day_number", "@a,20260501,12:00:00,1\n@b,20261301,12:00:00,2\n",
          ("a", 1), malformed=1),
    _case("w3c", "w3c",
          "#Version: 1.0\n#Fields: date time cs-uri sc-status\n2026-05-01 12:00:00 @a 200\n"
          "#Fields: date time sc-status cs-uri\n2026-05-01 12:00:00 404 @b\n",
          ("a", 200), ("b", 404)),
]  # fmt: skip


def folded(cases: list[Case]) -> list[Case]:
    """One of each dialect, with the files of all, and of several the sum of malformed lines."""
    dialects: dict[str, list[Case]] = {}
    for case in cases:
        dialects.setdefault(case.dialect, []).append(case)
    return [
        Case(
            name=dialect,
            dialect=dialect,
            files={f"{one.name}~{path}": data for one in some for path, data in one.files.items()},
            records=[record for one in some for record in one.records],
            malformed=sum(one.malformed for one in some),
            unfinished=[record for one in some for record in one.live],
            others=tuple(one.name for one in some),
        )
        for dialect, some in dialects.items()
    ]


FOLDED = folded(CASES)
"""As many sources as before, at a third of the sites, and files of all kinds in one batch."""
