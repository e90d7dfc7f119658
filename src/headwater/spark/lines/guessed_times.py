"""Local times that are a guess, counted: an hour that comes twice, and one that no clock shows.

Where clocks go back, a time that says no zone does not say which of two hours it is in: Java takes
the first. Where they go forward, an hour does not come at all, and Java moves its times on by as
much. Neither makes a line malformed, for the record was written, and either may be off by the hour.

Whether a time comes twice is asked of the zone itself: with the offset that holds some hours later,
a later moment shows the same local time. One that does not come is another when it is shown again.
"""

from __future__ import annotations

import msgspec
from pyspark.sql import SparkSession

from headwater.algebra.panes import MICROS
from headwater.plan.sources.local_times import says_zone
from headwater.plan.sources.log_formats import COLUMNAR, all_options
from headwater.plan.sources.time_formats import ISO, SAYS_ZONE, formats_of
from headwater.spark.lines.convert import timestamp, with_year
from headwater.spark.lines.fields import literal, quoted
from headwater.spark.lines.parse import TEXT, Parser
from headwater.sql.read.time_of import converted_time

LATER_US = 3 * 3_600 * MICROS
"""Clocks go back by less, and not again within it."""
LOCAL_TYPES = ("timestamp_ntz", "date")
"""Of files that have types: times that say no zone."""


def has_change(session: SparkSession, zone: str, *, from_us: int, to_us: int) -> bool:
    """Whether the clocks of a zone are changed between these moments, or hours before or after."""
    java = session._jvm.java.time
    rules = java.ZoneId.of(zone).getRules()
    first = java.Instant.ofEpochSecond((from_us - LATER_US) // MICROS)
    change = rules.nextTransition(first)
    return change is not None and change.toEpochSecond() * MICROS <= to_us + LATER_US


def guessed_sql(parser: Parser, lines: str, zone: str, *, keep: str) -> str | None:
    """SELECT ``keep``, ``twice`` and ``never``: how many records have such a time. None: no record
    can have one."""
    written = _written(parser)
    if written is None:
        return None
    time = quoted(parser.source.time_column)
    text = f"{TEXT}{parser.columns.index(parser.source.time_column)}"
    told = parser.typed_sql(lines, keep=[keep], is_explained=True)
    timed = (
        f"SELECT {keep}, unix_micros({time}) AS __us, unix_micros({written.wall(text)}) AS __wall "
        f"FROM ({told}) WHERE {time} IS NOT NULL AND {written.is_open(text)}"
    )
    shown = f"SELECT *, {_local('__us', zone)} AS __local FROM ({timed})"
    back = f"__local + {LATER_US}L - {_local(f'__us + {LATER_US}L', zone)}"
    is_twice = f"__back > 0 AND {_local('__us + __back', zone)} = __local"
    return (
        f"SELECT {keep}, count_if({is_twice}) AS twice, count_if(__wall <> __local) AS never "
        f"FROM (SELECT *, {back} AS __back FROM ({shown})) GROUP BY 1"
    )


def _local(time_us: str, zone: str) -> str:
    return f"unix_micros(from_utc_timestamp(timestamp_micros({time_us}), {literal(zone)}))"


def _written(parser: Parser) -> _Written | None:
    """None: a time of this source is a moment already, and no text."""
    source, options = parser.source, all_options(parser.source)
    name = converted_time(source) or source.time_column
    (type_,) = [one.type for one in source.columns if one.name == name]
    is_day = type_ == "date" and "date_format" in options
    formats = options.get("date_format" if is_day else "timestamp_format", ISO)
    if source.format in COLUMNAR:
        found = dict(parser.types).get(name, "string")
        if found in LOCAL_TYPES:
            return _Written(ISO)
        return _Written(formats) if found == "string" else None
    return _Written(formats, options.get("year", ""))


class _Written(msgspec.Struct, frozen=True):
    """How the times of a source stand in its lines."""

    formats: str
    year: str = ""

    def wall(self, text: str) -> str:
        """What a clock showed, as if it were one in UTC."""
        told = with_year(text, self.year) if self.year else text
        return timestamp(told, {"timestamp_format": self.formats})

    def is_open(self, text: str) -> str:
        """Whether a time that can be read says no zone. Formats are tried in order, and the first
        that reads it decides."""
        cases = []
        for one in formats_of(self.formats):
            is_read = f"{_Written(one, self.year).wall(text)} IS NOT NULL"
            is_open = f"NOT regexp_like({text}, {literal(SAYS_ZONE)})" if one == ISO else "true"
            cases.append(f"WHEN {is_read} THEN {'false' if says_zone(one) else is_open}")
        return f"CASE {' '.join(cases)} ELSE false END"
