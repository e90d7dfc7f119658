"""What the agents of a run say of their own ends, on processes that are no agents."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos.federation import Agents
from chaos.places import SITE


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
