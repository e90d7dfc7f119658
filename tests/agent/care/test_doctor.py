"""What a doctor finds at an agent's place, one thing wrong at a time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from headwater.agent.care import doctor
from headwater.agent.care.doctor import Finding, Health, examine, is_well
from headwater.cli import main
from headwater.errors import SparkFailed
from headwater.local import up
from headwater.net.identity.certs import create_authority, identity_in, issue, load_authority
from headwater.net.identity.identity import Role
from headwater.plan.roster import Roster

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def federation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A layout in which nothing is wrong, whatever this machine's clock is."""
    monkeypatch.setattr(doctor, "_clock_state", lambda: 0)
    up.lay_out(tmp_path / "fed", site_count=1, relays=1)
    return tmp_path / "fed"


def found(federation: Path, agent: str = "site1", **more: object) -> list[Finding]:
    return examine(federation / agent / "agent.toml", **more)  # type: ignore[arg-type]


def troubles(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.check, str(one.state)) for one in findings if one.state is not Health.GOOD]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("agent", ["site1", "relay1"])
def test_nothing_is_wrong_with_a_fresh_layout(federation: Path, agent: str) -> None:
    findings = found(federation, agent)
    assert troubles(findings) == []
    names = [
        "configuration",
        "process",
        "roster",
        "sources",
        "links",
        "ports",
        "modes",
        "certificates",
        "java",
        "spark",
        "clock",
        "disk",
    ]
    relays = [name for name in names if name not in ("java", "spark", "sources")]
    checked = list(dict.fromkeys(one.check for one in findings))
    assert checked == [*(names if agent == "site1" else relays), "files"]


def test_a_configuration_that_can_not_be_read_is_the_only_finding(federation: Path) -> None:
    change(federation / "site1" / "agent.toml", "[listen]", "[lissen]")
    (one,) = found(federation)
    assert (one.check, one.state) == ("configuration", Health.WRONG)
    assert "lissen" in one.found


def test_declared_sources_are_shown_with_their_levels(federation: Path) -> None:
    path = federation / "site1" / "agent.toml"
    before = path.read_text()
    (free,) = (one.found for one in found(federation) if one.check == "sources")
    assert free.startswith("for free use, no column of it is protected: /")
    change(
        path,
        "[listen]",
        """[[sources.declared]]
statement = "CREATE SOURCE hits (ts TIMESTAMP) WITH (format='csv', path='a.log', time='ts')"
levels = { ts = "aggregated" }

[listen]""",
    )
    said = [one.found for one in found(federation) if one.check == "sources"]
    assert said == ["hits: csv a.log (ts aggregated)", free]
    change(path, '"aggregated"', '"hidden"')
    (wrong,) = found(federation)
    assert "wanted a level of denied, aggregated, free, got 'hidden'" in wrong.found
    path.write_text(before)
    change(path, "[sources]", "[sources]\ndeclared_only = true")
    assert troubles(found(federation)) == [("sources", "doubtful")]


def test_budgets_of_links_are_shown_and_too_little_is_wrong(federation: Path) -> None:
    path = federation / "site1" / "agent.toml"
    (none,) = (one.found for one in found(federation) if one.check == "links")
    assert none == "all links together without a limit"
    change(path, "[listen]", '[links]\nbudget = "200 kbit/s"\n\n[listen]')
    (told,) = (one.found for one in found(federation) if one.check == "links")
    assert told == "all links together at most 200 kbit/s"
    change(path, "200 kbit/s", "1 kbit/s")
    (wrong,) = (one for one in found(federation) if one.check == "links")
    assert wrong.state == "wrong"
    assert "the least that works is" in wrong.found


def test_a_port_that_somebody_else_has_is_wrong(federation: Path) -> None:
    (port,) = (one.port for one in _roster(federation).sites if one.name == "site1")
    with socket.create_server(("127.0.0.1", port)):
        assert troubles(found(federation)) == [("ports", "wrong")]
        _run_as_agent(federation, os.getpid())
        assert troubles(found(federation)) == [], "the agent itself has it"


def test_an_agent_that_has_ended_is_told(federation: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    _run_as_agent(federation, ended.pid)
    findings = found(federation)
    assert troubles(findings) == [("process", "doubtful")]
    (told,) = (one for one in findings if one.check == "process")
    assert told.found == "the agent has run, and does not run now"
    assert "headwater agent --config" in told.to_do


def _roster(federation: Path) -> Roster:
    return up.laid_out_roster(federation).roster


def _run_as_agent(federation: Path, pid: int) -> None:
    (_make_state(federation) / "cube" / "agent.lock").write_text(f"{pid}\n")


def _make_state(federation: Path) -> Path:
    state = federation / "site1" / "state"
    (state / "cube").mkdir(parents=True, mode=0o700)
    state.chmod(0o700)
    return state


def test_a_port_that_others_do_not_dial_is_wrong(federation: Path) -> None:
    (port,) = (one.port for one in _roster(federation).sites if one.name == "site1")
    change(federation / "site1" / "agent.toml", f"port = {port}", "port = 1")
    assert ("ports", "wrong") in troubles(found(federation))


@pytest.mark.parametrize("path", ["", "cube", "spark.log"])
def test_a_state_that_others_can_read_is_wrong(federation: Path, path: str) -> None:
    _make_state(federation)
    state = federation / "site1" / "state"
    (state / "spark.log").write_text("lines")
    (state / "spark.log").chmod(0o600)
    assert troubles(found(federation)) == []
    (state / path).chmod(0o755)
    assert troubles(found(federation)) == [("modes", "wrong")]


def test_answers_that_were_opened_on_purpose_are_not_wrong(federation: Path) -> None:
    _make_state(federation)
    state = federation / "site1" / "state"
    (state / "results").mkdir(mode=0o755)
    state.chmod(0o711)
    assert troubles(found(federation)) == [("modes", "wrong")]
    change(
        federation / "site1" / "agent.toml",
        'directory = "state"',
        'directory = "state"\nresults_readers = "all"',
    )
    assert troubles(found(federation)) == []


def test_a_key_that_others_can_read_is_wrong(federation: Path) -> None:
    (federation / "certs" / "site1.key").chmod(0o644)
    assert troubles(found(federation)) == [("certificates", "wrong")]


def test_a_key_that_does_not_fit_is_wrong(federation: Path) -> None:
    change(federation / "site1" / "agent.toml", "site1.key", "relay1.key")
    (one,) = (one for one in found(federation) if one.state is Health.WRONG)
    assert "its key" in one.found


def test_a_certificate_of_another_ca_or_federation_is_wrong(
    federation: Path, tmp_path: Path
) -> None:
    other = create_authority(tmp_path / "other", "elsewhere")
    files = issue(other, Role.SITE, "site1")
    for source, name in ((files.cert, "site1.pem"), (files.key, "site1.key")):
        (federation / "certs" / name).write_bytes(source.read_bytes())
    texts = [one.found for one in found(federation) if one.state is Health.WRONG]
    assert any("federation elsewhere" in text for text in texts)
    assert any("is not signed by a CA" in text for text in texts)


def test_the_end_of_a_certificate_is_told_before_it_comes(federation: Path) -> None:
    for days, expected in ((360, [("certificates", "doubtful")]), (300, [])):
        later_s = time.time() + days * 86_400
        assert troubles(found(federation, now_s=lambda at=later_s: at)) == expected
    later_s = time.time() + 366 * 86_400
    assert troubles(found(federation, now_s=lambda: later_s)) == [("certificates", "wrong")]
    assert troubles(found(federation, now_s=lambda: 0.0)) == [
        ("roster", "doubtful"),
        ("certificates", "wrong"),
    ]


def test_who_signed_the_roster_is_said_and_that_the_certificate_ended_undoes_nothing(
    federation: Path,
) -> None:
    (one,) = (one for one in found(federation) if one.check == "roster")
    assert one.found.startswith("version 1, signed by headwater://fed/operator/operator on 20")
    assert "the certificate ends on" in one.found
    later_s = time.time() + 200 * 86_400
    (one,) = (one for one in found(federation, now_s=lambda: later_s) if one.check == "roster")
    assert one.state is Health.GOOD
    assert "the certificate ended on" in one.found


def test_a_roster_that_is_not_signed_or_by_somebody_denied_is_wrong(federation: Path) -> None:
    certs = federation / "certs"
    serial = identity_in(certs / "operator.pem").serial
    (certs / "denied").write_text(f"{serial:x}\n")
    assert troubles(found(federation)) == [("roster", "wrong")]
    (certs / "denied").write_text("")
    assert troubles(found(federation)) == []
    text = (federation / "roster.toml").read_text()
    (federation / "roster.signed").write_text(text)
    assert troubles(found(federation)) == [("roster", "wrong")]


def test_a_relays_certificate_at_a_site_with_data_is_wrong(federation: Path) -> None:
    issue(load_authority(federation / "certs"), Role.RELAY, "site1", force=True)
    assert troubles(found(federation)) == [("certificates", "wrong")]


def test_a_deny_list_that_is_not_there_is_doubtful(federation: Path) -> None:
    change(federation / "site1" / "agent.toml", "certs/denied", "certs/denid")
    (one,) = (one for one in found(federation) if one.state is Health.DOUBTFUL)
    assert "denid: nobody is denied" in one.found
    (federation / "certs" / "denied").write_text("not a number")
    assert troubles(found(federation, "relay1")) == [("certificates", "wrong")]


def test_no_java_is_wrong_where_one_is_needed(
    federation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise SparkFailed("Java: wanted version 17 or newer, found none")

    monkeypatch.setattr(doctor, "find_java", none)
    assert troubles(found(federation)) == [("java", "wrong")]
    assert troubles(found(federation, "relay1")) == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('settings = {"spark.authenticate" = "false"}', [("spark", "wrong")]),
        ('master = "spark://10.0.0.5:7077"\nshared = "shared"', [("spark", "wrong")]),
        ('master = "spark://127.0.0.1:7077"\nshared = "shared"', [("spark", "doubtful")]),
    ],
)
def test_ports_of_spark_that_ask_for_no_secret_are_found(
    federation: Path, lines: str, expected: list[tuple[str, str]]
) -> None:
    former = "" if "settings" in lines else 'master = "local[1]"\n'
    change(
        federation / "site1" / "agent.toml",
        f'mode = "local"\n{former}',
        f'mode = "local"\n{lines}\n',
    )
    assert troubles(found(federation)) == expected


def test_a_clock_that_nobody_keeps_is_doubtful(
    federation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for state in (doctor.TIME_ERROR, None):
        monkeypatch.setattr(doctor, "_clock_state", lambda state=state: state)
        assert troubles(found(federation)) == [("clock", "doubtful")]


def test_the_kernel_says_something_of_the_clock() -> None:
    assert doctor._clock_state() in (None, *range(6))


@pytest.mark.parametrize(("free", "expected"), [(1 << 20, "wrong"), (5 << 30, "doubtful")])
def test_a_disk_without_room_is_found(
    federation: Path, monkeypatch: pytest.MonkeyPatch, free: int, expected: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(0, 0, free))
    assert troubles(found(federation)) == [("disk", expected)]


def test_few_open_files_are_doubtful(federation: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda _: (256, 256))
    assert troubles(found(federation)) == [("files", "doubtful")]


def test_the_command_ends_with_one_when_something_is_wrong(
    federation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for code in (0, 1):
        with pytest.raises(SystemExit) as ended:
            main.main(["doctor", "-f", str(federation), "-o", "table"])
        assert ended.value.code == code
        assert "site1" in capsys.readouterr().out
        (federation / "certs" / "site1.key").chmod(0o644)
    assert not is_well(found(federation))


def test_a_table_has_the_end_of_a_long_finding(
    federation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = federation / "site1" / "agent.toml"
    config.write_text(f"rooster = 1\n{config.read_text()}")
    with pytest.raises(SystemExit):
        main.main(["doctor", "--config", str(config), "-o", "table"])
    out = capsys.readouterr().out
    assert "`rooster`" in out
    assert "metrics_port" in out, "the last of the keys that there are"
    assert "…" not in out


def test_audit_prints_what_was_written(
    federation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from headwater.agent.control.audit import AuditLog, Entry

    for number, name in enumerate(("site1", "relay1")):
        one = Entry(float(number), "headwater://fed/operator/ann", "1af", "", name, "{}", "done")
        AuditLog(federation / name / "state").add(one, is_change=True)
    with pytest.raises(SystemExit) as ended:
        main.main(["audit", "-f", str(federation), "-o", "csv"])
    assert ended.value.code == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head == "at,agent,who,serial,from,asked,what,outcome"
    assert [line.split(",")[1] for line in lines] == ["site1", "relay1"]
