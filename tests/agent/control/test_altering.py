"""Settings of a stream that runs are altered at running agents: prepared, signed, given, shown."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agent.control.test_parts import BY_ONE, BY_TWO, SELECT, SOURCE, Agents, run_with

from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import alter_stream
from headwater.errors import ConfigurationError, HeadwaterError, QueryRefused
from headwater.net.values.words import alteration_in, command_word
from headwater.plan.command import Alter

HEARD_S_MAX = 120.0
ERROR = "error = '1 % of total'"


async def alter(agents: Agents, stream: str, settings: str, **more: Any) -> tuple[api.Altered, ...]:
    return await alter_stream(
        agents.desks["hub"].handle, stream, settings, agents.world.operator, **more
    )


def alters_at(agents: Agents, site: str) -> list[Alter]:
    live = agents.runtime(site).node.peer.live_queries().values()
    return [alter for install in live for alter in install.alters]


async def until_all_have(agents: Agents, count: int) -> None:
    end_s = time.monotonic() + HEARD_S_MAX
    while any(len(alters_at(agents, site)) != count for site in agents.desks):
        assert time.monotonic() < end_s
        await asyncio.sleep(0.02)


def test_settings_reach_everyone_and_the_stream_goes_on_under_its_id(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        (installed,) = (await agents.run("hub", BY_ONE))["installed"]
        await agents.until_all_know("pages")
        (altered,) = await alter(agents, "pages", f"{ERROR}, staleness = '5 s'")
        assert altered.id == installed["id"]
        assert (altered.settings, altered.sites) == (1, 3)
        assert "error = '1 % of total' (was by default)" in altered.changes
        await until_all_have(agents, 1)
        for site in agents.desks:
            (kept,) = alters_at(agents, site)
            assert kept.operator == agents.world.operator.operator
            assert kept.settings.deadline_s == 5.0
            assert kept.settings.tolerance is not None
            (line,) = (await agents.ask(site, "streams"))["streams"]
            assert "on settings 1: error = '1 % of total', staleness = '5 s'" in line["settings"]
        (plan,) = (await agents.ask("oslo", "explain", text="pages"))["plans"]
        assert "n may be off by 1 % of total" in plan or "1 % of total" in plan
        assert "on settings 1" in plan

    run_with(tmp_path, story)


def test_what_is_not_named_stays_and_none_ends_an_error(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        await alter(agents, "pages", ERROR)
        await alter(agents, "pages", "deadline = '20 s'")
        assert await alter(agents, "pages", "deadline = '20 s'") == ()
        (third,) = await alter(agents, "pages", "error = 'none'")
        assert third.settings == 3
        *_, last = alters_at(agents, "hub")
        assert last.settings.options == (("deadline", "'20 s'"),)
        assert last.settings.tolerance is None

    run_with(tmp_path, story)


def test_all_parts_of_a_stream_are_altered(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_TWO)
        first, second = await alter(agents, "pages", ERROR)
        assert (first.id.partition("@")[0], second.id.partition("@")[0]) == (
            "pages_part_1",
            "pages_part_2",
        )

    run_with(tmp_path, story)


def test_a_file_that_differs_in_settings_alone_says_so(tmp_path: Path) -> None:
    changed = f"{SOURCE}CREATE STREAM pages WITH ({ERROR}) AS {SELECT};"
    other = changed.replace("'5 seconds'", "'10 seconds'")

    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        (found,) = (await agents.ask("hub", "compare", text=changed))["streams"]
        assert (found["state"], found["settings"]) == ("altered", ERROR)
        (found,) = (await agents.ask("hub", "compare", text=other))["streams"]
        assert found["state"] == "changed"
        await alter(agents, "pages", ERROR, is_whole=True)
        (found,) = (await agents.ask("hub", "compare", text=changed))["streams"]
        assert found["state"] == "same"
        (found,) = (await agents.ask("hub", "compare", text=BY_ONE))["streams"]
        assert (found["state"], found["settings"]) == ("altered", "")
        text = (await agents.ask("hub", "statements", stream="pages"))["text"]
        assert f"CREATE STREAM pages WITH ({ERROR}) AS" in text

    run_with(tmp_path, story)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("window = '1 minute'", "another window is another question"),
        ("eror = '1'", "did you mean `error`"),
        ("staleness = '1 s'", "wanted more than 4 seconds, got 1 second"),
        ("error = 'pages: 1 %'", "no column `pages` that aggregates make"),
        ("error = '1 %', error = '2 %'", "occurs twice"),
        ("answer = 'complete', deadline = '9 s'", "however long that takes"),
        ("finally = 'bounded'", "nothing is kept back"),
        ("", "got none"),
    ],
)
def test_what_is_refused_at_create_is_refused_here(
    tmp_path: Path, settings: str, said: str
) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        with pytest.raises(QueryRefused, match=said):
            await alter(agents, "pages", settings)
        assert alters_at(agents, "hub") == []

    run_with(tmp_path, story)


def test_a_stream_that_does_not_run_has_no_settings(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        await agents.remove("hub", "pages")
        with pytest.raises(ConfigurationError, match="no stream 'pages'"):
            await alter(agents, "pages", ERROR)

    run_with(tmp_path, story)


async def prepared(agents: Agents) -> Alter:
    reply = await agents.ask("hub", api.PREPARE_ALTER, stream="pages", settings=ERROR)
    return alteration_in(msgspec.convert(reply, api.PreparedAlter).words[0])


async def given(agents: Agents, alter: Alter) -> None:
    proof = agents.world.operator.sign(alter).proof
    assert proof is not None
    signed = api.SignedCommand(proof.word, proof.signature, proof.key, proof.certificate)
    await agents.ask("hub", api.GIVE, **msgspec.to_builtins(api.GiveRequest(alters=(signed,))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"first_pane": 7}, "has begun"),
        ({"first_pane": 1 << 39}, "too far ahead"),
        ({"number": 2}, "wanted 1"),
        ({"number": 1 << 53}, "wanted 1"),
        ({"counter": 1}, "has been used"),
        ({"installer": "oslo"}, "given at hub"),
    ],
)
def test_signed_settings_that_make_no_sense_are_refused_where_they_are_given(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        alter = msgspec.structs.replace(await prepared(agents), **change)
        with pytest.raises(ConfigurationError, match=said):
            await given(agents, alter)
        assert alters_at(agents, "hub") == []

    run_with(tmp_path, story)


def test_settings_that_nobody_has_signed_are_refused(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        signed = api.SignedCommand(command_word(await prepared(agents)), b"", b"", b"")
        request = msgspec.to_builtins(api.GiveRequest(alters=(signed,)))
        with pytest.raises(ConfigurationError, match="wanted the signature of operator"):
            await agents.ask("hub", api.GIVE, **request)
        as_removal = msgspec.to_builtins(api.GiveRequest(removals=(await _signed(agents),)))
        with pytest.raises(ConfigurationError, match="wanted the signature of operator"):
            await agents.ask("hub", api.GIVE, **as_removal)

    run_with(tmp_path, story)


async def _signed(agents: Agents) -> api.SignedCommand:
    """Settings, truly signed: their bytes read as a removal's, too."""
    proof = agents.world.operator.sign(await prepared(agents)).proof
    assert proof is not None
    return api.SignedCommand(proof.word, proof.signature, proof.key, proof.certificate)


@pytest.mark.parametrize("broken", ["settings", "stream", "time"])
def test_nothing_is_signed_but_what_was_asked_for(tmp_path: Path, broken: str) -> None:
    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)

        async def ask(name: str, payload: dict[str, Any]) -> Any:
            reply = await agents.ask("hub", name, **payload)
            if name != api.PREPARE_ALTER:
                return reply
            made = msgspec.convert(reply, api.PreparedAlter)
            alter = alteration_in(made.words[0])
            if broken == "settings":
                settings = msgspec.structs.replace(alter.settings, tolerance=None)
                alter = msgspec.structs.replace(alter, settings=settings)
            elif broken == "stream":
                other = msgspec.structs.replace(alter.id, name="other")
                alter = msgspec.structs.replace(alter, id=other)
            else:
                alter = msgspec.structs.replace(alter, first_pane=alter.first_pane + (1 << 30))
            return msgspec.to_builtins(msgspec.structs.replace(made, words=(command_word(alter),)))

        with pytest.raises(HeadwaterError, match="nothing is signed"):
            await alter_stream(ask, "pages", ERROR, agents.world.operator)
        assert alters_at(agents, "hub") == []

    run_with(tmp_path, story)
