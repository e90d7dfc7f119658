r"""Lines of well-known programs, each as a regular expression that Java and we read alike.

Groups have the names of columns. The first shape that matches nearly all lines is taken.

>>> line = '10.0.0.1 - - [01/May/2026:14:00:00 +0200] "GET /a HTTP/1.1" 200 17'
>>> find_shape([line]).name
'common access log'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

SHARE_MIN = 0.9
STARTS_MIN = 2
"""Lines that begin records, where most lines are none."""
MESSAGE, FIRST_LINE = "(?<message>.*", r"(?<message>[^\n]*"
FURTHER_LINES = r"(?:\n(?<trace>.*))?"
_ACCESS = (
    r"(?<client>\S+) (?:-|(?<ident>\S+)) (?:-|(?<user>[^\[]+?)) \[(?<ts>[^\]]+)\] "
    r'"(?<method>[A-Z]+) (?<path>\S+)(?: (?<protocol>[^"]*))?" (?<status>\d{3}) (?:-|(?<bytes>\d+))'
)
"""A hyphen stands for what is not known; a group that takes no part in the match is NULL."""
_LEVEL = r"TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE"
STAMP = "stamp"
"""The column of a time that is none as it stands."""
SHORT_YEARS = "years of two digits come first in these times, and are those from 2000 on"
_BEGUN = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?"


class Shape(msgspec.Struct, frozen=True):
    name: str
    pattern: str
    """Java's; groups are ``(?<name>…)``."""
    format: str = "regex"
    """Of the source; one with a name reads such lines, and has these columns, by itself."""
    yearless: str = ""
    """Of times in the column ``STAMP`` that say no year: how they are written with one before."""
    has_short_years: bool = False
    """Years have two digits, and stand where a day could."""
    start: str = ""
    """What the first line of a record begins with, where others may follow it; empty: none do."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(re.findall(r"\(\?<(\w+)>", self.pattern))

    def begins(self, line: str) -> bool:
        """Whether it begins a record, so that lines which don't go on with it."""
        return _compiled(self.start).match(line) is not None

    def match(self, line: str) -> dict[str, str | None] | None:
        found = _compiled(self.pattern).fullmatch(line)
        return None if found is None else found.groupdict()


SHAPES = (
    Shape(
        "combined access log",
        _ACCESS + r' "(?:-|(?<referer>[^"]*))" "(?:-|(?<agent>(?:[^"\\]|\\.)*))"(?: .*)?',
        "apache",
    ),
    Shape("common access log", _ACCESS, "apache"),
    Shape(
        "syslog (RFC 5424)",
        r"<(?<priority>\d{1,3})>\d{1,2} (?<ts>\S+) (?<host>\S+) (?<app>\S+) "
        r"(?:-|(?<pid>\S+)) (?:-|(?<message_id>\S+)) (?:-|(?<data>(?:\[(?:[^\]\\]|\\.)*\])+))"
        r"(?: (?<message>.*))?",
        "syslog",
        start=r"<\d{1,3}>\d{1,2} ",
    ),
    Shape(
        "syslog with ISO times",
        rf"(?<ts>{_STAMP}) (?<host>\S+) (?<app>[^\s:\[]+)(?:\[(?<pid>\d+)\])?: (?<message>.*)",
        "syslog",
        start=_BEGUN,
    ),
    Shape(
        "log4j as Kafka's brokers write it",
        rf"\[(?<ts>{_STAMP})\] (?<level>{_LEVEL}) (?<message>.*?)(?: \((?<logger>[\w.$]+)\))?",
        start=rf"\[{_BEGUN}",
    ),
    Shape(
        "log4j as Spark and Hadoop write it",
        rf"(?<ts>\d\d/\d\d/\d\d \d\d:\d\d:\d\d) (?<level>{_LEVEL}) +(?<logger>[^\s:]+): "
        r"(?<message>.*)",
        has_short_years=True,
        start=r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d ",
    ),
    Shape(
        "log4j as HDFS writes it",
        rf"(?<ts>\d{{6}} \d{{6}}) (?<pid>\d+) (?<level>{_LEVEL}) +(?<logger>[^\s:]+): "
        r"(?<message>.*)",
        has_short_years=True,
        start=r"\d{6} \d{6} \d+ ",
    ),
    Shape(
        "log4j with a level before the thread",
        rf"(?<ts>{_STAMP}) (?<level>{_LEVEL}) +\[(?<thread>.*?)\] (?<logger>[^\s:]+): "
        r"(?<message>.*)",
        start=_BEGUN,
    ),
    Shape(
        "log4j as ZooKeeper writes it",
        rf"(?<ts>{_STAMP}) - (?<level>{_LEVEL}) +\[(?<thread>.*?)\] - (?<message>.*)",
        start=_BEGUN,
    ),
    Shape(
        "log of OpenStack",
        rf"(?:(?<file>\S+) )?(?<ts>{_STAMP}) (?<pid>\d+) (?<level>{_LEVEL}) (?<logger>\S+) "
        r"\[(?<request>[^\]]*)\] (?<message>.*)",
        start=rf"(?:\S+ )?{_BEGUN}",
    ),
    Shape(
        "log of Android (logcat)",
        r"(?<stamp>\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) +(?<pid>\d+) +(?<tid>\d+) (?<level>[VDIWEFA]) "
        r"(?<tag>.*?) *: (?<message>.*)",
        yearless="yyyy-MM-dd HH:mm:ss.SSS",
    ),
    Shape(
        "log of Proxifier",
        r"\[(?<stamp>\d\d\.\d\d \d\d:\d\d:\d\d)\] (?<program>.*?) - (?<target>\S+) (?<message>.*)",
        yearless="yyyy.MM.dd HH:mm:ss",
    ),
    Shape(
        "error log of Apache",
        r"\[[A-Z][a-z]{2} (?<ts>[A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d(?:\.\d{6})? \d{4})\] "
        r"\[(?:(?<module>[\w-]*):)?(?<level>\w+)\] (?:\[pid (?<pid>\d+)[^\]]*\] )?"
        r"(?:\[client (?<client>[^\]]+)\] )?(?<message>.*)",
    ),
    Shape(
        "log of Windows' servicing",
        rf"(?<ts>{_STAMP}), (?<level>[A-Z][a-z]+) +(?<component>[A-Z]\S*)(?: +(?<message>.*))?",
    ),
    Shape(
        "log of a supercomputer's events",
        r"(?<alert>\S+) (?<ts>\d{10}) (?<day>\d{4}\.\d\d\.\d\d) (?<node>\S+) (?<message>.*)",
    ),
    Shape(
        "log of steps, with a bar between values",
        r"(?<ts>\d{8}-\d{1,2}:\d{1,2}:\d{1,2}):(?<ms>\d{1,3})\|(?<component>[^|]*)\|(?<pid>[^|]*)\|"
        r"(?<message>.*)",
    ),
    Shape(
        "log with a level and a thread",
        rf"(?<ts>{_STAMP}) +\[(?<thread>[^\]]+)\] +(?<level>{_LEVEL}) +(?<logger>\S+)(?: -|:) "
        r"(?<message>.*)",
        start=_BEGUN,
    ),
    Shape(
        "log with a level",
        rf"\[?(?<ts>{_STAMP})\]?[ |-]+\[?(?<level>{_LEVEL})\]?:?[ |-]+(?<message>.*)",
        start=rf"\[?{_BEGUN}",
    ),
)
OLD_SYSLOG = re.compile(
    r"(<\d{1,3}>)?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \S+ .*"
)
LOGFMT_PAIR = re.compile(r'([^\s="]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)')
W3C_FIELDS = "#Fields:"


def find_shape(lines: Sequence[str]) -> Shape | None:
    for shape in SHAPES:
        matched = sum(shape.match(line) is not None for line in lines)
        if lines and matched >= SHARE_MIN * len(lines):
            return shape
    return None


def find_started_shape(lines: Sequence[str]) -> Shape | None:
    """Of lines some of which go on with the record before: by those that begin one."""
    for shape in SHAPES:
        starts = [line for line in lines if shape.start and shape.begins(line)]
        matched = sum(shape.match(line) is not None for line in starts)
        if len(starts) >= STARTS_MIN and matched >= SHARE_MIN * len(starts):
            return shape
    return None


def over_lines(shape: Shape) -> Shape:
    """With what stands in further lines in a column of its own; a format with a name has it in its
    message."""
    if shape.format != "regex":
        return shape
    pattern = shape.pattern.replace(MESSAGE, FIRST_LINE) + FURTHER_LINES
    return msgspec.structs.replace(shape, pattern=pattern)


def records_by(shape: Shape, lines: Sequence[str]) -> list[str]:
    """Each with its lines; what stands before the first beginning is one."""
    found: list[list[str]] = []
    for line in lines:
        if shape.begins(line) or not found:
            found.append([])
        found[-1].append(line)
    return ["\n".join(of_record) for of_record in found]


def year_doubt(year: int) -> str:
    """Of times that say none."""
    return (
        f"these times say no year and no zone: taken as {year}, the year in which the newest file "
        "was written, in UTC"
    )


def is_old_syslog(lines: Sequence[str]) -> bool:
    """``May  1 12:00:00 host program: …``, which says no year."""
    matched = sum(OLD_SYSLOG.fullmatch(line) is not None for line in lines)
    return bool(lines) and matched >= SHARE_MIN * len(lines)


def is_logfmt(lines: Sequence[str]) -> bool:
    """Pairs of names and values and nothing else, at least two in most lines."""
    good = sum(_is_pairs(line) for line in lines)
    return bool(lines) and good >= SHARE_MIN * len(lines)


def pairs_of(line: str) -> dict[str, str]:
    r"""
    >>> pairs_of('level=info msg="said \\"hi\\"" n=1')
    {'level': 'info', 'msg': 'said "hi"', 'n': '1'}
    """
    return {
        name: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        for name, value in LOGFMT_PAIR.findall(line)
    }


def _is_pairs(line: str) -> bool:
    rest = LOGFMT_PAIR.sub("", line).split()
    return len(LOGFMT_PAIR.findall(line)) >= 2 and not rest


def _compiled(pattern: str) -> re.Pattern[str]:
    """A dot stands for a line break as well, as it does to Spark where a record may have one."""
    return re.compile(re.sub(r"\(\?<(\w+)>", r"(?P<\1>", pattern), re.DOTALL)
