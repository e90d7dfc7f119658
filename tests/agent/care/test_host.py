"""An agent takes of its machine what it was told to, and so does whatever it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.agent.care.host import HostConfig
from headwater.agent.config import AgentConfig
from headwater.errors import ConfigurationError

SEEN = "import os; print(os.getpriority(os.PRIO_PROCESS, 0), len(os.sched_getaffinity(0)))"
SETTLE = f"""
import subprocess, sys
from headwater.agent.care.host import HostConfig
HostConfig(nice=int(sys.argv[1]), cores=int(sys.argv[2])).settle_in()
subprocess.run([sys.executable, "-c", {SEEN!r}], check=True)
"""
CORES = len(os.sched_getaffinity(0))
AUTOGROUP = Path("/proc/self/autogroup")


def child_of(*, nice: int, cores: int) -> tuple[int, int]:
    """(niceness, cores) of what a process starts that has settled in so."""
    command = [sys.executable, "-c", SETTLE, str(nice), str(cores)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(said[0]), int(said[1])


def test_what_an_agent_starts_is_as_nice_and_has_as_many_cores() -> None:
    nice = max(7, os.getpriority(os.PRIO_PROCESS, 0))
    assert child_of(nice=nice, cores=1) == (nice, 1)


def test_nothing_is_changed_where_nothing_is_asked() -> None:
    assert child_of(nice=0, cores=0) == (os.getpriority(os.PRIO_PROCESS, 0), CORES)


def test_it_never_becomes_less_nice() -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert child_of(nice=own + 3 if own < 16 else own, cores=0)[0] >= own


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel groups no sessions")
def test_a_session_of_its_own_is_as_nice_as_who_started_it() -> None:
    script = """
import os, subprocess, sys
from pathlib import Path
from headwater.spark.niceness import be_nice, hand_on_niceness
be_nice(9)
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
                         start_new_session=True)
hand_on_niceness(child.pid)
print(Path(f"/proc/{child.pid}/autogroup").read_text().split()[-1])
child.communicate(b"\\n")
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "9"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"nice": 20}, "host.nice: wanted 0 to 19, got 20"),
        ({"nice": -1}, "host.nice: wanted 0 to 19, got -1"),
        ({"cores": -1}, "host.cores: wanted 0 or more, got -1"),
    ],
)
def test_what_can_not_be_is_refused(fields: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HostConfig(**fields)


def test_more_cores_than_there_are_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=f"wanted at most {CORES}, which .* got 4000"):
        HostConfig(cores=4000).settle_in()


def test_a_configuration_has_it_in_a_table_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('site = "fra"\n[host]\nnice = 5\ncores = 2\n')
    assert AgentConfig.load(path).host == HostConfig(nice=5, cores=2)
