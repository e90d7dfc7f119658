"""Words of far sites are proven, too: certificates go before the first word of their owners."""

from pathlib import Path
from typing import Any

from headwater.algebra.coverage import Coverage
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.net.identity.certs import Authority, create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.net.refusal import Refusal
from headwater.net.values.wire import CertificateTold
from headwater.overlay.messages import AckMessage, StatesMessage, SummaryMessage
from headwater.overlay.outputs import CONTROL, LATER, LIVE

QUERY = "hits@charlie#1"


def states(signed_by: Any, *numbers: int, ordinal: int = 0) -> StatesMessage:
    made = (
        SiteState(query=QUERY, ordinal=ordinal, incarnation=2**60, number=number, first_pane=17)
        for number in numbers
    )
    return StatesMessage(tuple(signed_by.signatures.sign_state(state) for state in made))


async def chain(federation: Any) -> Any:
    """alpha - bravo - charlie: alpha and charlie have never met."""
    alpha, _, bravo, by_bravo = await federation.pair()
    charlie, by_charlie = await federation.start("charlie")
    bravo.dial("charlie")
    await by_charlie.until(lambda ear: ear.ups == ["bravo"])
    await by_bravo.until(lambda ear: ear.ups == ["alpha", "charlie"])
    return alpha, bravo, by_bravo, charlie, by_charlie


def test_a_word_is_proven_to_who_has_never_met_its_speaker(live: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, bravo, by_bravo, charlie, by_charlie = await chain(federation)
        assert alpha.send("bravo", states(alpha, 1, 2), CONTROL)
        await by_bravo.until(lambda ear: len(ear.messages) == 1)
        (_, came), *_ = by_bravo.messages
        assert all(bravo.signatures.is_state_of("alpha", state) for state in came.states)
        assert bravo.send("charlie", came, CONTROL)
        await by_charlie.until(lambda ear: len(ear.messages) == 1)
        (_, handed_on), *_ = by_charlie.messages
        assert handed_on == came
        assert all(charlie.signatures.is_state_of("alpha", state) for state in handed_on.states)
        assert not any(charlie.signatures.is_state_of("bravo", s) for s in handed_on.states)

    live(test)


def test_a_certificate_is_told_once_on_each_link(live: Any) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, _ = await federation.pair()
        ack = bravo.signatures.sign_ack(
            Acknowledgement(query=QUERY, root_incarnation=1, number=1, done_through=0)
        )
        for n in range(5):
            assert bravo.send("alpha", AckMessage(ack), CONTROL)
            assert bravo.send("alpha", states(bravo, n + 1, ordinal=1), CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 10)
        assert alpha.stats().links["bravo"].received_messages == 11
        assert alpha.signatures.is_ack_of("bravo", ack)

    live(test)


def test_words_signed_with_a_renewed_key_are_proven_on_a_link_that_stays_up(
    live: Any, authority: Authority, tmp_path: Path
) -> None:
    async def test(federation: Any) -> None:
        files = issue(authority, Role.SITE, "bravo", into=tmp_path)
        alpha, by_alpha = await federation.start("alpha")
        bravo, by_bravo = await federation.start("bravo", credentials=Credentials(files))
        bravo.dial("alpha")
        await by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await by_bravo.until(lambda ear: ear.ups == ["alpha"])
        assert bravo.send("alpha", states(bravo, 1, ordinal=1), CONTROL)
        issue(authority, Role.SITE, "bravo", into=tmp_path, force=True)
        bravo.reload()
        assert bravo.send("alpha", states(bravo, 2, ordinal=1), CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 2)
        assert by_alpha.ups == ["bravo"]
        former, renewed = (message.states[0] for _, message in by_alpha.messages)
        assert former.proof.key != renewed.proof.key
        assert alpha.signatures.is_state_of("bravo", former)
        assert alpha.signatures.is_state_of("bravo", renewed)

    live(test)


def test_a_foreign_certificate_is_counted_and_the_link_goes_on(live: Any, tmp_path: Path) -> None:
    async def test(federation: Any) -> None:
        alpha, by_alpha, bravo, _ = await federation.pair()
        other = create_authority(tmp_path / "other", "testland")
        foreign = Credentials(issue(other, Role.SITE, "charlie", into=tmp_path / "foreign"))
        link = bravo._links["alpha"].link
        for der in (foreign.der, b"nothing"):
            assert link._queue(CertificateTold(der), link._sides[0].streams[1])
        assert bravo.send("alpha", states(bravo, 1, ordinal=1), CONTROL)
        await by_alpha.until(lambda ear: len(ear.messages) == 1)
        assert alpha.stats().refused[Refusal.FOREIGN_CERTIFICATE] == 2

    live(test)


def test_certificates_that_wait_are_not_handed_back_as_messages(live: Any) -> None:
    async def test(federation: Any) -> None:
        _, _, bravo, by_bravo = await federation.pair()
        link = bravo._links["alpha"].link
        link._sides[0].connection.pause_writing()
        assert bravo.send("alpha", states(bravo, 1, ordinal=1), CONTROL)
        bravo.close_link("alpha")
        await by_bravo.until(lambda ear: bool(ear.downs))
        ((_, unsent),) = by_bravo.downs
        assert [type(message) for message in unsent] == [StatesMessage]

    live(test)


def test_an_update_is_proven_whichever_stream_it_takes(live: Any) -> None:
    """Streams overtake each other, so a certificate that went on another one may come too late."""

    async def test(federation: Any) -> None:
        alpha, bravo, by_bravo, charlie, by_charlie = await chain(federation)
        for n, (lane, priority) in enumerate([(Lane.LIVE, LIVE), (Lane.SPARE, LATER)]):
            update = Summary(query=QUERY, pane=n, coverage=Coverage.of_empty(0, 7), lane=lane)
            signed = alpha.signatures.sign_update(update)
            assert alpha.send("bravo", SummaryMessage(signed), priority)
            await by_bravo.until(lambda ear, n=n: len(ear.messages) == n + 1)
            (_, came) = by_bravo.messages[-1]
            assert bravo.signatures.is_update_of("alpha", came.summary)
            assert bravo.send("charlie", came, priority)
            await by_charlie.until(lambda ear, n=n: len(ear.messages) == n + 1)
            assert charlie.signatures.is_update_of("alpha", by_charlie.messages[-1][1].summary)
        assert charlie.stats().links["bravo"].received_messages == 4, "with a certificate each"

    live(test)
