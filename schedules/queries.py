"""The questions of a schedule: which numbers were seen in each window, and how often each.

An answer's rows are then the very set of lines that are in it. The statements are compiled once
for a process; a schedule gives them their names, numbers and begins.
"""

from __future__ import annotations

from functools import cache

import msgspec

from headwater.plan.query import Query, QueryId
from headwater.plan.sources.source import Source
from headwater.sql.compile import compile_statements

SITE = "home"
DISORDER_S, LATENESS_S = 1.0, 10.0
PANE_S = 4.0
BEGIN_AFTER_S = 3.0
"""A query begins with the first pane this long after it was commanded."""
SOURCES = ("weblog", "errors")
DIRECTORIES = {"weblog": "a", "errors": "b"}

TEXT = """
CREATE SOURCE {source} (time TIMESTAMP, tag STRING, id BIGINT)
WITH (format = 'csv', path = '{directory}/*.log', time = 'time');
CREATE STREAM seen
WITH (lateness = '10 seconds', disorder = '1 second', deadline = '3 seconds', begin = 'now') AS
SELECT id, count(*) AS n FROM {source} GROUP BY window(time, '{range} seconds', '4 seconds'), id
"""


@cache
def _template(source: str, range_s: int) -> Query:
    text = TEXT.format(source=source, directory=DIRECTORIES[source], range=range_s)
    (query,) = compile_statements(
        text,
        root=SITE,
        installer=SITE,
        next_counter=1,
        now_us=0,
        begin="now",
        slack_us=0,
        ends=False,
        known_sites=[SITE],
    )
    return query


def query_of(source: str, *, name: str, counter: int, range_s: int, now_s: float) -> Query:
    template = _template(source, range_s)
    begin = template.window.pane_at(round((now_s + BEGIN_AFTER_S) * 1e6)) + 1
    return msgspec.structs.replace(
        template, id=QueryId(name, SITE, counter), begin_pane=begin, unit_last=counter
    )


def source_of(source: str) -> Source:
    return _template(source, 4).program.source
