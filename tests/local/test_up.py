"""The layout of a local federation, and which of its agents ``up`` starts; no real ones."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headwater.agent.config import AgentConfig
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.local import up
from headwater.local.site_labels import read_labels
from headwater.plan.node_sets import node_set


def test_a_layout_has_all_that_its_agents_need(tmp_path: Path):
    roster = up.lay_out(tmp_path / "fed", site_count=2, relays=1)
    assert [site.name for site in roster.sites] == ["site1", "site2", "relay1"]
    assert [site.has_data for site in roster.sites] == [True, True, False]
    signed = up.laid_out_roster(tmp_path / "fed")
    assert (signed.federation, signed.roster, signed.by.name) == ("fed", roster, up.OPERATOR)
    for site in roster.sites:
        config = AgentConfig.load(tmp_path / "fed" / site.name / "agent.toml")
        assert config.listen.port == site.port
        assert config.spark.mode == ("local" if site.has_data else "none")
        assert Path(config.roster).resolve() == tmp_path / "fed" / "roster.signed"
        for file in (config.tls.ca, config.tls.certificate, config.tls.key):
            assert Path(file).is_file()


def test_an_existing_layout_is_kept_as_it_is(tmp_path: Path):
    first = up.lay_out(tmp_path / "fed", site_count=1)
    assert up.lay_out(tmp_path / "fed", site_count=7) == first


def test_what_an_existing_layout_has_not_is_said(tmp_path: Path):
    roster = up.lay_out(tmp_path / "fed", site_count=2, relays=1)
    assert up.not_laid_out(roster, site_count=None, relays=None) == ""
    assert up.not_laid_out(roster, site_count=2, relays=1) == ""
    told = up.not_laid_out(roster, site_count=5, relays=None)
    assert told.startswith("this federation was laid out with sites: 2, relays: 1, and stays so: ")
    assert "--sites 5 is for a new one" in told
    assert "--sites 1 --relays 0 is" in up.not_laid_out(roster, site_count=1, relays=0)


def test_a_layout_says_what_is_said_of_its_sites(tmp_path: Path):
    labels = read_labels(["*:owner=web", "site1:tier=edge", "site2:region=eu", "site2:owner=ops"])
    up.lay_out(tmp_path / "fed", site_count=2, relays=1, labels=labels)
    roster = up.laid_out_roster(tmp_path / "fed").roster
    assert [site.labels for site in roster.sites] == [
        {"owner": "web", "tier": "edge"},
        {"owner": "ops"},
        {"owner": "web"},
    ]
    assert [site.region for site in roster.sites] == ["", "eu", ""]
    asked = node_set("region = eu and owner = ops")
    assert [site.name for site in roster.sites if asked.has(site)] == ["site2"]
    assert up.not_laid_out(roster, site_count=2, relays=1, labels=labels) == ""
    later = read_labels(["site1:tier=core"])
    told = up.not_laid_out(roster, site_count=None, relays=None, labels=later)
    assert "--label site1:tier=core is for a new one" in told


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (["tier=edge"], r"--label: wanted SITE:NAME=VALUE, as in site1:tier=edge.*got 'tier=edge'"),
        (["site1:tier"], "got 'site1:tier'"),
        (["site9:tier=edge"], r"no site 'site9'; sites: site1, relay1, or \* for all"),
        (["site1:tier=edge", "site1:tier=core"], "site1:tier is said twice, as 'edge' and 'core'"),
        (["site1:Tier=edge"], "labels: wanted names of small letters.*got {'Tier': 'edge'}"),
    ],
)
def test_a_label_that_is_none_is_refused_before_anything_is_made(
    tmp_path: Path, written: list[str], message: str
):
    with pytest.raises(ConfigurationError, match=message):
        up.lay_out(tmp_path / "fed", site_count=1, relays=1, labels=read_labels(written))
    assert not (tmp_path / "fed").exists()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "fed").write_text("a file")
    with pytest.raises(ConfigurationError, match="fed: wanted a directory, which can't be made"):
        up.lay_out(tmp_path / "fed", site_count=1)


def test_a_layout_whose_roster_nobody_signed_is_signed(tmp_path: Path):
    """As a version before left it."""
    first = up.lay_out(tmp_path / "fed", site_count=1)
    (tmp_path / "fed" / up.ROSTER).unlink()
    assert up.lay_out(tmp_path / "fed", site_count=1) == first
    assert up.laid_out_roster(tmp_path / "fed").by.name == up.OPERATOR


def test_a_roster_outlives_the_certificate_that_signed_it(tmp_path: Path):
    up.lay_out(tmp_path / "fed", site_count=1)
    certs = tmp_path / "fed" / "certs"
    for file in (certs / "operator.pem", certs / "operator.key"):
        file.unlink()
    assert up.lay_out(tmp_path / "fed", site_count=1).home == "site1"


def test_no_sites_are_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="at least one site"):
        up.lay_out(tmp_path / "fed", site_count=0)


def test_nothing_runs_where_nothing_was_started(tmp_path: Path):
    assert up.running(tmp_path).pids == {}


class StandIns:
    """Processes that sleep in place of agents, each ready at once."""

    def __init__(self) -> None:
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self._all: list[subprocess.Popen[bytes]] = []

    def spawn(self, directory: Path, name: str) -> subprocess.Popen[bytes]:
        sleeper = [sys.executable, "-c", "import time; time.sleep(600)", "headwater stand-in"]
        process = self.started[name] = subprocess.Popen(sleeper)
        self._all.append(process)
        (directory / name / "state").mkdir(exist_ok=True)
        (directory / name / "state" / "ready").write_text(f"{process.pid}\n")
        return process

    def end(self, name: str) -> None:
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def end_all(self) -> None:
        """Also those that were started twice."""
        for process in self._all:
            process.kill()
            process.wait()


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIns]:
    made = StandIns()
    monkeypatch.setattr(up, "spawn_agent", made.spawn)
    yield made
    made.end_all()


def test_up_brings_back_the_agent_that_died_and_leaves_the_others_alone(
    tmp_path: Path, agents: StandIns
) -> None:
    up.lay_out(tmp_path / "fed", site_count=2, relays=1)
    first = dict(up.start(tmp_path / "fed", say=lambda _: None).pids)
    agents.end("site2")
    said: list[str] = []
    second = up.start(tmp_path / "fed", say=said.append).pids
    assert second == first | {"site2": agents.started["site2"].pid}
    assert up.running(tmp_path / "fed").pids == second, "what down will stop"
    assert f"site1 runs already (process {first['site1']}) and is left alone" in said
    assert f"site2 is ready (process {second['site2']})" in said
    assert any(line.startswith("1 agent, 1 with a Spark of their own") for line in said)
    assert f"site1 is ready (process {first['site1']})" not in said, "it was not started"


def test_up_where_all_agents_run_starts_nothing_and_says_so(
    tmp_path: Path, agents: StandIns
) -> None:
    up.lay_out(tmp_path / "fed", site_count=2)
    first = dict(up.start(tmp_path / "fed", say=lambda _: None).pids)
    said: list[str] = []
    assert up.start(tmp_path / "fed", say=said.append).pids == first
    assert said[-1].startswith("all 2 agents run already; stop them with: headwater down")


def test_an_agent_that_was_started_is_stopped_by_down_even_if_the_next_could_not_be(
    tmp_path: Path, agents: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spawn(directory: Path, name: str) -> subprocess.Popen[bytes]:
        if name == "site2":
            raise OSError("no more processes")
        return agents.spawn(directory, name)

    monkeypatch.setattr(up, "spawn_agent", spawn)
    up.lay_out(tmp_path / "fed", site_count=2)
    with pytest.raises(OSError, match="no more processes"):
        up.start(tmp_path / "fed", say=lambda _: None)
    assert up.running(tmp_path / "fed").pids == {"site1": agents.started["site1"].pid}


STARTER = """
import sys, time
from pathlib import Path
from headwater.local import up
with up.starting(Path(sys.argv[1])):
    up.lay_out(Path(sys.argv[1]), site_count=1)
    print("laid out", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that is in the middle of ``up``."""
    command = [sys.executable, "-c", STARTER, str(tmp_path / "fed")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "laid out\n"
        yield process
        process.kill()


def test_of_two_who_start_at_once_the_second_is_told_of_the_first(
    tmp_path: Path, starter: subprocess.Popen[str]
) -> None:
    """Two that lay it out would mix the certificates of two CAs."""
    words = f"process {starter.pid} starts its agents already"
    with pytest.raises(HeadwaterError, match=words), up.starting(tmp_path / "fed"):
        pass
    starter.kill()
    starter.wait()
    with up.starting(tmp_path / "fed"):
        assert up.lay_out(tmp_path / "fed", site_count=7).home == "site1"


def test_down_ends_whoever_is_starting_agents_before_it_stops_them(
    tmp_path: Path, starter: subprocess.Popen[str]
) -> None:
    said: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(starter.wait)  # its parent must look, or it stays as a zombie
        up.stop(tmp_path / "fed", say=said.append)
        assert ended.result() == -signal.SIGTERM
    assert said[0] == f"ended the process that was starting them ({starter.pid})"


def test_a_roster_that_was_changed_and_not_signed_is_told_and_not_taken(
    tmp_path: Path, agents: StandIns
) -> None:
    directory = tmp_path / "fed"
    up.lay_out(directory, site_count=1)
    said: list[str] = []
    up.start(directory, say=said.append)
    assert not any("certs roster" in line for line in said)
    text = directory / up.ROSTER_TEXT
    text.write_text(text.read_text().replace("version = 1", "version = 2"))
    up.start(directory, say=said.append)
    assert any(
        f"headwater certs roster {text} --operator {directory / 'certs'}" in line for line in said
    )
    text.write_text("version = ")
    up.start(directory, say=said.append)
    assert any("agents read roster.signed, as it was signed" in line for line in said)
    assert up.laid_out_roster(directory).roster.version == 1
