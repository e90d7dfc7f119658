"""A mistake in a declared source keeps the agent from starting, and says where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.agent.config import AgentConfig
from headwater.errors import ConfigurationError

GOOD = """
site = "oslo"

[[sources.declared]]
statement = '''
CREATE SOURCE hits (ts TIMESTAMP, client STRING)
WITH (format = 'csv', path = 'web/*.log', time = 'ts')
'''
levels = { ts = "free", client = "denied" }
"""
OTHER = """
[[sources.declared]]
statement = "CREATE SOURCE {} (at TIMESTAMP) WITH (format = 'json', path = '{}', time = 'at')"
levels = {{ at = "aggregated" }}
"""


def load(tmp_path: Path, text: str) -> AgentConfig:
    path = tmp_path / "agent.toml"
    path.write_text(text)
    return AgentConfig.load(path)


def test_declared_sources_are_read_from_the_file(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD + OTHER.format("more", "web/*.json"))
    assert [one.levels for one in config.sources.declared] == [
        {"ts": "free", "client": "denied"},
        {"at": "aggregated"},
    ]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("client STRING", "client TEXT", "column `client` has no type `TEXT`; types: boolean"),
        ("client STRING", "ts STRING", "column `ts` occurs twice"),
        ("client STRING", "client STRING, more INT", "a level for every column, got none for more"),
        (
            'client = "denied"',
            'client = "secret"',
            "column client: wanted a level of denied, aggregated, free, got 'secret'",
        ),
        ('client = "denied"', 'client = "Denied"', "got 'Denied'"),
        ('client = "denied"', 'Client = "denied"', "levels names column 'Client'"),
        ('client = "denied"', "client = 1", "levels"),
        ('ts = "free"', 'ts = "denied"', "its time column ts is denied"),
        (', client = "denied"', "", "got none for client"),
        ("web/*.log", "../web/*.log", "the path '../web/*.log' is not admitted"),
        ("web/*.log", "s3://web/x", "is not admitted"),
        ("'csv'", "'xml'", "xml"),
        ("'ts')", "'at')", "no column `at`"),
        ("'ts')", "'ts', separator = ';')", "separator"),
        ("CREATE SOURCE hits", "SELECT", "wanted CREATE SOURCE"),
        (
            "'ts')",
            "'ts'); CREATE SOURCE b (ts TIMESTAMP) WITH (format = 'csv', path = 'b', time = 'ts')",
            "wanted one CREATE SOURCE",
        ),
        ("levels =", "level =", "unknown field `level`"),
        ("[[sources.declared]]", "[[sources.declarde]]", "unknown field `declarde`"),
    ],
)
def test_a_mistake_is_refused_and_named(tmp_path: Path, old: str, new: str, wanted: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigurationError, match=r"agent\.toml") as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert wanted in str(caught.value)


@pytest.mark.parametrize("path", ["web/a.log", "web/*", "**/*.log", "*/a.log"])
def test_one_file_is_of_one_source(tmp_path: Path, path: str) -> None:
    for written in (path, f"{tmp_path}/data/{path}"):
        with pytest.raises(ConfigurationError, match=r"hits .* and more .* may name the same file"):
            load(tmp_path, GOOD + OTHER.format("more", written))


def test_a_name_is_of_one_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="source hits is declared twice"):
        load(tmp_path, GOOD + OTHER.format("Hits", "elsewhere.json"))


def test_there_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.agent.input.declarations.DECLARED_MAX", 1)
    with pytest.raises(ConfigurationError, match="wanted at most 1 sources, got 2"):
        load(tmp_path, GOOD + OTHER.format("more", "elsewhere.json"))


def test_lines_that_the_agent_keeps_are_not_for_free_use(tmp_path: Path) -> None:
    inside = GOOD.replace('site = "oslo"', 'site = "oslo"\ndirectory = "data/state"')
    with pytest.raises(ConfigurationError, match=r"is for free use, and directory .* lies in it"):
        load(tmp_path, inside)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    with pytest.raises(ConfigurationError, match="is for free use"):
        load(tmp_path, inside.replace("data/state", "link/state"))
    nobody = inside.replace("[[sources", "[sources]\ndeclared_only = true\n\n[[sources", 1)
    assert load(tmp_path, nobody).sources.declared_only
    plain = inside.partition("[[sources")[0]
    assert load(tmp_path, plain).sources.declared == ()
