"""Whatever is inferred, Spark reads: no line is malformed, and every time is what it says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headwater.local.look.infer_check import hold_against_parser
from headwater.local.look.infer_files import infer_files

if TYPE_CHECKING:
    from headwater.spark.jvm.session import RunningSpark

pytestmark = pytest.mark.spark

NOON_US = int(datetime(2026, 5, 31, 12, tzinfo=UTC).timestamp()) * 1_000_000
T = "2026-05-31T12:00:00Z"
EPOCH = str(NOON_US // 1_000_000)
TIMES = {
    "iso": T,
    "iso_offset": "2026-05-31T14:00:00+02:00",
    "iso_plain_offset": "2026-05-31 14:00:00 +0200",
    "iso_short": "2026-05-31 12:00",
    "seconds": EPOCH,
    "seconds_fraction": f"{EPOCH}.000",
    "milliseconds": f"{EPOCH}000",
    "microseconds": f"{EPOCH}000000",
    "nanoseconds": f"{EPOCH}000000000",
    "log4j": "2026-05-31 12:00:00,000",
    "apache_time": "31/May/2026:14:00:00 +0200",
    "slashes": "2026/05/31 12:00:00",
    "german": "31.05.2026 12:00:00",
    "german_short": "31.05.2026 12:00",
    "american": "05/31/2026 12:00:00",
    "british": "31/05/2026 12:00",
    "single_digits": "5/31/2026 12:00",
    "half_days": "05/31/2026 12:00:00 PM",
    "compact": "20260531120000",
    "compact_zone": "20260531T120000Z",
    "month_name": "31 May 2026 12:00:00",
    "dashes": "31-May-2026 12:00:00.000",
}
ACCESS = '10.0.0.1 - - [31/May/2026:14:00:00 +0200] "GET /a?b=1 HTTP/1.1" 200 -'
OBJECT = {"@timestamp": T, "a.b": 1, "geo": {"city": "Oslo", "x-y": [1]}, "ok": True}
TRACE = "java.io.IOException: no (space)\n\tat a.B.c(B.java:1)\n\nCaused by: x\n\t... 3 more\n"
TEXTS = {
    **{f"time_{name}": f"ts;n\n{value};1\n{value};2\n" for name, value in TIMES.items()},
    "comma": f"ts,city,n\n{T},Oslo,1\n{T},Bern,2\n",
    "tab": f"ts\tcity\tn\n{T}\tOslo\t1\n{T}\tBern\t2\n",
    "pipe": f"ts|city|n\n{T}|Oslo|1\n{T}|Bern|2\n",
    "no_header": f"{T},Oslo,1\n{T},Bern,2\n",
    "quoted": f'"ts","city"\n"{T}","a, b"\n"{T}","say ""x"""\n',
    "nulls": f"ts,n\n{T},NULL\n{T},2\n",
    "odd_names": f"ts,user-agent,select,größe\n{T},x,1,2.5\n{T},y,2,3.5\n",
    "trailing": f"ts,n,\n{T},1,\n{T},2,\n",
    "split": "date,time,n\n2026-05-31,12:00:00,1\n2026-05-31,12:00:00,2\n",
    "in_parts": "Year,Month,Day,Time,n\n2026,5,31,1200,1\n2026,5,31,1200,2\n",
    "json": f"{json.dumps(OBJECT)}\n{json.dumps({'@timestamp': T})}\n",
    "json_deep_time": f'{{"meta":{{"ts":{EPOCH}000}},"n":1}}\n{{"meta":{{"ts":{EPOCH}000}}}}\n',
    "common_log": f"{ACCESS}\n{ACCESS}\n",
    "combined_log": f'{ACCESS} "-" "curl"\n{ACCESS} "http://x/" "a \\"b\\""\n',
    "syslog_5424": "<34>1 2026-05-31T12:00:00Z web su - ID47 - hi\n" * 2,
    "syslog_iso": "2026-05-31T14:00:00+02:00 web sshd[7]: hi\n" * 2,
    "kafka": "[2026-05-31 12:00:00,000] INFO Closed. (kafka.server.Log)\n" * 2,
    "kafka_traces": "[2026-05-31 12:00:00,000] ERROR No. (kafka.server.Log)\n"
    f"{TRACE}[2026-05-31 12:00:00,000] INFO Closed. (kafka.server.Log)\n",
    "hadoop_traces": f"2026-05-31 12:00:00,000 WARN [main] a.b.C: slow\n{TRACE}" * 2,
    "spark_traces": f"26/05/31 12:00:00 ERROR spark.Manager: acls: x\n{TRACE}" * 2,
    "syslog_traces": f"2026-05-31T14:00:00+02:00 web app[7]: hi\n{TRACE}" * 2,
    "level": "2026-05-31 12:00:00 ERROR it failed\n" * 2,
    "logfmt": f'ts={T} level=info msg="a b"\nts={T} level=warn\n',
    "w3c": "#Fields: date time c-ip sc-status\n" + "2026-05-31 12:00:00 10.0.0.1 200\n" * 2,
    "cloudfront": "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes\n"
    + "2026-05-31\t12:00:00\tFRA\t17\n" * 2,
    "spark": "26/05/31 12:00:00 INFO spark.Manager: acls: x\n" * 2,
    "hdfs": "260531 120000 148 INFO dfs.Node$Part: ended\n" * 2,
    "hadoop": "2026-05-31 12:00:00,000 INFO [main] a.b.C: slow\n" * 2,
    "zookeeper": "2026-05-31 12:00:00,000 - WARN  [Peer[id=1]/0:0:21] - x\n" * 2,
    "openstack": "api.log.1 2026-05-31 12:00:00.000 7 INFO a.b [req-1 x] GET\n" * 2,
    "apache_error": "[Sun May 31 12:00:00 2026] [error] [client 10.0.0.1] no\n" * 2,
    "apache_error_new": "[Sun May 31 12:00:00.000000 2026] [core:error] [pid 7:tid 8] x\n" * 2,
    "cbs": "2026-05-31 12:00:00, Info                  CBS    Loaded, a, b\n" * 2,
    "supercomputer": f"- {EPOCH} 2026.05.31 dn228 May 31 12:00:00 dn228 cron[7]: x\n" * 2,
    "steps": "20260531-12:0:0:606|Step|30002312|changed 3579\n" * 2,
    "counted_somewhere": f"134 node-2 hw {EPOCH} 1 Component x\n" * 2,
    "db2_somewhere": "134 node-2 2026-05-31-12.00.00.000000 1 Component x\n" * 2,
    "somewhere": f"eth0 up at {T} speed 100\neth1 down at {T}\n",
}


@pytest.mark.timeout(240)
def test_each_kind_of_file_is_read_as_it_was_inferred(
    running_spark: RunningSpark, tmp_path: Path
) -> None:
    wrong = {}
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        inferred = infer_files([tmp_path / name], name="some")
        if inferred.refused:
            wrong[name] = inferred.refused
            continue
        found = hold_against_parser(inferred, running_spark).found
        came = (found.lines, found.malformed, found.first_us, found.last_us)
        if came != (2, 0, NOON_US, NOON_US):
            wrong[name] = f"{came}: {[kind.text() for kind in found.why]}\n{inferred.statement}"
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())
