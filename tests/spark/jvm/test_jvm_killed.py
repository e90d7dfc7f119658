"""JVMs die and are replaced under a running host and root; the same process goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, signal, sys, threading
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
from spark_kit import ListInbox, per_domain, until
from headwater.algebra.rows.types import summary_schema
from headwater.errors import HeadwaterError
from headwater.spark.jvm import keeper as k
from headwater.spark.jvm.jvm_end import Cause
from headwater.spark.root.root_part import RootSpark
from headwater.spark.jvm.session import SparkConfig, start_session
from headwater.spark.site.site_host import SiteHost
from headwater.spark.jvm.vitals import read_vitals

scratch = Path(sys.argv[1])
query = per_domain()
inbox = ListInbox(scratch / "x", query.program.source)
inbox.installed.add(str(query.id))
config = SparkConfig(
    master="local[1]", directory=str(scratch), log=str(scratch / "jvm.log"), is_brief=True
)
jvms, events, seen = [], [], {"full": False}

def start():
    jvms.append(start_session(config))
    return jvms[-1]

def vitals(running):
    found = read_vitals(running)
    if seen["full"] and running is jvms[2]:
        return msgspec.structs.replace(found, code_bytes=found.code_limit)
    return found

keeper = k.SparkKeeper(
    start, told=events.append, vitals=vitals,
    limits=k.KeeperLimits(vitals_every_s=0.2, steady_s=0.0),
)
keeper.open()
host = SiteHost(keeper, scratch / "host")
root = RootSpark(keeper)
host.install(query)
host.serve("x", inbox)

def give(second, domain="a"):
    inbox.put(f"2026-05-01T12:00:{second:02d}Z,{domain},1,1")
    host.notice("hits")

def flood():
    # Enough that what comes next finds a batch at work.
    inbox.put(*[f"2026-05-01T12:00:{n % 10:02d}Z,b,1,1" for n in range(20_000)])
    host.notice("hits")

def answer():
    schema = summary_schema(query.program)
    columns = zip(schema, (["a"], [1], [Decimal(5)]))
    rows = pa.table([pa.array(values, field.type) for field, values in columns], schema=schema)
    return root.finish(query, {3: rows})[3].to_pylist()

def deaths():
    return [event for event in events if isinstance(event, k.JvmDied)]

give(1)
inbox.wait_for_all()
assert answer() == [{"domain": "a", "n": 1, "b": 5}]

threads = threading.active_count()
flood()
until(lambda: keeper._works)
os.kill(jvms[0].jvm.pid, signal.SIGKILL)
until(deaths)
assert deaths()[0].end.cause is Cause.KILLED, deaths()
assert deaths()[0].at_work == (k.Work("batch", (str(query.id),)),), deaths()
give(2)
inbox.wait_for_all()
assert answer() == [{"domain": "a", "n": 1, "b": 5}]

try:
    jvms[1].session._jvm.java.nio.ByteBuffer.allocate(2**31 - 1)
except Exception:
    pass
until(lambda: len(deaths()) == 2)
assert deaths()[1].end.cause is Cause.HEAP, deaths()
assert "512m" in deaths()[1].text, deaths()
give(3)
inbox.wait_for_all()

flood()
seen["full"] = True
until(lambda: len(jvms) == 4)
give(4)
inbox.wait_for_all()
assert answer() == [{"domain": "a", "n": 1, "b": 5}]
assert keeper.status().replacements == 1
assert len(deaths()) == 2
assert threading.active_count() <= threads + 2, [t.name for t in threading.enumerate()]

host.stop()
keeper.close()
totals = inbox.counts(query)
assert totals == {(177763680, "a"): 4, (177763680, "b"): 40_000}, totals
assert not any(result.failed for result in inbox.results), "a death is no query's failure"
print("every record once, in epochs", sorted({epoch for epoch, _ in inbox.batches}))
"""


@pytest.mark.spark
@pytest.mark.processes
def test_a_jvm_that_is_killed_runs_out_of_heap_or_is_full_costs_an_epoch_and_no_record(
    tmp_path: Path,
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert "every record once" in run.stdout
