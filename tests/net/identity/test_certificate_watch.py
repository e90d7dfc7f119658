"""New certificates and a deny list, taken up by looking at the files, over real TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headwater.agent.care.certificate_watch import CertificateWatch
from headwater.errors import HeadwaterError
from headwater.net.control.control import Caller
from headwater.net.control.control_client import ControlClient
from headwater.net.identity.certs import Authority, identity_in, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials


def watch_over(credentials: Credentials, network: Any) -> CertificateWatch:
    return CertificateWatch(credentials.paths, network.reload)


def test_a_certificate_that_is_written_to_the_deny_list_loses_its_link(
    live: Any, kit: Any, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        deny = tmp_path / "denied"
        credentials = federation.credentials("alpha", deny=deny)
        alpha, by_alpha = await federation.start("alpha", credentials=credentials)
        bravo, by_bravo = await federation.start("bravo")
        watch = watch_over(credentials, alpha)
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        watch.look()
        assert not by_alpha.downs, "nothing has changed"
        deny.write_text(f"{identity_in(federation.files('bravo').cert).serial:x}\n")
        watch.look()
        await by_alpha.until(lambda ear: bool(ear.downs))
        await by_bravo.until(lambda ear: bool(ear.downs))
        bravo.dial("alpha")
        await kit.eventually(lambda: alpha.stats().refused.get("denied certificate") == 2)
        deny.write_text("")
        watch.look()
        await kit.eventually(lambda: bravo.stats().refused.get("refused us") == 1)
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo", "bravo"])

    live(test)


def test_an_operator_who_is_denied_loses_the_connection_and_gets_no_other(
    live: Any, kit: Any, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        async def echo(name: str, payload: dict[str, Any], caller: Caller) -> Any:
            return payload

        deny = tmp_path / "denied"
        credentials = federation.credentials("alpha", deny=deny)
        alpha, _ = await federation.start("alpha", credentials=credentials, control=echo)
        watch = watch_over(credentials, alpha)
        olga = federation.files("olga")
        async with ControlClient("127.0.0.1", alpha.port, olga) as client:
            assert await client.request("echo", {"n": 1}) == {"n": 1}
            deny.write_text(f"{identity_in(olga.cert).serial:x}\n")
            watch.look()
            with pytest.raises(HeadwaterError):
                await client.request("echo", {"n": 2})
        with pytest.raises(HeadwaterError):
            async with ControlClient("127.0.0.1", alpha.port, olga) as client:
                await client.request("echo", {"n": 3})
        await kit.eventually(lambda: alpha.stats().refused.get("denied certificate") == 2)

    live(test)


def test_a_new_certificate_is_shown_to_the_next_peer(
    live: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        files = issue(authority, Role.SITE, "bravo", into=tmp_path)
        credentials = Credentials(files)
        alpha, by_alpha = await federation.start("alpha")
        bravo, _ = await federation.start("bravo", credentials=credentials)
        watch = watch_over(credentials, bravo)
        first = credentials.identity.serial
        issue(authority, Role.SITE, "bravo", into=tmp_path, force=True)
        watch.look()
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        second = alpha._links["bravo"].link.identity.serial
        assert second == identity_in(files.cert).serial != first

    live(test)


def test_files_that_do_not_belong_together_yet_are_tried_again(
    live: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        files = issue(authority, Role.SITE, "bravo", into=tmp_path)
        credentials = Credentials(files)
        _, by_alpha = await federation.start("alpha")
        bravo, _ = await federation.start("bravo", credentials=credentials)
        watch = watch_over(credentials, bravo)
        first = credentials.identity.serial
        old_key = files.key.read_bytes()
        issue(authority, Role.SITE, "bravo", into=tmp_path, force=True)
        new_key = files.key.read_bytes()
        files.key.write_bytes(old_key)
        watch.look()
        assert credentials.identity.serial == first, "the key is not the certificate's"
        files.key.write_bytes(new_key)
        watch.look()
        assert credentials.identity.serial != first
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])

    live(test)


def test_the_certificate_of_another_site_is_not_taken_up(
    live: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        files = issue(authority, Role.SITE, "bravo", into=tmp_path)
        credentials = Credentials(files)
        bravo, _ = await federation.start("bravo", credentials=credentials)
        watch = watch_over(credentials, bravo)
        other = issue(authority, Role.SITE, "charlie", into=tmp_path)
        files.cert.write_bytes(other.cert.read_bytes())
        files.key.write_bytes(other.key.read_bytes())
        watch.look()
        assert credentials.identity.name == "bravo"

    live(test)
