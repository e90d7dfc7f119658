"""A file beside what runs: what is the same goes on, and what has changed is told before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.agent.control.test_parts import BY_ONE, BY_TWO, SELECT, SOURCE, Agents, run_with

from headwater.agent.control.operator_client import only_streams
from headwater.errors import ConfigurationError, QueryRefused

VISITS = f"CREATE STREAM visits AS {SELECT.replace('AS n', 'AS visits')};"
BOTH = f"{BY_ONE}\n{VISITS}"


async def states(agents: Agents, text: str, site: str = "hub") -> dict[str, Any]:
    reply = await agents.ask(site, "compare", text=text)
    return {one["stream"]: one for one in reply["streams"]}


def test_what_was_never_run_is_new(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        found = await states(agents, BOTH)
        assert [(name, one["state"]) for name, one in found.items()] == [
            ("pages", "new"),
            ("visits", "new"),
        ]

    run_with(tmp_path, story)


@pytest.mark.parametrize(
    "rewritten",
    [
        BY_ONE,
        BY_ONE.replace("SELECT", "select  -- a comment\n "),
        BY_ONE.replace("CREATE SOURCE hits", "create source hits"),
    ],
    ids=["as it was", "with a comment", "in small letters"],
)
def test_a_stream_is_the_same_when_it_means_the_same(tmp_path: Path, rewritten: str) -> None:
    async def story(agents: Agents) -> None:
        (installed,) = (await agents.run("hub", BY_ONE))["installed"]
        found = (await states(agents, rewritten))["pages"]
        assert found["state"] == "same"
        (running,) = found["running"]
        assert (running["id"], running["begin"]) == (installed["id"], installed["begin"])

    run_with(tmp_path, story)


CHANGES = {
    "another column": BY_ONE.replace("AS n", "AS number"),
    "another disorder": BY_ONE.replace("pages AS", "pages WITH (disorder = '3s') AS"),
    "another begin": BY_ONE.replace("pages AS", "pages WITH (begin = 'earliest') AS"),
    "another root": BY_ONE.replace("pages AS", "pages WITH (root = 'rome') AS"),
    "several roots": BY_TWO,
    "another source": BY_ONE.replace("'*.csv'", "'*.log'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_told_with_both_texts_and_what_comes_of_it(
    tmp_path: Path, change: str
) -> None:
    async def story(agents: Agents) -> None:
        (installed,) = (await agents.run("hub", BY_ONE))["installed"]
        found = (await states(agents, CHANGES[change]))["pages"]
        assert found["state"] == "changed"
        assert found["former_text"] != found["text"]
        assert [one["id"] for one in found["running"]] == [installed["id"]]
        assert found["begins"].startswith("with ")
        assert list(found["results"]) == [str(tmp_path / "hub" / "results" / "pages")]

    run_with(tmp_path, story)


def test_a_source_may_change_with_the_streams_that_read_it_and_not_without(tmp_path: Path) -> None:
    """It was refused, also where the only stream that read it stood in the same file."""

    async def story(agents: Agents) -> None:
        await agents.run("hub", BOTH)
        changed = BOTH.replace("'*.csv'", "'*.log'")
        found = await states(agents, changed)
        assert [one["state"] for one in found.values()] == ["changed", "changed"]
        with pytest.raises(ConfigurationError, match="differently by the live stream 'visits'"):
            await states(agents, BY_ONE.replace("'*.csv'", "'*.log'"))
        installed = (await agents.run("hub", changed))["installed"]
        assert [one["stream"] for one in installed] == ["pages", "visits"]

    run_with(tmp_path, story)


def test_of_a_file_only_the_changed_stream_is_installed_anew(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        before = {one["stream"]: one["id"] for one in (await agents.run("hub", BOTH))["installed"]}
        changed = BOTH.replace("AS visits", "AS people")
        found = await states(agents, changed)
        assert {name: one["state"] for name, one in found.items()} == {
            "pages": "same",
            "visits": "changed",
        }
        await agents.run("hub", only_streams(changed, ["visits"]))
        after = {
            line["stream"]: line["id"] for line in (await agents.ask("hub", "streams"))["streams"]
        }
        assert after["pages"] == before["pages"]
        assert after["visits"] != before["visits"]
        assert {one["state"] for one in (await states(agents, changed)).values()} == {"same"}

    run_with(tmp_path, story)


def test_earliest_says_that_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        found = (await states(agents, CHANGES["another begin"]))["pages"]
        assert "what they have read is not read again for it" in found["begins"]
        assert "headwater remove pages" in found["begins"]

    run_with(tmp_path, story)


def test_a_file_with_a_mistake_is_refused_as_it_stands(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        with pytest.raises(QueryRefused, match="line 4"):
            await states(agents, f"{BY_ONE}\nCREATE STREAM x AS SELECT nothing FROM hits;")
        with pytest.raises(ConfigurationError, match="no CREATE STREAM"):
            await states(agents, SOURCE)

    run_with(tmp_path, story)


def test_streams_that_stay_are_left_out_of_what_is_signed() -> None:
    assert only_streams(BOTH, ["visits"]) == f"{SOURCE.strip()}\n{VISITS}"
