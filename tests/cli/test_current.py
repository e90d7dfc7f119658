"""Which federation a command means when it is not told."""

from pathlib import Path

import pytest

from headwater.cli import current
from headwater.errors import ConfigurationError, Unreachable
from headwater.local import local_processes


@pytest.fixture(autouse=True)
def _no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(current.VARIABLE, raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")


def made(directory: Path) -> Path:
    directory.mkdir()
    (directory / current.ROSTER).touch()
    return directory


def test_what_is_given_comes_before_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named, here, last = (made(tmp_path / name) for name in ("a", "b", "c", "d"))
    current.remember(last)
    assert current.federation(None) == last
    monkeypatch.chdir(here)
    assert current.federation(None) == here
    monkeypatch.setenv(current.VARIABLE, str(named))
    assert current.federation(None) == named
    assert current.federation(given) == given


def test_without_any_the_message_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="headwater up DIR"):
        current.federation(None)


def test_a_directory_that_is_no_federation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no roster\.signed"):
        current.federation(tmp_path)


def test_a_federation_that_has_been_deleted_since_is_named(tmp_path: Path) -> None:
    gone = made(tmp_path / "deleted")
    current.remember(gone)
    (gone / current.ROSTER).unlink()
    with pytest.raises(ConfigurationError, match=r"last brought up, .*deleted, is gone") as refused:
        current.federation(None)
    assert "No other that was brought up here runs" in str(refused.value)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The directories whose agents run."""
    found: set[Path] = set()
    monkeypatch.setattr(
        local_processes,
        "running",
        lambda one: local_processes.Running({"site1": 7} if one in found else {}),
    )
    return found


def local(directory: Path) -> Path:
    made(directory)
    (directory / "site1").mkdir()
    (directory / "site1" / "agent.toml").touch()
    return directory


NOBODY = Unreachable("agent at 127.0.0.1:1: unreachable")


def test_where_the_last_one_is_gone_those_that_run_are_named(
    tmp_path: Path, runs: set[Path]
) -> None:
    first, second, third = (local(tmp_path / name) for name in ("first", "second", "third"))
    for one in (first, second, third):
        current.remember(one)
    runs |= {first, second}
    told = str(current.unreachable(None, NOBODY))
    assert f"the one last brought up, {third}, no agent runs" in told
    assert f"headwater up {third}" in told
    assert f"Running here: {second}, {first}; name one with --federation DIR" in told
    assert "127.0.0.1" not in told
    (third / current.ROSTER).unlink()
    with pytest.raises(ConfigurationError, match=f"is gone. Running here: {second}, {first}"):
        current.federation(None)


def test_a_federation_that_was_named_and_does_not_run_is_said_so(
    tmp_path: Path, runs: set[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = local(tmp_path / "named")
    assert f"{named}: none of its agents runs here; start them" in str(
        current.unreachable(named, NOBODY)
    )
    monkeypatch.setenv(current.VARIABLE, str(named))
    assert "none of its agents runs here" in str(current.unreachable(None, NOBODY))


def test_an_agent_that_is_elsewhere_or_runs_and_does_not_answer_is_unreachable(
    tmp_path: Path, runs: set[Path]
) -> None:
    assert current.unreachable(made(tmp_path / "an operator's"), NOBODY) is NOBODY
    here = local(tmp_path / "here")
    runs.add(here)
    assert current.unreachable(here, NOBODY) is NOBODY


def test_a_bounded_number_is_remembered_each_once(tmp_path: Path) -> None:
    for number in (*range(2 * current.REMEMBERED_MAX), 30):
        current.remember(tmp_path / str(number))
    lines = (tmp_path / "state" / "headwater" / "federation").read_text().splitlines()
    assert len(lines) == len(set(lines)) == current.REMEMBERED_MAX
    assert [Path(line).name for line in lines[:3]] == ["30", "39", "38"]
