"""How the awkward files are declared: one source for each dialect, with a column for the case.

Every record carries ``<case>/<something>`` in its column ``k``, so that the answers of one source
over many sites can be told apart by case.
"""

from __future__ import annotations

from typing import NamedTuple

WINDOW_DAYS = 36_000
"""From 1970 to 2068, so that files from any time have few windows."""


class Dialect(NamedTuple):
    columns: str
    """Empty: those that the format brings."""
    options: str
    """Beside ``path``, and ``time`` where it is not ``ts``."""
    time: str = "ts"
    """As SQL calls it, of a source that says itself what its time is."""
    key: str = "k"
    value: str = "v"


DIALECTS = {
    "csv": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv'"),
    "csv_header": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv', header = 'true'"),
    "csv_text": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv'"),
    "csv_replaced": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', replace = 'true'"),
    "csv_raw": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', quote = ''"),
    "csv_null": Dialect("k STRING, ts TIMESTAMP, v BIGINT", r"format = 'csv', null_value = '\\N'"),
    "semicolon": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', delimiter = ';'"),
    "pipe": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', delimiter = '|'"),
    "tsv": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'tsv'"),
    "json": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'json'"),
    "json_text": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'json'"),
    "objects": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'json'"),
    "objects_text": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'json'"),
    "json_money": Dialect(
        "k STRING, ts TIMESTAMP, v DECIMAL(38, 12) PATH 'pay.v'", "format = 'json'"
    ),
    "json_rate": Dialect("k STRING, ts TIMESTAMP, v DECIMAL(30, 20)", "format = 'json'"),
    "json_rounded": Dialect(
        "k STRING, ts TIMESTAMP, v DECIMAL(20, 2)", "format = 'json', round = 'true'"
    ),
    "json_epoch_s": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT", "format = 'json', timestamp_format = 'epoch_s'"
    ),
    "regex": Dialect(
        "k STRING, ts TIMESTAMP, v INT",
        r"""format = 'regex', pattern = r'(\S+) \[([^\]]+)\] (\d+)',
        timestamp_format = 'dd/MMM/yyyy:HH:mm:ss Z'""",
    ),
    "traces": Dialect(
        "k STRING, ts TIMESTAMP, v STRING",
        r"""format = 'regex', pattern = r'\[(?<ts>[^\]]+)\] (?<k>\S+) (?<v>.*)',
        record_start = r'\['""",
    ),
    "traces_utf16": Dialect(
        "ts TIMESTAMP, k STRING, v STRING",
        r"""format = 'regex', pattern = r'\[([^\]]+)\] (\S+) (.*)', record_start = r'^\[\d',
        encoding = 'utf-16'""",
    ),
    "syslog_traces": Dialect(
        "", r"format = 'syslog', record_start = r'\d{4}-'", "ts", "app", "message"
    ),
    "epoch_s": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv', timestamp_format = 'epoch_s'"
    ),
    "epoch_ms": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv', timestamp_format = 'epoch_ms'"
    ),
    "epoch_us": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv', timestamp_format = 'epoch_us'"
    ),
    "day_first": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT",
        "format = 'csv', timestamp_format = 'dd.MM.yyyy HH:mm:ss'",
    ),
    "money": Dialect("k STRING, ts TIMESTAMP, v DECIMAL(8, 2)", "format = 'csv'"),
    "flag": Dialect("k STRING, ts TIMESTAMP, v BOOLEAN", "format = 'csv'"),
    "day": Dialect("k STRING, ts TIMESTAMP, v DATE", "format = 'csv'"),
    "latin1": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', encoding = 'latin1'"),
    "utf16": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', encoding = 'utf-16'"),
    "breaks": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', multiline = 'true'"),
    "comments": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', comment = '#'"),
    "double_pipe": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'csv', delimiter = '||'"),
    "epoch_ns": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv', timestamp_format = 'epoch_ns'"
    ),
    "berlin": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'csv', zone = 'Europe/Berlin'"),
    "two_forms": Dialect(
        "k STRING, ts TIMESTAMP, v BIGINT",
        "format = 'csv', timestamp_format = 'epoch_ms | dd.MM.yyyy HH:mm'",
    ),
    "split": Dialect(
        "k STRING, d STRING, t STRING, v BIGINT",
        """format = 'csv', time = "to_timestamp(d || ' ' || t)" """,
        "event_time",
    ),
    "parts": Dialect(
        "k STRING, v INT, mo INT, d INT, h INT, mi INT, s DOUBLE",
        """format = 'csv', time = "make_timestamp(v, mo, d, h, mi, s)" """,
        "event_time",
    ),
    "day_number": Dialect(
        "k STRING, d INT, t STRING, v BIGINT",
        """format = 'csv', time = "to_timestamp(d || ' ' || t, 'yyyyMMdd HH:mm:ss')" """,
        "event_time",
    ),
    "rounded": Dialect("k STRING, ts TIMESTAMP, v DECIMAL(8, 2)", "format = 'csv', round = 'true'"),
    "paths": Dialect(
        "k STRING PATH 'who.k', `x-time` TIMESTAMP, `a.b` BIGINT, v STRING PATH 'tags[0]'",
        "format = 'json', time = 'x-time'",
        "`x-time`",
    ),
    "array": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'json', array = 'true'"),
    "fixed": Dialect("k STRING, ts TIMESTAMP, v BIGINT", "format = 'fixed', widths = '30,20,3'"),
    "apache": Dialect("", "format = 'apache'", "ts", "path", "status"),
    "nginx": Dialect("", "format = 'nginx'", "ts", "path", "bytes"),
    "syslog": Dialect("", "format = 'syslog', year = '2026'", "ts", "app", "message"),
    "journal": Dialect("", "format = 'journald'", "ts", "identifier", "message"),
    "logfmt": Dialect("k STRING, ts TIMESTAMP, v STRING", "format = 'logfmt'"),
    "w3c": Dialect(
        "`cs-uri` STRING, `sc-status` INT, date STRING, time STRING",
        "format = 'w3c', time = \"to_timestamp(date || ' ' || time)\"",
        "event_time",
        "`cs-uri`",
        "`sc-status`",
    ),
}
"""By name: the columns, and what stands in WITH beside ``path`` and ``time``."""


def statements(dialects: dict[str, list[str]]) -> str:
    """For each dialect the sites that have files in it: sources, and streams of their records."""
    return "\n".join(_statements(name, sites) for name, sites in dialects.items())


def _statements(name: str, sites: list[str]) -> str:
    columns, options, time, key, value = DIALECTS[name]
    listed = f"({columns})" if columns else ""
    more = ", time = 'ts'" if time == "ts" and columns else ""
    return f"""
    CREATE SOURCE {name} {listed}
    WITH ({options}{more}, path = '{name}/*', future_tolerance = '1 minute');
    CREATE STREAM {name}_records
    WITH (sites = '{", ".join(sites)}', deadline = '1s', revise_every = '100ms')
    AS SELECT {key} AS k, unix_micros({time}) AS us, CAST({value} AS STRING) AS v, count(*) AS n
    FROM {name}
    GROUP BY window({time}, '{WINDOW_DAYS} days'), {key}, unix_micros({time}),
      CAST({value} AS STRING);
    """
