"""From a command to the agent that answers it: whom to ask, as whom, and asking.

A federation's directory has its ``roster.signed`` and, under ``certs``, the CA's certificate and an
operator's. Any agent takes any request. One that does not know the answer itself says who does, and
that one is asked instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from headwater.agent.control.control_api import Elsewhere
from headwater.agent.control.operator_client import Ask
from headwater.cli import current
from headwater.errors import ConfigurationError, HeadwaterError, Unreachable
from headwater.local.federation_files import ROSTER
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import CertFiles, identity_in
from headwater.net.identity.identity import Role
from headwater.net.identity.signed_roster import RosterTrust, load_signed_roster
from headwater.net.identity.signing import OperatorSignature

REDIRECTS_MAX = 2
"""An agent may send us on; agents that send us in circles are wrong about something."""

R = TypeVar("R")


class Agent(msgspec.Struct, frozen=True):
    """One agent to ask, and the certificate to ask with."""

    site: str
    host: str
    port: int
    certs: CertFiles

    def client(self) -> ControlClient:
        return ControlClient(self.host, self.port, self.certs, site=self.site)

    def moved(self, to: Elsewhere) -> Agent:
        return msgspec.structs.replace(self, site=to.site, host=to.host, port=to.port)


def find_agent(federation: Path | None, site: str | None) -> Agent:
    """The agent of ``site``, or of the federation's home."""
    directory = current.federation(federation)
    files = operator_files(directory / "certs")
    roster = load_signed_roster(directory / ROSTER, RosterTrust.of_ca(files.ca)).roster
    found = roster.site(site or roster.home)
    return Agent(found.name, found.host, found.port, files)


def operator_files(directory: Path) -> CertFiles:
    """The first certificate in the directory with the role of an operator, else of a viewer."""
    certs = [cert for cert in sorted(directory.glob("*.pem")) if cert.name != "ca.pem"]
    for role in (Role.OPERATOR, Role.VIEWER):
        for cert in certs:
            key = cert.with_suffix(".key")
            if key.exists() and identity_in(cert).role is role:
                return CertFiles(directory / "ca.pem", cert, key)
    if directory.is_file():
        raise ConfigurationError(f"{directory}: wanted the directory that it lies in, got a file")
    raise ConfigurationError(
        f"{directory}: no operator's certificate there; make one with: "
        f"headwater certs operator CA NAME --into {directory}"
    )


def ask(
    federation: Path | None,
    site: str | None,
    name: str,
    request: msgspec.Struct | None,
    reply: type[R],
) -> R:
    """The reply to one request, from whoever can give it."""
    with _told_whether_it_runs(federation):
        payload = asyncio.run(_ask(find_agent(federation, site), name, _plain(request)))
    return msgspec.convert(payload, reply)


def command(
    federation: Path | None,
    site: str | None,
    give: Callable[[Ask, OperatorSignature], Awaitable[R]],
) -> R:
    """Give commands to one agent, signed with the operator's key."""

    async def given() -> R:
        async with find_agent(federation, site).client() as client:
            return await give(client.request, client.signature)

    with _told_whether_it_runs(federation):
        return asyncio.run(given())


def listen(
    federation: Path | None, site: str | None, name: str, request: msgspec.Struct, event: type[R]
) -> Iterator[R]:
    """The events of one request as they come, until the agent ends them or the caller stops."""
    agent = find_agent(federation, site)
    with _told_whether_it_runs(federation), asyncio.Runner() as runner:
        events = _listen(agent, name, _plain(request))
        try:
            while (payload := runner.run(_next(events))) is not None:
                yield msgspec.convert(payload, event)
        finally:
            runner.run(_close(events))


@contextmanager
def _told_whether_it_runs(federation: Path | None) -> Iterator[None]:
    """An address that nobody answers at tells a person little."""
    try:
        yield
    except Unreachable as error:
        raise current.unreachable(federation, error) from None


async def _ask(agent: Agent, name: str, payload: dict[str, Any]) -> Any:
    for _ in range(REDIRECTS_MAX + 1):
        async with agent.client() as client:
            answer = await client.request(name, payload)
        elsewhere = _elsewhere(answer)
        if elsewhere is None:
            return answer
        agent = agent.moved(elsewhere)
    raise _in_circles(name, agent)


async def _listen(agent: Agent, name: str, payload: dict[str, Any]) -> AsyncGenerator[Any]:
    for _ in range(REDIRECTS_MAX + 1):
        elsewhere = None
        async with agent.client() as client, aclosing(_stream(client, name, payload)) as events:
            async for answer in events:
                elsewhere = _elsewhere(answer)
                if elsewhere is not None:
                    break
                yield answer
        if elsewhere is None:
            return
        agent = agent.moved(elsewhere)
    raise _in_circles(name, agent)


def _stream(client: ControlClient, name: str, payload: dict[str, Any]) -> AsyncGenerator[Any]:
    return cast("AsyncGenerator[Any]", client.stream(name, payload))


async def _next(events: AsyncGenerator[Any]) -> Any:
    return await anext(events, None)


async def _close(events: AsyncGenerator[Any]) -> None:
    await events.aclose()


def _plain(request: msgspec.Struct | None) -> dict[str, Any]:
    return {} if request is None else msgspec.structs.asdict(request)


def _elsewhere(answer: Any) -> Elsewhere | None:
    if isinstance(answer, dict) and answer.get("type") == Elsewhere.__name__:
        return msgspec.convert(answer, Elsewhere)
    return None


def _in_circles(name: str, agent: Agent) -> HeadwaterError:
    return HeadwaterError(
        f"{name}: after {REDIRECTS_MAX} redirections the agent of {agent.site} points elsewhere "
        "again; their rosters may differ"
    )
