"""An operator's side of a command: what the agent has made of it is looked at, and signed.

The agent compiles a file of statements and numbers it. Before the signature the same statements are
compiled here, and what is to be signed must be that: an agent that was broken into can't have
something else signed than what was asked for.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import msgspec

from headwater.agent.asking.estimating import ESTIMATE, estimate_select
from headwater.agent.control import control_api as api
from headwater.agent.control.ask_api import AskRequest, PreparedAsk
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.net.identity.signing import OperatorSignature
from headwater.net.values.words import alteration_in, query_in, removal_in
from headwater.plan.altered.dealing import undealt
from headwater.plan.altered.settings import SETTINGS_AHEAD_US_MAX, Settings
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Alter, Command, Install
from headwater.plan.degrading.companion import LEVELS_MAX, is_level_name
from headwater.plan.query import Query, QueryId
from headwater.sql.alter import file_with, merged_options, written_options
from headwater.sql.alter_statement import read_settings
from headwater.sql.compile import compile_statements
from headwater.sql.questions.asking import asking, question_query
from headwater.sql.questions.question_text import Stretch
from headwater.sql.read.statements import StreamStatement, read_statements

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""One request to the agent: its name and payload."""


class Question(msgspec.Struct, frozen=True):
    query: Query
    estimate: Query | None
    roster_version: int
    prepared: PreparedAsk


async def run_statements(ask: Ask, text: str, signature: OperatorSignature) -> api.RunReply:
    """Install the streams of a file, all or none."""
    reply = await ask(api.PREPARE, {"text": text})
    prepared = msgspec.convert(reply, api.Prepared)
    installs = []
    for word in prepared.words:
        query, version, _ = query_in(word)
        installs.append(Install(query=query, trees=(), roster_version=version))
    _require_same(text, prepared, [install.query for install in installs])
    signed = tuple(_signed(signature, install) for install in installs)
    return msgspec.convert(await _give(ask, api.GiveRequest(installs=signed)), api.RunReply)


def only_streams(text: str, wanted: Collection[str]) -> str:
    """The file with its sources and these of its streams, to leave alone what runs of it."""
    return "\n".join(
        f"{one.text.rstrip().rstrip(';')};"
        for one in read_statements(text)
        if not isinstance(one, StreamStatement) or one.name in wanted
    )


async def remove_stream(ask: Ask, stream: str, signature: OperatorSignature) -> api.RemoveReply:
    """End a stream everywhere."""
    reply = await ask(api.PREPARE_REMOVAL, {"stream": stream})
    removals = [removal_in(word) for word in msgspec.convert(reply, api.Prepared).words]
    whole = [one.id for one in removals if one.id.name == stream]
    for removal in removals:
        if not _is_of(removal.id, stream, whole):
            raise HeadwaterError(
                f"the agent wants {removal.id} removed, asked for was {stream!r}; nothing is signed"
            )
    await _give(ask, api.GiveRequest(removals=tuple(_signed(signature, one) for one in removals)))
    return api.RemoveReply(", ".join(str(removal.id) for removal in removals))


async def end_stream(
    ask: Ask, stream: str, signature: OperatorSignature
) -> tuple[api.Altered, ...]:
    """End a stream everywhere, and have its panes kept for questions; nothing: it has ended."""
    return await _altered(ask, api.AlterRequest(stream, "", ends=True), signature, time.time())


def _is_of(id_: QueryId, stream: str, whole: Collection[QueryId]) -> bool:
    """It is the stream, a part of it, or one of its levels, which have the numbers after it."""
    if id_.name == stream or id_.name.startswith(f"{stream}_part_"):
        return True
    return is_level_name(id_.name, stream) and any(
        one.installer == id_.installer and 0 < id_.counter - one.counter <= LEVELS_MAX
        for one in whole
    )


async def alter_stream(
    ask: Ask,
    stream: str,
    settings: str,
    signature: OperatorSignature,
    *,
    is_whole: bool = False,
    now_s: Callable[[], float] = time.time,
) -> tuple[api.Altered, ...]:
    """Change settings of a stream that runs; nothing: it has them already."""
    request = api.AlterRequest(stream, settings, is_whole)
    return await _altered(ask, request, signature, now_s())


async def _altered(
    ask: Ask, request: api.AlterRequest, signature: OperatorSignature, now_s: float
) -> tuple[api.Altered, ...]:
    reply = await ask(api.PREPARE_ALTER, msgspec.to_builtins(request))
    prepared = msgspec.convert(reply, api.PreparedAlter)
    alters = [alteration_in(word) for word in prepared.words]
    for alter in alters:
        _require_asked(alter, request, prepared, now_s=now_s)
    if alters:
        signed = tuple(_signed(signature, alter) for alter in alters)
        await _give(ask, api.GiveRequest(alters=signed))
    return prepared.altered


def _require_asked(
    alter: Alter, request: api.AlterRequest, prepared: api.PreparedAlter, *, now_s: float
) -> None:
    """That it is about this stream, and has the settings that were asked for: the statement is the
    agent's to tell, what follows of it and of the settings is compiled here."""
    options = read_settings(request.settings) if request.settings.strip() else ()
    former = () if request.is_whole else written_options(prepared.text)
    wanted = merged_options(former, options) if options else former
    made = compile_statements(
        file_with(prepared.text, wanted),
        root=prepared.home,
        installer=prepared.installer,
        next_counter=1,
        known_sites=prepared.sites,
    )
    found = [one for one in made if one.id.name == alter.id.name and one.stream == request.stream]
    asked = [msgspec.structs.replace(Settings.of(one), is_end=request.ends) for one in found]
    is_it = bool(asked) and _undealt(alter.settings) == _undealt(asked[0])
    is_it = is_it and alter.settings.rounds in (None, found[0].round_count)
    ahead_s = found[0].window.pane_start_us(alter.first_pane) / 1e6 - now_s if found else 0.0
    if not is_it or alter.settings.options != wanted or abs(ahead_s) > SETTINGS_AHEAD_US_MAX / 1e6:
        raise HeadwaterError(
            f"the agent has made other settings of {alter.id} than were asked for, or for another "
            "time; nothing is signed. Compare the versions: headwater --version"
        )


async def command_budget(
    ask: Ask, to: str, bytes_per_s: float | None, signature: OperatorSignature, *, by_file: bool
) -> api.BudgetReply:
    """What the agent that is asked may send, to one neighbour or over all links."""
    prepared = msgspec.convert(await ask(api.PREPARE_BUDGET, {}), api.PreparedBudget)
    budget = SiteBudget(prepared.site, to, prepared.number, bytes_per_s, by_file)
    request = api.GiveBudget(_signed(signature, budget))
    reply = await ask(api.GIVE_BUDGET, msgspec.to_builtins(request))
    return msgspec.convert(reply, api.BudgetReply)


async def resume_stream(ask: Ask, stream: str, signature: OperatorSignature) -> api.RunReply:
    """Install a stream anew as it was written. What is signed is a new command of this operator, so
    it must at least be for that stream and no other; ``headwater explain`` shows the rest."""
    reply = await ask(api.STATEMENTS, {"stream": stream})
    text = msgspec.convert(reply, api.StatementsReply).text
    named = [one.name for one in read_statements(text) if isinstance(one, StreamStatement)]
    if named != [stream]:
        raise HeadwaterError(
            f"the agent has {named} for {stream!r}; nothing is signed. Install it from its file: "
            "headwater run"
        )
    return await run_statements(ask, text, signature)


async def prepared_question(ask: Ask, request: AskRequest) -> Question:
    """What is asked and how much it reads, as commands to be signed: compiled here as well, of the
    statement that was asked for and the source that the agent tells."""
    reply = await ask(api.PREPARE_ASK, msgspec.to_builtins(request))
    prepared = msgspec.convert(reply, PreparedAsk)
    question, version, _ = query_in(prepared.question)
    _require_question(question, request.name, request.select, request, prepared)
    estimate = None
    if prepared.estimate is not None:
        estimate, _, _ = query_in(prepared.estimate)
        source = question.program.source
        select = estimate_select(source.name, source.time_column)
        _require_question(estimate, request.name + ESTIMATE, select, request, prepared)
    return Question(question, estimate, version, prepared)


async def give_question(
    ask: Ask, query: Query, version: int, signature: OperatorSignature
) -> api.RunReply:
    signed = _signed(signature, Install(query=query, trees=(), roster_version=version))
    return msgspec.convert(await _give(ask, api.GiveRequest(installs=(signed,))), api.RunReply)


def _require_question(
    theirs: Query, name: str, select: str, request: AskRequest, prepared: PreparedAsk
) -> None:
    of = Stretch(prepared.first_us, prepared.end_us, prepared.step_us)

    def compiled(text: str) -> list[Query]:
        return compile_statements(
            f"{prepared.source};\n{text}",
            root=prepared.home,
            installer=prepared.installer,
            next_counter=theirs.id.counter,
            now_us=prepared.end_us + 1,
            known_sites=prepared.sites,
        )

    mine = question_query(name, select, of, sites=request.sites, compiled=compiled)
    mine = msgspec.structs.replace(mine, unit_last=theirs.unit_last)
    is_asked = theirs.asked is not None and theirs == asking(mine, theirs.asked)
    if not is_asked or _adds_open(theirs) > request.adds_open:
        raise HeadwaterError(
            f"the agent has made another query of {name!r} than is made here; nothing is signed. "
            "Compare the versions: headwater --version"
        )


def _adds_open(query: Query) -> bool:
    return query.asked is not None and query.asked.adds_open


async def _give(ask: Ask, request: api.GiveRequest) -> Any:
    return await ask(api.GIVE, msgspec.to_builtins(request))


def _signed(signature: OperatorSignature, command: Command | SiteBudget) -> api.SignedCommand:
    proof = signature.sign(command).proof
    assert proof is not None, "it has been signed a moment ago"
    return api.SignedCommand(proof.word, proof.signature, proof.key, proof.certificate)


def _undealt(settings: Settings) -> Settings:
    tolerance = undealt(settings.tolerance)
    return msgspec.structs.replace(settings, tolerance=tolerance, options=(), rounds=None)


def _with_undealt(query: Query) -> Query:
    tolerance = undealt(query.tolerates) or msgspec.UNSET
    return msgspec.structs.replace(query, tolerance=tolerance)


def _begun_as(theirs: Query, mine: Query) -> Query:
    """It ends as long after its begin as it did."""
    begin, end = theirs.begin_pane, theirs.ends_at
    if begin is None or mine.begin_pane is None or end is None:
        return msgspec.structs.replace(theirs, begin_pane=mine.begin_pane)
    end_pane = end + mine.begin_pane - begin
    return msgspec.structs.replace(theirs, begin_pane=mine.begin_pane, end_pane=end_pane)


def _require_same(text: str, prepared: api.Prepared, queries: list[Query]) -> None:
    """All but the beginning, which goes by the agents' clocks and is shown, and from which pane on
    shares move."""
    if not queries:
        raise ConfigurationError("no CREATE STREAM in the file: there is nothing to run")
    ours = compile_statements(
        text,
        root=prepared.home,
        installer=prepared.installer,
        next_counter=queries[0].id.counter,
        known_sites=prepared.sites,
    )
    for theirs, mine in zip(queries, ours, strict=False):
        theirs = _begun_as(theirs, mine)
        if _with_undealt(theirs) != _with_undealt(mine):
            raise HeadwaterError(
                f"the agent has made another query of {theirs.id.name!r} than is made here; "
                "nothing is signed. Compare the versions: headwater --version"
            )
    if len(queries) != len(ours):
        raise HeadwaterError(
            f"the agent has made {len(queries)} queries, here they are {len(ours)}; "
            "nothing is signed. Compare the versions: headwater --version"
        )
