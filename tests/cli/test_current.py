"""Which federation a command means when it is not told."""

from pathlib import Path

import pytest

from headwater.cli import current
from headwater.errors import ConfigurationError


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
    gone = made(tmp_path / "gone")
    current.remember(gone)
    (gone / current.ROSTER).unlink()
    with pytest.raises(ConfigurationError, match="gone"):
        current.federation(None)
