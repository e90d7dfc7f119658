"""Links over real sockets: formed, used, lost and formed again, and honest about each."""

import asyncio
import random
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.algebra.summary import Lane
from headwater.errors import ConfigurationError
from headwater.net.identity.certs import Authority, CertFiles, identity_in, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.network import NetLimits
from headwater.net.transport.tls_network import TlsNetwork
from headwater.net.values.codec import Codec
from headwater.overlay.messages import AskInstall, Heartbeat, SummaryMessage
from headwater.overlay.outputs import CONTROL, LATER, LIVE

BEAT = Heartbeat(sent_s=1.0, echo_s=None, echo_held_s=0.0, digest=7)


def test_a_link_carries_messages_both_ways_whoever_dialled(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, by_bravo = await federation.pair()
        assert alpha.send("bravo", BEAT, CONTROL)
        assert bravo.send("alpha", kit.a_summary(keys=500), LIVE)
        await by_bravo.until(lambda ear: ear.messages == [("alpha", BEAT)])
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        (sender, message) = by_alpha.messages[0]
        assert sender == "bravo"
        assert message.summary.rows.equals(kit.a_summary(keys=500).summary.rows)
        link = alpha.stats().links["bravo"]
        assert (link.sent_messages, link.received_messages, link.links) == (1, 1, 1)
        assert link.is_up

    live(test)


def test_what_travels_is_counted_as_it_travels(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, _ = await federation.pair()
        before = bravo.stats().links["alpha"].sent_bytes
        message = kit.a_summary(keys=2000)
        bravo.send("alpha", message, LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        sent = bravo.stats().links["alpha"].sent_bytes - before
        encoded = len(Codec(kit.schema_of).encode(message))
        assert encoded < sent < encoded + 100
        assert alpha.stats().links["bravo"].received_bytes >= sent

    live(test)


def test_the_kernel_tells_round_trip_and_delivery_rate(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha, bravo, _ = await federation.pair()
        for pane in range(20):
            bravo.send("alpha", kit.a_summary(pane, keys=5000), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 20)
        link = bravo.stats().links["alpha"]
        assert 0 < link.rtt_min_s <= link.rtt_s < 5
        assert link.delivery_bytes_per_s > 1000

    live(test)


def test_two_sites_that_dial_each_other_at_once_end_up_with_one_link(live: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo")
        for _ in range(5):
            alpha.dial("bravo")
            bravo.dial("alpha")
            await by_alpha.until(lambda ear: len(ear.ups) == len(ear.downs) + 1)
            await by_bravo.until(lambda ear: len(ear.ups) == len(ear.downs) + 1)
            seen = len(by_alpha.messages)
            bravo.send("alpha", BEAT, CONTROL)
            await by_alpha.until(lambda ear, seen=seen: len(ear.messages) > seen)
            downs = len(by_bravo.downs)
            alpha.close_link("bravo")
            await by_bravo.until(lambda ear, downs=downs: len(ear.downs) > downs)
            await by_alpha.until(lambda ear: len(ear.ups) == len(ear.downs))
        assert by_alpha.log.count("up bravo") == 5
        assert by_bravo.log.count("up alpha") == 5

    live(test)


def test_a_dial_while_a_link_is_open_changes_nothing(live: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, by_bravo = await federation.pair()
        bravo.dial("alpha")
        alpha.dial("bravo")
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        assert by_alpha.log == ["up bravo", "Heartbeat"]
        assert by_bravo.log == ["up alpha"]

    live(test)


def test_a_site_that_comes_back_replaces_the_link_that_it_lost(live: Any) -> None:
    """alpha has not noticed that bravo is gone when the new bravo dials."""

    async def test(federation: Any) -> None:
        _, by_alpha, bravo, _ = await federation.pair()
        reborn, by_reborn = await federation.start("bravo")
        reborn.dial("alpha")
        await by_reborn.until(lambda ear: ear.ups == ["alpha"])
        reborn.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: ear.messages == [("bravo", BEAT)])
        assert by_alpha.log == ["up bravo", "down bravo", "up bravo", "Heartbeat"]
        await bravo.stop()

    live(test)


def test_a_link_that_ends_hands_back_what_it_had_not_written(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha, bravo, by_bravo = await federation.pair()
        panes = list(range(40))
        for pane in panes:
            assert bravo.send("alpha", kit.a_summary(pane, keys=20_000), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) >= 2)
        bravo.close_link("alpha")
        assert not bravo.send("alpha", BEAT, CONTROL)
        await by_bravo.until(lambda ear: bool(ear.downs))
        await by_alpha.until(lambda ear: bool(ear.downs))
        (_, [*unsent, too_late]), *_ = by_bravo.downs
        assert too_late == BEAT, "what was sent into the closing link came back, too"
        came = [message.summary.pane for _, message in by_alpha.messages]
        returned = [message.summary.pane for message in unsent]
        assert returned, "some of it was still in the queue"
        assert not set(came) & set(returned), "nothing both arrived and came back"
        assert returned == panes[-len(returned) :], "what came back is the end, in order"
        assert all(message.summary.age_s > 0 for message in unsent), "it has waited"
        assert bravo.stats().refused == {"no link": 1}

    live(test)


def test_what_is_sent_without_a_link_comes_back(live: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha = await federation.start("alpha")
        assert not alpha.send("bravo", BEAT, CONTROL)
        assert by_alpha.downs == [], "never from within the call"
        await by_alpha.until(lambda ear: ear.downs == [("bravo", [BEAT])])

    live(test)


def test_a_heartbeat_passes_a_large_transfer(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha, bravo, _ = await federation.pair()
        for pane in range(30):
            bravo.send("alpha", kit.a_summary(pane, keys=50_000), LIVE)
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 31)
        kinds = [type(message) for _, message in by_alpha.messages]
        assert kinds.index(Heartbeat) <= 3

    live(test)


def test_a_live_summary_passes_a_backlog_that_waits(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha, bravo, _ = await federation.pair()
        for pane in range(20):
            bravo.send("alpha", kit.a_summary(pane, keys=50_000, lane=Lane.BACKLOG), LATER)
        bravo.send("alpha", kit.a_summary(99), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 21)
        panes = [message.summary.pane for _, message in by_alpha.messages]
        assert panes.index(99) <= 2

    live(test)


def test_a_full_queue_refuses_and_load_is_told_up_and_down(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(bulk_queue_bytes_max=2_000_000)
        _, by_alpha, bravo, by_bravo = await federation.pair(limits=limits)
        taken = [bravo.send("alpha", kit.a_summary(n, keys=50_000), LIVE) for n in range(30)]
        assert taken[0]
        assert not taken[-1]
        assert 1_000_000 < bravo.queued_bytes("alpha") <= 2_000_000
        await by_alpha.until(lambda ear: len(ear.messages) == taken.count(True))
        await by_bravo.until(lambda ear: ear.loads[-1:] == [0])
        assert max(by_bravo.loads) > 500_000
        assert bravo.stats().refused == {"queue full": taken.count(False)}

    live(test)


def test_what_no_receiver_would_accept_does_not_leave(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(control_message_bytes_max=1000)
        _, by_alpha, bravo, _ = await federation.pair(limits=limits)
        wrong = kit.a_summary().summary.rows.select(["hits"])
        summary = msgspec.structs.replace(kit.a_summary().summary, rows=wrong)
        assert not bravo.send("alpha", SummaryMessage(summary), LIVE)
        chance = random.Random(1)
        ids = tuple(chance.randbytes(8).hex() for _ in range(1000))
        assert not bravo.send("alpha", AskInstall(ids), CONTROL)
        assert bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: ear.messages == [("bravo", BEAT)])
        assert bravo.stats().refused == {"unsendable": 2}

    live(test)


def test_what_waited_in_the_queue_has_grown_older_by_it(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        _, by_alpha, bravo, _ = await federation.pair()
        now_s = asyncio.get_running_loop().time
        sent_s = []
        for pane in range(30):
            sent_s.append(now_s())
            bravo.send("alpha", kit.a_summary(pane, keys=50_000), LIVE)
        took_s = []
        for pane in range(30):
            await by_alpha.until(lambda ear, pane=pane: len(ear.messages) > pane)
            took_s.append(now_s() - sent_s[pane])
        ages_s = [message.summary.age_s for _, message in by_alpha.messages]
        assert all(age <= took for age, took in zip(ages_s, took_s, strict=True))
        assert sum(ages_s) > sum(took_s) / 3

    live(test)


def test_a_silent_link_is_closed(live: Any) -> None:
    async def test(federation: Any) -> None:
        limits = NetLimits(sample_every_s=0.02, silence_s_max=0.2)
        _, by_alpha, _, by_bravo = await federation.pair(limits=limits)
        await by_alpha.until(lambda ear: bool(ear.downs))
        await by_bravo.until(lambda ear: bool(ear.downs))

    live(test)


def test_a_dial_that_finds_nobody_is_counted_and_may_be_repeated(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha = await federation.start("alpha")
        nobody = socket.create_server(("127.0.0.1", 0))
        address, real = nobody.getsockname(), alpha._address_of
        nobody.close()
        alpha._address_of = lambda site: address
        alpha.dial("bravo")
        await kit.eventually(lambda: alpha.stats().refused == {"unreachable": 1})
        alpha._address_of = real
        await federation.start("bravo")
        alpha.dial("bravo")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])

    live(test)


def test_a_site_with_another_name_at_the_address_is_not_linked(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha = await federation.start("alpha")
        await federation.start("charlie")
        federation.networks["bravo"] = federation.networks["charlie"]
        alpha.dial("bravo")
        await kit.eventually(lambda: alpha.stats().refused == {"wrong name": 1})
        assert by_alpha.log == []
        assert any("charlie is there" in text for _, text in federation.notices)

    live(test)


def test_a_message_that_breaks_the_rules_is_dropped_and_the_link_goes_on(
    live: Any, kit: Any
) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, _ = await federation.pair()
        link = bravo._links["alpha"].link
        link._codec = _Saying(b"\x63 a word of tomorrow")
        bravo.send("alpha", BEAT, CONTROL)
        link._codec = Codec(kit.schema_of)
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: ear.messages == [("bravo", BEAT)])
        assert alpha.stats().refused == {"unknown message": 1}
        assert by_alpha.downs == []

    live(test)


class _Saying:
    """A codec that says one thing."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def encode(self, message: object) -> bytes:
        return self._data


def test_rows_of_a_query_that_is_not_known_travel_on_as_they_are(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, _ = await federation.pair()
        _, by_charlie = await federation.start("charlie")
        alpha.dial("charlie")
        await by_alpha.until(lambda ear: ear.ups == ["bravo", "charlie"])
        alpha._links["bravo"].link._codec = Codec(lambda query: None)
        alpha._links["charlie"].link._codec = Codec(lambda query: None)
        bravo.send("alpha", kit.a_summary(), LIVE)
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        message = by_alpha.messages[0][1]
        assert isinstance(message, SummaryMessage)
        assert isinstance(message.summary.rows, bytes)
        alpha.send("charlie", message, LIVE)
        await by_charlie.until(lambda ear: len(ear.messages) == 1)
        assert by_charlie.messages[0][1].summary.rows.equals(kit.a_summary().summary.rows)

    live(test)


def test_a_denied_certificate_loses_its_link_at_reload_and_does_not_come_back(
    live: Any, kit: Any, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        deny = tmp_path / "denied"
        alpha, by_alpha = await federation.start(
            "alpha", credentials=federation.credentials("alpha", deny=deny)
        )
        bravo, by_bravo = await federation.start("bravo")
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        serial = identity_in(federation.files("bravo").cert).serial
        deny.write_text(f"{serial:x}  # bravo was stolen\n")
        alpha.reload()
        await by_alpha.until(lambda ear: bool(ear.downs))
        await by_bravo.until(lambda ear: bool(ear.downs))
        bravo.dial("alpha")
        await kit.eventually(lambda: alpha.stats().refused.get("denied certificate") == 2)
        await kit.eventually(lambda: bravo.stats().refused.get("refused us") == 1)
        assert by_alpha.ups == ["bravo"]

    live(test)


def test_a_new_certificate_is_used_after_reload_without_losing_links(
    live: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        files = issue(authority, Role.SITE, "bravo", into=tmp_path)
        alpha, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", credentials=Credentials(files))
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        issue(authority, Role.SITE, "bravo", into=tmp_path, force=True)
        bravo.reload()
        bravo.send("alpha", BEAT, CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        first = alpha._links["bravo"].link.identity.serial
        alpha.close_link("bravo")
        await by_bravo.until(lambda ear: bool(ear.downs))
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: len(ear.ups) == 2)
        second = alpha._links["bravo"].link.identity.serial
        assert second == identity_in(files.cert).serial != first

    live(test)


def test_an_agent_with_the_certificate_of_another_does_not_start(
    authority: Authority, kit: Any
) -> None:
    at = authority.directory
    files = CertFiles(at / "ca.pem", at / "bravo.pem", at / "bravo.key")
    with pytest.raises(ConfigurationError, match="wanted one for site alpha"):
        TlsNetwork(
            site="alpha",
            roster=kit.roster(),
            roster_digest=b"",
            credentials=Credentials(files),
            codec=Codec(kit.schema_of),
            listen=None,
        )


def test_a_port_in_use_is_named(live: Any, kit: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha")
        second = TlsNetwork(
            site="bravo",
            roster=alpha._roster,
            roster_digest=b"",
            credentials=federation.credentials("bravo"),
            codec=Codec(lambda query: None),
            listen=("127.0.0.1", alpha.port),
        )
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{alpha.port}"):
            await second.start(kit.Ear())

    live(test)
