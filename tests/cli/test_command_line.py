"""The command itself: quick, clear about errors, a table for people and JSON for programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.cli import main
from headwater.errors import ConfigurationError
from headwater.local import up
from headwater.net.identity import certs
from headwater.net.identity.identity import Identity

COMMANDS = """
    demo try up down run explain streams sites watch why remove agent certs
"""


def headwater(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of one command, in this process."""
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from headwater.cli.main import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = {'pyspark', 'pyarrow', 'numpy', 'sqlglot', 'cryptography', 'rich', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240
    )
    assert done.stderr.strip() == "[]"
    for command in COMMANDS.split():
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS.split())
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = headwater(command, "--help", capsys=capsys)
    assert code == 0
    assert f"Usage: headwater {command}" in out


@pytest.mark.parametrize(
    ("command", "form", "said"),
    [
        (["streams"], "parquet", "-o parquet: this command prints table, json or csv"),
        (["sites"], "parquet", "table, json or csv"),
        (["run", "x.sql"], "parquet", "table, json or csv"),
        (["watch", "s"], "parquet", "table, json or csv; Parquet is written by: headwater try"),
        (["remove", "s"], "parquet", "table, json or csv"),
        (["up", "directory"], "parquet", "table, json or csv"),
        (["certs", "show", "x.pem"], "parquet", "table, json or csv"),
        (["explain", "x.sql"], "csv", "-o csv: this command prints table or json\n"),
        (["why", "s"], "csv", "table or json"),
        (["why", "s"], "parquet", "table or json"),
        (["simulate", "x.toml"], "csv", "table or json"),
        (["streams"], "xml", "-o xml: this command prints table, json or csv\n"),
        (["try", "x.sql", "--sites", "."], "xml", "table, json, csv or parquet"),
    ],
)
def test_a_form_that_a_command_can_t_print_is_refused_with_those_that_it_can(
    command: list[str],
    form: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It printed JSON and said nothing. None of what the commands want is there: the form is
    refused before anything else is looked at."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(up, "start", lambda *_, **__: pytest.fail("agents were started"))
    code, out, err = headwater(*command, "-o", form, capsys=capsys)
    assert (code, out) == (main.EXIT_REFUSED, "")
    assert said in err
    assert list(tmp_path.iterdir()) == [], "nothing was begun"


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = headwater("--version", capsys=capsys)
    assert (code, out.split()[0]) == (0, "headwater")


def test_an_error_is_one_message_without_a_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = headwater("certs", "show", str(tmp_path / "none.pem"), capsys=capsys)
    assert code == main.EXIT_REFUSED
    assert out == ""
    assert err.startswith("headwater: certificate ")
    assert "Traceback" not in err


def test_with_debug_the_error_itself_comes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(main.DEBUG, raising=False)
    with pytest.raises(ConfigurationError):
        main.main(["--debug", "certs", "show", str(tmp_path / "none.pem")])
    assert os.environ.pop(main.DEBUG) == "1"


def test_an_unexpected_error_says_how_to_see_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(cert: Path) -> Identity:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(certs, "identity_in", broken)
    code, _, err = headwater("certs", "show", str(tmp_path), capsys=capsys)
    assert code == main.EXIT_UNEXPECTED
    assert "RuntimeError: out of luck" in err
    assert "--debug" in err


def test_certificates_are_made_shown_and_never_silently_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ca = str(tmp_path / "ca")
    assert headwater("certs", "init", ca, "--federation", "acme", capsys=capsys)[0] == 0
    code, out, _ = headwater("certs", "site", ca, "fra", "--host", "10.0.0.1", capsys=capsys)
    made = json.loads(out)
    assert (code, made["role"], made["name"]) == (0, "site", "fra")
    shown = json.loads(headwater("certs", "show", made["certificate"], capsys=capsys)[1])
    assert (shown["role"], shown["name"], shown["federation"]) == ("site", "fra", "acme")
    code, _, err = headwater("certs", "site", ca, "fra", capsys=capsys)
    assert code == main.EXIT_REFUSED
    assert "overwritten" in err
    assert headwater("certs", "site", ca, "fra", "--force", capsys=capsys)[0] == 0


def test_an_operators_certificate_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ca = str(tmp_path / "ca")
    headwater("certs", "init", ca, "--federation", "acme", capsys=capsys)
    elsewhere = str(tmp_path / "alice")
    _, out, _ = headwater("certs", "operator", ca, "alice", "--into", elsewhere, capsys=capsys)
    shown = json.loads(headwater("certs", "show", json.loads(out)["certificate"], capsys=capsys)[1])
    assert shown["role"] == "operator"
    assert (tmp_path / "alice" / "ca.pem").is_file()
    assert not (tmp_path / "alice" / "ca.key").exists()
