"""Operators' commands against an agent's control channel, over real TLS on loopback."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.agent.control import control_api as api
from headwater.cli import main
from headwater.errors import QueryRefused
from headwater.net.control.control import Caller
from headwater.net.identity.certs import CertFiles, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.roster_text import roster_toml
from headwater.net.identity.signed_roster import issue_roster
from headwater.net.identity.tls import Credentials
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.plan.roster import Roster, Site

WAIT_S = 30.0
HEADER = {
    "start_us": 1_767_268_800_000_000,
    "end_us": 1_767_268_810_000_000,
    "query": "near@fra#1",
    "window": 0,
    "roster_version": 1,
    "revision": 2,
    "covered": 1,
    "expected": 2,
    "exact": False,
    "final": False,
    "missing": [["lhr", "unknown", "", [[0, 0]]]],
}


def write_signed(directory: Path, roster: Roster, operator: CertFiles) -> None:
    text = directory / "roster.toml"
    text.write_text(roster_toml("acme", roster))
    issue_roster(text, directory / "roster.signed", operator, at_s=time.time())


class Nobody:
    """These agents have no neighbours."""

    def link_up(self, site: str) -> None: ...
    def link_down(self, site: str, unsent: Any) -> None: ...
    def message(self, sender: str, message: Any) -> None: ...


class Agents:
    """Two agents' networks on a thread of their own; ``fra`` is home, ``lhr`` answers ``far``."""

    def __init__(self, directory: Path) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.watched = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        authority = create_authority(directory / "certs", "acme")
        alice = issue(authority, Role.OPERATOR, "alice")
        sites = tuple(Site(n, name, host="127.0.0.1") for n, name in enumerate(("fra", "lhr")))
        roster = Roster(1, sites, home="fra")
        self._networks = []
        for site in sites:
            files = issue(authority, Role.SITE, site.name)
            self._networks.append(self._start(site.name, roster, files))
        ports = [network.port for network in self._networks]
        self.sites = tuple(
            msgspec.structs.replace(site, port=port)
            for site, port in zip(sites, ports, strict=True)
        )
        placed = Roster(1, self.sites, home="fra")
        write_signed(directory, placed, alice)

    def close(self) -> None:
        for network in self._networks:
            self._run(network.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()

    def _start(self, name: str, roster: Roster, files: CertFiles) -> TlsNetwork:
        async def start() -> TlsNetwork:
            network = TlsNetwork(
                site=name,
                roster=roster,
                roster_digest=b"",
                credentials=Credentials(files),
                codec=Codec({}.get),
                listen=("127.0.0.1", 0),
                control=self._handler(name),
            )
            await network.start(Nobody())
            return network

        return self._run(start())

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)

    def _handler(self, site: str) -> Callable[[str, dict[str, Any]], Any]:
        async def handle(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            self.asked.append((site, {"name": name, **payload}))
            if payload.get("stream") == "far" and site == "fra":
                lhr = self.sites[1]
                there = msgspec.to_builtins(api.Elsewhere(lhr.name, lhr.host, lhr.port))
                return self._events([there]) if name == api.WATCH else there
            return self._answer(site, name)

        return handle

    def _answer(self, site: str, name: str) -> Any:
        if name in (api.PREPARE, api.COMPARE):
            raise QueryRefused("line 1: no such column 'colour'; columns: ts, domain")
        if name == api.WATCH:
            event = api.AnswerEvent(HEADER, ({"domain": "a.example", "requests": 7},))
            waits = msgspec.to_builtins(api.WaitEvent("waiting for the window 12:00:10"))
            return self._events([waits, *[msgspec.to_builtins(event)] * 2])
        if name == api.STREAMS:
            line = api.StreamLine("requests", "requests@fra#1", "fra", "10 s", answered=3)
            past = api.FormerLine(
                "requests", "requests@fra#0", "2026-05-04T12:00:00Z", 41, "…", "…", "/fra/results"
            )
            return msgspec.to_builtins(api.StreamsReply((line,), site, (past,), ("lhr",)))
        if name == api.SITES:
            return msgspec.to_builtins(api.SitesReply(site, ()))
        if name == api.ALARMS:
            line = api.AlarmLine(
                "2026-05-04T12:00:00Z",
                "2026-05-04T11:00:00Z",
                3,
                "never cut",
                "requests",
                "nyc",
                "7",
                "never cut \x1b[2J",
                ("hub",),
                "requests@fra#1",
            )
            found = (line,) if site == "fra" else ()
            return msgspec.to_builtins(api.AlarmsReply(site, found, ("lhr",)))
        assert name == api.WHY
        return msgspec.to_builtins(api.WhyReply(f"{site}: lhr is unknown", {"missing": ["lhr"]}))

    async def _events(self, events: list[Any]) -> AsyncIterator[Any]:
        for event in events:
            yield event


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Agents]]:
    directory = tmp_path_factory.mktemp("federation")
    agents = Agents(directory)
    yield directory, agents
    agents.close()


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def headwater(federation: tuple[Path, Agents], capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main.main([*arguments, "--federation", str(federation[0])])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_streams_are_listed_as_json_in_a_pipe_and_as_a_table_on_request(headwater: Command) -> None:
    code, out, err = headwater("streams")
    assert (code, err) == (0, "")
    assert json.loads(out)["stream"] == "requests"
    assert json.loads(out)["answered"] == 3
    assert "│ requests@fra#1 │" in headwater("streams", "-o", "table")[1]


def test_former_streams_are_listed_with_where_their_answers_lie(headwater: Command) -> None:
    code, out, err = headwater("streams", "--former")
    assert (code, json.loads(out)["id"], json.loads(out)["windows"]) == (0, "requests@fra#0", 41)
    assert "other streams are answered at lhr" in err
    table = headwater("streams", "--former", "-o", "table")[1]
    assert "Ended, with answers at fra" in table
    assert "/fra/results" in table


def test_the_home_is_asked_unless_another_site_is_named(
    headwater: Command, federation: tuple[Path, Agents]
) -> None:
    headwater("sites")
    assert federation[1].asked[-1][0] == "fra"
    headwater("sites", "--at", "lhr")
    assert federation[1].asked[-1][0] == "lhr"
    code, _, err = headwater("sites", "--at", "nrt")
    assert code == main.EXIT_REFUSED
    assert "no site 'nrt'" in err


def test_an_agent_that_does_not_answer_the_stream_sends_us_on(headwater: Command) -> None:
    assert json.loads(headwater("why", "near")[1]) == {"missing": ["lhr"]}
    assert headwater("why", "far", "-o", "table")[1] == "lhr: lhr is unknown\n"
    assert headwater("watch", "far")[1].count("\n") == 2


def test_alarms_are_listed_with_where_else_to_ask(headwater: Command) -> None:
    code, out, err = headwater("alarms")
    found = json.loads(out)
    assert (code, found["kind"], found["count"], found["carriers"]) == (0, "never cut", 3, ["hub"])
    assert "other streams are answered at lhr: ask there with --at" in err
    table = headwater("alarms", "-o", "table")[1]
    assert "As kept at fra" in table
    assert "\x1b" not in table


def test_where_there_is_no_alarm_one_sentence_says_so(headwater: Command) -> None:
    code, out, _ = headwater("alarms", "--site", "lhr", "-o", "table")
    assert (code, out) == (0, "no alarms at lhr\n")
    assert headwater("alarms", "--at", "lhr", "-o", "json")[:2] == (0, "")


def test_answers_are_watched_with_their_headers(headwater: Command) -> None:
    _, out, err = headwater("watch", "near", "--count", "1")
    assert err == "waiting for the window 12:00:10\n"
    (answer,) = [json.loads(line) for line in out.splitlines()]
    assert answer["header"]["revision"] == 2
    assert answer["rows"] == [{"domain": "a.example", "requests": 7}]
    text = headwater("watch", "near", "-o", "table")[1]
    assert "revision 2, 1 of 2 sites, without lhr (unknown)" in text
    assert "a.example" in text


def test_changes_are_json_and_name_what_they_change(headwater: Command) -> None:
    _, out, _ = headwater("watch", "near", "--count", "1", "--changes", "-o", "json")
    change = json.loads(out)
    assert (change["revises"], change["rows"]) == (None, [{"domain": "a.example", "requests": 7}])
    code, _, err = headwater("watch", "near", "--changes", "-o", "table")
    assert (code, "--changes are JSON, got -o table; say -o json" in err) == (
        main.EXIT_REFUSED,
        True,
    )


def test_why_takes_a_window_or_the_last_one(
    headwater: Command, federation: tuple[Path, Agents]
) -> None:
    for arguments, window in (([], "newest"), (["09:10"], "09:10"), (["--last"], "last")):
        headwater("why", "near", *arguments)
        assert federation[1].asked[-1][1]["window"] == window
    code, _, err = headwater("why", "near", "09:10", "--last")
    assert (code, "wanted a window (09:10) or --last, got both" in err) == (main.EXIT_REFUSED, True)


def test_what_the_agent_refuses_is_said_with_exit_code_2(
    headwater: Command, tmp_path: Path
) -> None:
    file = tmp_path / "query.sql"
    file.write_text("CREATE STREAM x AS SELECT colour FROM y")
    code, out, err = headwater("run", str(file))
    assert (code, out) == (main.EXIT_REFUSED, "")
    assert err == "headwater: line 1: no such column 'colour'; columns: ts, domain\n"


def test_a_file_that_is_not_there_is_named(headwater: Command, tmp_path: Path) -> None:
    code, _, err = headwater("run", str(tmp_path / "none.sql"))
    assert code == main.EXIT_REFUSED
    assert "none.sql: can't be read: No such file" in err


def test_an_agent_that_is_down_is_said_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    authority = create_authority(tmp_path / "certs", "acme")
    alice = issue(authority, Role.OPERATOR, "alice")
    site = Site(0, "fra", host="127.0.0.1", port=1)
    write_signed(tmp_path, Roster(1, (site,), home="fra"), alice)
    with pytest.raises(SystemExit) as ended:
        main.main(["streams", "-f", str(tmp_path)])
    assert ended.value.code == main.EXIT_REFUSED
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_without_an_operators_certificate_the_message_says_how_to_get_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    authority = create_authority(tmp_path / "certs", "acme")
    issue(authority, Role.SITE, "fra")
    site = Site(0, "fra", host="127.0.0.1", port=1)
    alice = issue(authority, Role.OPERATOR, "alice", into=tmp_path / "alice")
    write_signed(tmp_path, Roster(1, (site,), home="fra"), alice)
    with pytest.raises(SystemExit):
        main.main(["streams", "-f", str(tmp_path)])
    assert "headwater certs operator" in capsys.readouterr().err


def test_a_roster_that_nobody_signed_leads_a_command_nowhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    authority = create_authority(tmp_path / "certs", "acme")
    issue(authority, Role.OPERATOR, "alice")
    site = Site(0, "fra", host="127.0.0.1", port=1)
    text = tmp_path / "roster.toml"
    text.write_text(roster_toml("acme", Roster(1, (site,), home="fra")))
    ask = ["streams", "-f", str(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        main.main(ask)
    assert ended.value.code == main.EXIT_REFUSED
    assert f"headwater certs roster {text} --operator DIR" in capsys.readouterr().err
    text.rename(tmp_path / "roster.signed")
    with pytest.raises(SystemExit) as ended:
        main.main(ask)
    assert ended.value.code == main.EXIT_REFUSED
    assert "the roster is not signed" in capsys.readouterr().err
