"""The JVM dies by SIGKILL under a running host; the same process goes on with a new one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os, signal, sys
from pathlib import Path
from spark_kit import ListInbox, per_domain, until
from headwater.spark.session import SparkConfig, start_session
from headwater.spark.site_host import SiteHost

scratch = Path(sys.argv[1])
query = per_domain()
inbox = ListInbox(scratch / "x", query.source)
inbox.installed.add(str(query.id))
config = SparkConfig(
    master="local[1]", directory=str(scratch), log=str(scratch / "jvm.log"), is_brief=True
)

def live(second, is_killed):
    running = start_session(config)
    host = SiteHost(running.session, scratch / "host")
    host.install(query)
    host.serve("x", inbox)
    inbox.put(f"2026-05-01T12:00:{second:02d}Z,a,1,1")
    host.notice("hits")
    inbox.wait_for_all()
    if is_killed:
        # More input, so that the end may come in the middle of a batch.
        inbox.put(*[f"2026-05-01T12:00:{n % 10:02d}Z,b,1,1" for n in range(20_000)])
        host.notice("hits")
        os.kill(running.jvm.pid, signal.SIGKILL)
        until(lambda: not running.is_alive())
    host.stop()
    running.stop()

live(1, True)
live(2, False)
totals = inbox.counts(query)
assert totals == {(177763680, "a"): 2, (177763680, "b"): 20_000}, totals
print("every record once, in epochs", sorted({epoch for epoch, _ in inbox.batches}))
"""


@pytest.mark.spark
@pytest.mark.processes
def test_a_killed_jvm_costs_an_epoch_and_no_record(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-3000:]
    assert "every record once" in run.stdout
