"""Commands are prepared by an agent, looked at and signed by the operator, and then given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from query_kit import changed
from tests.agent.control.test_parts import BY_ONE, SELECT, SOURCE, Agents, run_with

from headwater.agent.control import control_api as api
from headwater.agent.control import install, operator_client
from headwater.agent.control.operator_client import remove_stream, run_statements
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.net.identity.signing import MemoryKeys, OperatorSignature
from headwater.net.values.words import command_word, query_in, removal_in
from headwater.plan.command import Install
from headwater.sql.compile import compile_statements

Change = Callable[[api.Prepared], api.Prepared]


def asked_through(
    agents: Agents, change: Change
) -> Callable[[str, dict[str, Any]], Awaitable[Any]]:
    """An agent that has been broken into: it changes what was prepared."""

    async def ask(name: str, payload: dict[str, Any]) -> Any:
        reply = await agents.ask("hub", name, **payload)
        if name not in (api.PREPARE, api.PREPARE_REMOVAL):
            return reply
        return msgspec.to_builtins(change(msgspec.convert(reply, api.Prepared)))

    return ask


def with_query(**changes: Any) -> Change:
    def change(prepared: api.Prepared) -> api.Prepared:
        query, version, _ = query_in(prepared.words[0])
        other = changed(query, **changes)
        word = command_word(Install(query=other, trees=(), roster_version=version))
        return msgspec.structs.replace(prepared, words=(word, *prepared.words[1:]))

    return change


CHANGES: dict[str, Change] = {
    "another site part": with_query(site_sql="SELECT 1"),
    "another root part": with_query(root_sql="SELECT 1"),
    "another root": with_query(root="rome"),
    "fewer sites": with_query(sites=("rome",)),
    "another text": with_query(text="CREATE STREAM pages AS SELECT 1"),
    "a query more": lambda prepared: msgspec.structs.replace(
        prepared, words=(*prepared.words, *prepared.words)
    ),
    "no query": lambda prepared: msgspec.structs.replace(prepared, words=()),
}


@pytest.mark.parametrize("what", CHANGES)
def test_nothing_is_signed_but_what_was_asked_for(tmp_path: Path, what: str) -> None:
    async def story(agents: Agents) -> None:
        with pytest.raises((HeadwaterError, ConfigurationError)):
            await run_statements(
                asked_through(agents, CHANGES[what]), BY_ONE, agents.world.operator
            )
        await agents.until_all_know()

    run_with(tmp_path, story)


def test_a_file_is_compiled_once_to_be_prepared_and_once_to_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number that it gets is in nothing that is compiled."""
    compiled: list[str] = []
    for module in (install, operator_client):

        def counted(
            text: str, *, name: str = module.__name__.rpartition(".")[2], **rest: Any
        ) -> Any:
            compiled.append(name)
            return compile_statements(text, **rest)

        monkeypatch.setattr(module, "compile_statements", counted)

    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        assert compiled == ["install", "operator_client"]
        await agents.until_all_know("pages")

    run_with(tmp_path, story)


def test_no_other_stream_is_removed_than_was_asked_for(tmp_path: Path) -> None:
    def other(prepared: api.Prepared) -> api.Prepared:
        removal = removal_in(prepared.words[0])
        named = msgspec.structs.replace(removal.id, name="sales")
        word = command_word(msgspec.structs.replace(removal, id=named))
        return msgspec.structs.replace(prepared, words=(word,))

    async def story(agents: Agents) -> None:
        await agents.run("hub", BY_ONE)
        await agents.until_all_know("pages")
        with pytest.raises(HeadwaterError, match="asked for was 'pages'; nothing is signed"):
            await remove_stream(asked_through(agents, other), "pages", agents.world.operator)

    run_with(tmp_path, story)


LEVELLED = f"""{SOURCE}
CREATE STREAM pages WITH (degrade = 'coarsen(time, 30 s, 1 minute)') AS {SELECT};"""


def test_a_stream_with_levels_is_removed_with_them_and_with_nothing_else(tmp_path: Path) -> None:
    def far(prepared: api.Prepared) -> api.Prepared:
        *others, last = map(removal_in, prepared.words)
        named = msgspec.structs.replace(last.id, counter=last.id.counter + 100)
        other = msgspec.structs.replace(last, id=named)
        words = tuple(map(command_word, (*others, other)))
        return msgspec.structs.replace(prepared, words=words)

    async def story(agents: Agents) -> None:
        await agents.run("hub", LEVELLED)
        await agents.until_all_know("pages", "pages_1_minute", "pages_30_seconds")
        with pytest.raises(HeadwaterError, match="nothing is signed"):
            await remove_stream(asked_through(agents, far), "pages", agents.world.operator)
        reply = await agents.remove("hub", "pages")
        assert "pages_30_seconds@" in reply["removed"]
        await agents.until_all_know()

    run_with(tmp_path, story)


def test_a_command_that_nobody_of_the_federation_has_signed_is_not_given(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        keys = MemoryKeys()
        stranger = OperatorSignature("memory", "here", keys.make_operator("here"))
        with pytest.raises(ConfigurationError, match="wanted the signature of operator 'here'"):
            await run_statements(asked_through(agents, lambda same: same), BY_ONE, stranger)
        await agents.until_all_know()

    run_with(tmp_path, story)


def test_a_number_that_was_used_meanwhile_is_an_error_and_not_a_success(tmp_path: Path) -> None:
    async def story(agents: Agents) -> None:
        kept: list[dict[str, Any]] = []

        async def ask(name: str, payload: dict[str, Any]) -> Any:
            if name == api.GIVE:
                kept.append(payload)
            return await agents.ask("hub", name, **payload)

        await run_statements(ask, BY_ONE, agents.world.operator)
        with pytest.raises(ConfigurationError, match="the number has been used"):
            await agents.ask("hub", api.GIVE, **kept[0])

    run_with(tmp_path, story)


@pytest.mark.parametrize("word", [b"", b"\xc1", b"\x93\x01\x02\x03"])
def test_what_is_no_command_is_refused_with_a_sentence(tmp_path: Path, word: bytes) -> None:
    signed = msgspec.to_builtins(api.SignedCommand(word, b"x" * 64, b"k" * 8, b""))

    async def story(agents: Agents) -> None:
        for kind in ("installs", "removals"):
            with pytest.raises(ConfigurationError, match="commands as they were prepared"):
                await asyncio.wait_for(agents.ask("hub", api.GIVE, **{kind: [signed]}), 120)

    run_with(tmp_path, story)
