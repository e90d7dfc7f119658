"""``headwater up`` to ``headwater down``: the commands as a person or a script runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pytest

from headwater.local.up import is_ready, running

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

COMMAND_S_MAX = 240.0
SQL = """
CREATE SOURCE hits (ts TIMESTAMP, page STRING) WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM pages WITH (deadline = '4s', disorder = '1s') AS
SELECT page, count(*) AS n FROM hits GROUP BY window(ts, '5 seconds'), page;
"""


class CommandLine:
    """``headwater …`` in a process of its own, with a home of its own."""

    def __init__(self, home: Path) -> None:
        self._environment = {**os.environ, "XDG_STATE_HOME": str(home)}

    def __call__(self, *arguments: object) -> list[dict[str, Any]]:
        """The JSON lines that it prints in a pipe."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=COMMAND_S_MAX)
            return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "headwater.cli", *map(str, arguments)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def headwater(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def federation(headwater: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One site with Spark and one relay, up while the tests of this module run."""
    directory = tmp_path_factory.mktemp("up") / "federation"
    try:
        agents = headwater("up", "--sites", 1, "--relays", 1, directory)
        assert [agent["site"] for agent in agents] == ["site1", "relay1"]
        yield directory
    finally:
        headwater.run("down", directory)


@pytest.fixture(scope="module")
def answers(headwater: CommandLine, federation: Path) -> list[dict[str, Any]]:
    """What ``watch`` shows up to the first answer with rows, of a stream whose log grows."""
    statements = federation / "pages.sql"
    statements.write_text(SQL)
    (installed,) = headwater("run", statements)
    assert (installed["stream"], installed["root"], installed["sites"]) == ("pages", "site1", 1)
    log = federation / "site1" / "data" / "hits.csv"
    with growing(log), headwater.start("watch", "pages") as watching:
        assert watching.stdout is not None
        shown = []
        for line in watching.stdout:
            shown.append(json.loads(line))
            if shown[-1]["rows"]:
                break
        watching.kill()
    return shown


@contextmanager
def growing(log: Path) -> Iterator[None]:
    """A record a moment, until the block ends."""
    stops = threading.Event()

    def write() -> None:
        while not stops.wait(0.2):
            with log.open("a") as file:
                file.write(f"{datetime.now(UTC).isoformat()},home\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stops.set()
        writer.join()


def test_watch_shows_answers_as_json_lines_while_they_come(
    headwater: CommandLine, answers: list[dict[str, Any]]
) -> None:
    assert all(answer["header"]["expected"] == 1 for answer in answers)
    assert [row["page"] for row in answers[-1]["rows"]] == ["home"]
    assert answers[-1]["rows"][0]["n"] >= 1
    assert len(headwater("watch", "pages", "--count", 1)) == 1


def test_streams_and_sites_and_why_describe_what_runs(
    headwater: CommandLine, federation: Path, answers: list[dict[str, Any]]
) -> None:
    (stream,) = headwater("streams")
    assert stream["stream"] == "pages"
    assert stream["answered"] >= 1
    sites = {site["site"]: site for site in headwater("sites", "--federation", federation)}
    assert (sites["site1"]["link"], sites["relay1"]["link"]) == ("here", "up")
    assert sites["relay1"]["parents"] == "site1"
    assert abs(sites["site1"]["clock_ms"]) < 1.0
    (why,) = headwater("why", "pages")
    assert why["stream"] == "pages"
    assert why["expected"] == 1


def test_a_file_that_runs_goes_on_and_a_changed_one_is_not_replaced_unasked(
    headwater: CommandLine, federation: Path, answers: list[dict[str, Any]]
) -> None:
    (before,) = headwater("streams")
    (again,) = headwater("run", federation / "pages.sql")
    assert (again["id"], again["change"]) == (before["id"], "unchanged")
    changed = federation / "changed.sql"
    changed.write_text(SQL.replace("AS n", "AS views"))
    done = headwater.run("run", changed)
    assert done.returncode == 2
    assert "+SELECT page, count(*) AS views" in done.stderr
    assert "headwater run --replace" in done.stderr
    assert headwater("streams")[0]["id"] == before["id"]


def test_any_agent_takes_questions_and_points_to_the_root(
    headwater: CommandLine, answers: list[dict[str, Any]]
) -> None:
    (why,) = headwater("why", "pages", answers[0]["header"]["window"], "--at", "relay1")
    assert why["window"] == answers[0]["header"]["window"]
    assert why["revision"] >= 1


def test_explain_shows_both_parts_and_installs_nothing(
    headwater: CommandLine, federation: Path
) -> None:
    statements = federation / "other.sql"
    statements.write_text(SQL.replace("pages", "others"))
    (plan,) = headwater("explain", statements)
    assert "others" in plan["plan"]
    assert "others" not in {stream["stream"] for stream in headwater("streams")}


def test_a_refusal_is_one_message_and_exit_code_2(headwater: CommandLine, federation: Path) -> None:
    done = headwater.run("why", "nothing", "--federation", federation)
    assert done.returncode == 2
    assert "no stream 'nothing'" in done.stderr
    assert done.stdout == ""


def test_a_second_agent_on_the_same_directory_is_refused(
    headwater: CommandLine, federation: Path
) -> None:
    done = headwater.run("agent", "--config", federation / "relay1" / "agent.toml")
    assert done.returncode == 2
    assert str(running(federation).pids["relay1"]) in done.stderr


def test_an_agent_whose_roster_was_changed_after_it_was_signed_does_not_start(
    headwater: CommandLine, federation: Path
) -> None:
    head, *sites = headwater("certs", "show", federation / "roster.signed")
    assert (head["signed by"], [site["site"] for site in sites]) == (
        "operator",
        ["site1", "relay1"],
    )
    signed = (federation / "roster.signed").read_text()
    (federation / "changed.signed").write_text(signed.replace("127.0.0.1", "127.0.0.2"))
    config = (federation / "relay1" / "agent.toml").read_text()
    changed = federation / "relay1" / "changed.toml"
    changed.write_text(config.replace("roster.signed", "changed.signed"))
    done = headwater.run("agent", "--config", changed)
    assert done.returncode == 2
    assert "it was changed after headwater://federation/operator/operator signed it" in done.stderr
    assert "headwater certs roster" in done.stderr


def test_a_second_up_of_the_same_directory_starts_nothing_and_says_so(
    headwater: CommandLine, federation: Path
) -> None:
    before = running(federation).pids
    done = headwater.run("up", federation)
    assert done.returncode == 0, done.stderr
    assert "agents run already" in done.stderr
    assert running(federation).pids == before


def test_an_agent_that_was_started_by_hand_is_found(
    headwater: CommandLine, federation: Path
) -> None:
    former = running(federation).pids["relay1"]
    os.kill(former, signal.SIGTERM)
    deadline_s = time.monotonic() + COMMAND_S_MAX
    while _runs(former) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    by_hand = headwater.start("agent", "--config", federation / "relay1" / "agent.toml")
    with by_hand:
        while "relay1" not in running(federation).pids and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert running(federation).pids["relay1"] == by_hand.pid
        done = headwater.run("up", federation)
        assert f"relay1 runs already (process {by_hand.pid}) and is left alone" in done.stderr
        by_hand.terminate()
    headwater("up", federation)


def test_whoever_watches_starts_an_agent_again_that_was_killed(
    headwater: CommandLine, federation: Path
) -> None:
    """The first has another parent, so nobody knows how it ended; the second is the watcher's."""
    others = {name: pid for name, pid in running(federation).pids.items() if name != "relay1"}
    with headwater.start("up", "--watch", federation) as watching:
        assert watching.stderr is not None
        said = list(_lines_to(watching.stderr, "watching 2 agents"))
        killed = []
        for _ in range(2):
            killed.append(running(federation).pids["relay1"])
            os.kill(killed[-1], signal.SIGKILL)
            said += _lines_to(watching.stderr, "relay1 is started")
            assert _comes_to(lambda: _is_ready(federation, "relay1")), said
        other = headwater.run("up", "--watch", federation)
        watching.send_signal(signal.SIGINT)
        said += watching.communicate(timeout=COMMAND_S_MAX)[1].splitlines()
    text = "\n".join(said)
    assert f"relay1 ended (process {killed[0]}); it is started again in 1 s" in text
    assert f"relay1 was ended by SIGKILL (process {killed[1]}); it is started again in 2 s" in text
    assert "no longer watching; 2 agents go on" in text
    assert (other.returncode, f"process {watching.pid} watches" in other.stderr) == (2, True)
    now = running(federation).pids
    assert now["relay1"] not in killed
    assert {name: now[name] for name in others} == others


def _lines_to(stream: IO[str], wanted: str) -> Iterator[str]:
    """What is said up to the line with these words."""
    for line in stream:
        yield line.rstrip()
        if wanted in line:
            return
    pytest.fail(f"it ended and did not say: {wanted}")


def _is_ready(federation: Path, name: str) -> bool:
    pid = running(federation).pids.get(name)
    return pid is not None and is_ready(federation, name, pid)


def _comes_to(is_so: Callable[[], bool]) -> bool:
    """Looked at again and again, with a bound."""
    deadline_s = time.monotonic() + COMMAND_S_MAX
    while not is_so():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.05)
    return True


def test_an_agent_outlives_its_jvm_and_says_how_it_died(
    headwater: CommandLine, federation: Path, answers: list[dict[str, Any]]
) -> None:
    agent = running(federation).pids["site1"]
    file = federation / "site1" / "state" / "jvm.json"
    before = json.loads(file.read_text())["pid"]
    with growing(federation / "site1" / "data" / "hits.csv"):
        os.kill(before, signal.SIGKILL)
        killed = datetime.now(UTC).isoformat()
        with headwater.start("watch", "pages", "--only-new") as watching:
            assert watching.stdout is not None
            for line in watching.stdout:
                answer = json.loads(line)
                if answer["header"]["start_us"] > _us(killed) and answer["rows"]:
                    break
            watching.kill()
    assert json.loads(file.read_text())["pid"] != before
    assert running(federation).pids["site1"] == agent
    log = (federation / "site1" / "agent.log").read_text()
    assert "the JVM was killed (SIGKILL)" in log
    assert list((federation / "site1" / "state").glob("spark_deaths.json"))


def _us(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1e6


def test_remove_ends_a_stream_everywhere_and_keeps_its_results(
    headwater: CommandLine, federation: Path, answers: list[dict[str, Any]]
) -> None:
    (removed,) = headwater("remove", "pages")
    assert removed["removed"].startswith("pages@site1#")
    deadline_s = time.monotonic() + COMMAND_S_MAX
    while headwater("streams", "--at", "relay1") and time.monotonic() < deadline_s:
        time.sleep(0.2)
    assert headwater("streams", "--at", "relay1") == []
    assert list((federation / "site1" / "state" / "results" / "pages").glob("headers-*"))


def test_sigterm_ends_an_agent_in_order_and_its_jvm_with_it(federation: Path) -> None:
    """The last one: it leaves nothing for the others."""
    pid = running(federation).pids["site1"]
    jvm = json.loads((federation / "site1" / "state" / "jvm.json").read_text())["pid"]
    assert _runs(pid)
    assert _runs(jvm)
    os.kill(pid, signal.SIGTERM)
    deadline_s = time.monotonic() + COMMAND_S_MAX
    while _runs(pid) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert not _runs(pid)
    assert not _runs(jvm)
    assert not (federation / "site1" / "state" / "jvm.json").exists()
    log = (federation / "site1" / "agent.log").read_text()
    assert '"event":"stopping"' in log
    assert "Traceback" not in log
    assert "site1" not in running(federation).pids


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"
