"""Commands at the agent that takes them: prepared to be signed, and given when they are.

The agent compiles, numbers and plans; the operator's client looks at what was made of the request
and signs it; the agent gives it with that signature. What was prepared and is never given leaves a
gap in the numbers, and nothing else.
"""

from __future__ import annotations

import msgspec

from headwater.agent.control import control_api as api
from headwater.agent.control.altering import check_first
from headwater.agent.control.install import planned, prepare, prepare_removal
from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.stream_lines import installed_line
from headwater.algebra.panes import MICROS
from headwater.algebra.words.proof import Proof
from headwater.errors import ConfigurationError
from headwater.net.values.words import alteration_in, command_word, query_in, removal_in
from headwater.plan.command import Alter, Command, Install, Remove
from headwater.plan.query import Query

LIFE_SLACK_S = 5.0
"""A wall clock may be set between a question's preparation and when it is given."""


def prepared(runtime: SiteRuntime, text: str) -> api.Prepared:
    version = runtime.roster.version
    installs = [
        Install(query=query, trees=(), roster_version=version) for query in prepare(runtime, text)
    ]
    return _prepared(runtime, installs)


def prepared_removal(runtime: SiteRuntime, stream: str) -> api.Prepared:
    return _prepared(runtime, prepare_removal(runtime, stream))


def _prepared(runtime: SiteRuntime, commands: list[Install] | list[Remove]) -> api.Prepared:
    return api.Prepared(
        words=tuple(command_word(command) for command in commands),
        installer=runtime.site,
        home=runtime.roster.home,
        sites=tuple(site.name for site in runtime.roster.sites),
    )


def given(runtime: SiteRuntime, request: api.GiveRequest) -> api.RunReply:
    try:
        queries = give(runtime, request)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"give: wanted commands as they were prepared, {error}") from None
    return api.RunReply(tuple(installed_line(runtime, query) for query in queries))


def give(runtime: SiteRuntime, request: api.GiveRequest) -> list[Query]:
    """All commands, or none where one of them would be refused. The queries that were installed."""
    installs = [_install(runtime, one) for one in request.installs]
    removals = [_removal(one) for one in request.removals]
    alters = [_alter(one) for one in request.alters]
    commands: list[Command] = [*removals, *installs, *alters]
    for command in commands:
        _require_signed(runtime, command)
    for alter in alters:
        check_first(runtime, alter)
    for command in commands:
        runtime.command(command)
    return [install.query for install in installs]


def _install(runtime: SiteRuntime, signed: api.SignedCommand) -> Install:
    query, version, operator = query_in(signed.word)
    if version != runtime.roster.version:
        raise ConfigurationError(
            f"install of {query.id}: prepared with roster {version}, this agent has "
            f"{runtime.roster.version}; run it again"
        )
    _check_life(runtime, query)
    install = planned(runtime, query)
    return msgspec.structs.replace(install, operator=operator, proof=_proof(signed))


def _check_life(runtime: SiteRuntime, query: Query) -> None:
    """Whoever signs a question may have written another end than was prepared."""
    if query.asked is None:
        return
    life_s = query.asked.until_us / MICROS - runtime.wall_s()
    if life_s > runtime.settings.ask.life_s + LIFE_SLACK_S:
        raise ConfigurationError(
            f"question {query.id}: wanted one that ends within {runtime.settings.ask.life_s:g} s "
            f"(ask.life_s), got one that ends in {life_s:.0f} s; ask anew"
        )


def _removal(signed: api.SignedCommand) -> Remove:
    return msgspec.structs.replace(removal_in(signed.word), proof=_proof(signed))


def _alter(signed: api.SignedCommand) -> Alter:
    return msgspec.structs.replace(alteration_in(signed.word), proof=_proof(signed))


def _proof(signed: api.SignedCommand) -> Proof:
    return Proof(
        word=signed.word, signature=signed.signature, key=signed.key, certificate=signed.certificate
    )


def _require_signed(runtime: SiteRuntime, command: Command) -> None:
    signatures = runtime.network.signatures
    if not signatures.is_command_of(command.operator, command, is_counted=False):
        what = command.query.id if isinstance(command, Install) else command.id
        raise ConfigurationError(
            f"command for {what}: wanted the signature of operator {command.operator[:80]!r} with "
            "a certificate of this federation that is valid and not denied, got none that holds"
        )
