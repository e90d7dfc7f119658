"""The README's federation that keeps running: real agents, asked and told by the command line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SHOPS = Path(__file__).resolve().parents[2] / "examples" / "shops"
UP_S_MAX = 240.0


class CommandLine:
    """Runs ``headwater`` as a user would, with a memory of its own."""

    def __init__(self, directory: Path) -> None:
        self._environment = {**os.environ, "XDG_STATE_HOME": str(directory / "memory")}

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "headwater.cli", *arguments],
            capture_output=True, text=True, timeout=UP_S_MAX, env=self._environment,
        )  # fmt: skip

    def objects(self, *arguments: str) -> list[dict[str, object]]:
        done = self(*arguments)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def headwater(tmp_path: Path) -> Iterator[CommandLine]:
    """A federation of one site with Spark and one relay is up."""
    run = CommandLine(tmp_path)
    try:
        done = run("up", "--sites", "1", "--relays", "1", str(tmp_path / "shops"))
        assert done.returncode == 0, done.stderr
        yield run
    finally:
        run("down", str(tmp_path / "shops"))


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.timeout(2 * UP_S_MAX)
def test_a_federation_is_started_asked_and_stopped(headwater: CommandLine, tmp_path: Path) -> None:
    data = tmp_path / "shops" / "site1" / "data"
    shutil.copy(SHOPS / "sites" / "berlin" / "sales.csv", data)
    assert [site["link"] for site in headwater.objects("sites")] == ["here", "up"]
    (installed,) = headwater.objects("run", str(SHOPS / "sales.sql"))
    assert (installed["stream"], installed["begin"]) == ("revenue", "earliest")

    # The relay does not answer the stream; it sends us on to the site that does.
    (answer,) = headwater.objects("watch", "revenue", "--at", "relay1", "--count", "1")
    assert answer["header"]["exact"]
    assert {"product", "pieces", "revenue"} <= answer["rows"][0].keys()
    (why,) = headwater.objects("why", "revenue", "newest")
    assert (why["covered"], why["missing"]) == (1, [])
    assert headwater.objects("streams")[0]["answered"]

    assert headwater.objects("remove", "revenue") == [{"removed": installed["id"]}]
    assert headwater.objects("streams") == []
    assert headwater("down").returncode == 0
    assert headwater("streams").returncode == 2
