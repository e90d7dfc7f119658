"""What the agents of a run say of their own ends, on processes that are no agents."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos.federation import Agents
from chaos.places import SITE
from chaos.processes import java_children


class Stubs(Agents):
    """Each agent is a process that runs this code."""

    code = "import time; time.sleep(600)"

    def _spawn(self, name: str) -> subprocess.Popen[bytes]:
        with (self.directory / name / "agent.log").open("ab") as log:
            return subprocess.Popen([sys.executable, "-c", self.code], stdout=log, stderr=log)


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Stubs]:
    (tmp_path / SITE).mkdir()
    made = Stubs(tmp_path)
    yield made
    made.close()


def end_by_itself(agents: Stubs) -> None:
    agents.code = "print('the feeder stopped'); raise SystemExit(75)"
    agents.start(SITE)
    assert agents.await_end(SITE)


def test_an_agent_that_ends_by_itself_is_told_with_its_last_words(agents: Stubs) -> None:
    end_by_itself(agents)
    agents.start(SITE)
    assert agents.ended == [f"{SITE} ended by itself (exit 75): the feeder stopped"]


def test_an_end_that_nobody_followed_is_told_as_well(tmp_path: Path) -> None:
    (tmp_path / SITE).mkdir()
    agents = Stubs(tmp_path)
    end_by_itself(agents)
    agents.close()
    assert len(agents.ended) == 1


def test_an_agent_that_was_killed_did_not_end_by_itself(agents: Stubs) -> None:
    agents.start(SITE)
    agents.kill(SITE)
    agents.start(SITE)
    assert agents.ended == []


def test_who_may_end_may_do_so_once(agents: Stubs) -> None:
    agents.may_end.add(SITE)
    end_by_itself(agents)
    agents.start(SITE)
    assert agents.ended == []
    assert agents.await_end(SITE)
    agents.start(SITE)
    assert len(agents.ended) == 1


def is_alive(pid: int) -> bool:
    """One that has ended stays visible until its parent has asked for it."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def start_with_jvm(agents: Stubs, directory: Path) -> int:
    """An agent that has written nothing of its JVM yet: it is starting."""
    java = directory / "java"
    java.symlink_to(str(shutil.which("sleep")))
    agents.code = f"import subprocess; subprocess.run([{str(java)!r}, '600']); input()"
    agents.start(SITE)
    while not (jvms := java_children(agents.pid(SITE))):
        assert agents.is_running(SITE)
    return jvms[0]


def test_a_jvm_that_is_starting_is_killed_like_any_other(agents: Stubs, tmp_path: Path) -> None:
    jvm = start_with_jvm(agents, tmp_path)
    assert agents.kill_jvm(SITE) == [jvm]
    agents.await_end(SITE)
    assert agents.kill_jvm(SITE) == []


def test_an_agent_that_is_killed_with_its_jvm_leaves_none_that_is_starting(
    agents: Stubs, tmp_path: Path
) -> None:
    jvm = start_with_jvm(agents, tmp_path)
    agents.kill(SITE, with_jvm=True)
    while is_alive(jvm):
        assert not agents.is_running(SITE)
