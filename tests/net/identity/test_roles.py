"""Roles in certificates, and what each may do at the open port."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.errors import ConfigurationError, NotAuthorised
from headwater.net.control.control import Caller
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import Authority, identity_in, issue
from headwater.net.identity.identity import Role, parse_uri
from headwater.net.identity.tls import Credentials
from headwater.net.transport.hello import Channel
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.plan.roster import Roster, Site


@pytest.mark.parametrize("role", list(Role))
def test_a_certificate_says_its_role(authority: Authority, tmp_path: Path, role: Role) -> None:
    files = issue(authority, role, "vera", into=tmp_path)
    assert identity_in(files.cert).role is role
    assert parse_uri(f"headwater://testland/{role}/vera") is not None


def test_a_role_that_does_not_exist_is_no_identity() -> None:
    assert parse_uri("headwater://testland/root/vera") is None


async def _who(name: str, payload: dict[str, Any], caller: Caller) -> Any:
    return f"{caller.identity.role} {caller.identity.name}"


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
def test_operators_and_viewers_are_heard_and_told_apart(
    live: Any, authority: Authority, tmp_path: Path, role: Role
) -> None:
    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha", control=_who)
        files = issue(authority, role, "vera", into=tmp_path)
        async with ControlClient("127.0.0.1", alpha.port, files) as client:
            assert await client.request("who") == f"{role} vera"

    live(test)


def test_a_relay_is_no_operator(live: Any, authority: Authority, tmp_path: Path) -> None:
    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha", control=_who)
        files = issue(authority, Role.RELAY, "vera", into=tmp_path)
        async with ControlClient("127.0.0.1", alpha.port, files) as client:
            with pytest.raises(NotAuthorised, match="is for operators and viewers"):
                await client.request("who")

    live(test)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.VIEWER])
def test_a_person_is_no_peer(authority: Authority, tmp_path: Path, role: Role) -> None:
    credentials = Credentials(issue(authority, role, "alpha", into=tmp_path))
    with pytest.raises(ConfigurationError, match="wanted one for site alpha"):
        credentials.require_site("alpha")


def _roster(*, bravo_has_data: bool) -> Roster:
    sites = (
        Site(0, "alpha", "127.0.0.1", 1),
        Site(1, "bravo", "127.0.0.1", 1, has_data=bravo_has_data),
    )
    return Roster(1, sites, home="alpha")


@pytest.mark.parametrize("has_data", [False, True])
def test_a_relays_certificate_makes_a_link_for_a_relay_and_none_for_a_site_with_data(
    live: Any, kit: Any, authority: Authority, tmp_path: Path, has_data: bool
) -> None:
    """Whichever side dials."""

    async def test(federation: Any) -> None:
        files = {
            "alpha": federation.files("alpha"),
            "bravo": issue(authority, Role.RELAY, "bravo", into=tmp_path),
        }
        ears = {}
        for name in ("alpha", "bravo"):
            network = federation.networks[name] = TlsNetwork(
                site=name,
                roster=_roster(bravo_has_data=has_data),
                roster_digest=b"",
                codec=Codec(lambda _: None),
                credentials=Credentials(files[name]),
                listen=("127.0.0.1", 0),
                address_of=lambda site: ("127.0.0.1", federation.networks[site].port),
            )
            ears[name] = kit.Ear()
            await network.start(ears[name])
        alpha, bravo = federation.networks["alpha"], federation.networks["bravo"]
        bravo.dial("alpha")
        if not has_data:
            await ears["alpha"].until(lambda ear: ear.ups == ["bravo"])
            return
        await kit.eventually(lambda: alpha.stats().refused.get("wrong role") == 1)
        alpha.dial("bravo")
        await kit.eventually(lambda: alpha.stats().refused.get("wrong role") == 2)
        assert ears["alpha"].ups == []

    live(test)


def test_the_certificate_of_the_second_connection_counts_as_well(
    live: Any, kit: Any, authority: Authority, tmp_path: Path
) -> None:
    """It was replaced between the two, and the new one is denied."""

    async def test(federation: Any) -> None:
        deny = tmp_path / "denied"
        deny.write_text("")
        files = issue(authority, Role.SITE, "bravo", into=tmp_path)
        alpha, by_alpha = await federation.start(
            "alpha", credentials=federation.credentials("alpha", deny=deny)
        )
        bravo, _ = await federation.start("bravo", credentials=Credentials(files))
        first = bravo._open

        async def replaced(site: str, channel: Channel, *rest: Any) -> Any:
            if channel is Channel.BULK:
                issue(authority, Role.SITE, "bravo", into=tmp_path, force=True)
                bravo.reload()
            return await first(site, channel, *rest)

        bravo._open = replaced
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        link = alpha._links["bravo"].link
        assert len({one.serial for one in link.identities}) == 2
        deny.write_text(f"{identity_in(files.cert).serial:x}\n")
        alpha.reload()
        await by_alpha.until(lambda ear: [site for site, _ in ear.downs] == ["bravo"])
        assert alpha.stats().refused == {"denied certificate": 1}

    live(test)


def test_a_deny_list_that_is_not_there_is_said_and_one_that_is_gone_denies_on(
    authority: Authority, tmp_path: Path
) -> None:
    deny = tmp_path / "deny"
    credentials = Credentials(issue(authority, Role.SITE, "here", into=tmp_path), deny=deny)
    assert credentials.missing_deny == deny
    deny.write_text("1af\n")
    credentials.reload()
    assert credentials.missing_deny is None
    deny.unlink()
    with pytest.raises(ConfigurationError, match="stays denied"):
        credentials.reload()
    assert credentials.denied == {0x1AF}
    deny.write_text("# nobody\n")
    credentials.reload()
    assert credentials.denied == frozenset()
