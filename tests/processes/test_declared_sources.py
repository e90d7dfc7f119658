"""A site's own sources with a real agent: asked in the declared way and in all the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.processes.test_up import CommandLine, growing

from headwater.cli.commands.run_command import EXIT_REFUSED_HERE
from headwater.local.up import lay_out

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

DECLARED = """
[[sources.declared]]
statement = "CREATE SOURCE hits (ts TIMESTAMP, page STRING) WITH (format='csv', path='web/*.csv', time='ts')"
levels = { ts = "free", page = "denied" }
"""  # noqa: E501 - as people write it
STREAM = """
CREATE STREAM {0} WITH (deadline = '4s', disorder = '1s') AS
SELECT {1}, count(*) AS n FROM {0}_of GROUP BY window(ts, '5 seconds'), {1};
"""
CSV = "WITH (format = 'csv', path = '{}', time = 'ts')"
REGEX = r"WITH (format = 'regex', path = 'web/hits.csv', time = 'ts', pattern = r'(.*?),(.*)')"
ATTACKS = {
    "asks_for_it": ("(ts TIMESTAMP, page STRING)", CSV.format("web/*.csv"), "page"),
    "renames": ("(ts TIMESTAMP, free STRING)", CSV.format("web/*.csv"), "free"),
    "cuts_lines": ("(ts TIMESTAMP, free STRING)", REGEX, "free"),
    "sweeps": ("(ts TIMESTAMP, free STRING)", CSV.format("**/*.csv"), "free"),
    "goes_by_a_link": ("(ts TIMESTAMP, free STRING)", CSV.format("free/*.csv"), "free"),
}
SECRET = "home"
"""What ``growing`` writes for a page."""


@pytest.fixture(scope="module")
def headwater(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def federation(headwater: CommandLine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("declared") / "federation"
    lay_out(directory, site_count=1, relays=0)
    site = directory / "site1"
    with (site / "agent.toml").open("a") as file:
        file.write(DECLARED)
    for folder in ("web", "free"):
        (site / "data" / folder).mkdir()
    (site / "data" / "web" / "hits.csv").touch()
    (site / "data" / "free" / "x.csv").symlink_to("../web/hits.csv")
    try:
        headwater("up", directory)
        yield directory
    finally:
        headwater.run("down", directory)


def test_a_denied_column_stays_in_and_everybody_sees_why(
    headwater: CommandLine, federation: Path
) -> None:
    statements = federation / "all.sql"
    texts = [
        f"CREATE SOURCE {name}_of {columns} {options};" + STREAM.format(name, key)
        for name, (columns, options, key) in ATTACKS.items()
    ]
    allowed = f"CREATE SOURCE counts_of (ts TIMESTAMP, page STRING) {CSV.format('web/*.csv')};"
    allowed += STREAM.format("counts", "1").replace("SELECT 1, ", "SELECT ").replace(", 1;", ";")
    statements.write_text("\n".join([*texts, allowed]))
    done = headwater.run("run", statements)
    assert done.returncode == EXIT_REFUSED_HERE, "site1, which is asked, reads none of the first"
    assert "is installed, and the agent that took it refuses its part: not read here" in done.stderr
    with growing(federation / "site1" / "data" / "web" / "hits.csv"):
        (rows,) = until_rows(headwater, "counts")
        assert rows["n"] >= 1
        headers = {name: first_header(headwater, name) for name in ATTACKS}
    streams = {line["stream"]: json.dumps(line) for line in headwater("streams")}
    linked = streams.pop("goes_by_a_link")
    assert "x.csv (a file of the source hits" in linked
    for name in ATTACKS:
        if name in streams:
            (missing,) = map(json.dumps, headers[name]["missing"])
            assert "site1" in missing
            assert "refused: " in missing
            assert "source hits" in missing
            assert "refused at site1" in streams[name]
            assert "source hits" in json.dumps(headwater("why", name))
    assert "level denied" in streams["asks_for_it"]
    assert "CREATE SOURCE hits" in streams["renames"]
    results = federation / "site1" / "state" / "results"
    for path in (path for name in ATTACKS for path in (results / name).rglob("*")):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    restart(headwater, federation)
    again = {line["stream"]: json.dumps(line) for line in headwater("streams")}
    assert "level denied" in again["asks_for_it"]
    assert "CREATE SOURCE hits" in again["cuts_lines"]


def until_rows(headwater: CommandLine, stream: str) -> list[dict[str, Any]]:
    with headwater.start("watch", stream) as watching:
        assert watching.stdout is not None
        for line in watching.stdout:
            rows: list[dict[str, Any]] = json.loads(line)["rows"]
            if rows:
                watching.kill()
                return rows
    raise AssertionError(f"{stream} ended without rows")


def first_header(headwater: CommandLine, stream: str) -> dict[str, Any]:
    (answer,) = headwater("watch", stream, "--count", 1)
    assert answer["rows"] == []
    header: dict[str, Any] = answer["header"]
    return header


def restart(headwater: CommandLine, federation: Path) -> None:
    headwater("down", federation)
    headwater("up", federation)
