"""Messages that a calm run does not send: made by hand, so that the recording has each field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import Acknowledgement, PaneHeld
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.close_digest import Asked, BlockDigest, Closes
from headwater.algebra.words.site_state import Declined, Reason, SiteState, Tally, Unread
from headwater.net.control.control import Cancel, End, Event, Failure
from headwater.net.transport.hello import Channel, Hello, RosterHeld
from headwater.overlay.messages import (
    AbsenceMessage,
    AckMessage,
    Message,
    PausesMessage,
    StatesMessage,
    SummaryMessage,
    TreePause,
)
from headwater.overlay.signatures import Signatures

QUERY = "volume@home#1"


def made_messages(signatures: Signatures) -> Iterator[Message]:
    """Of north, which signs them."""
    yield StatesMessage((signatures.sign_state(_full_state()),))
    yield AckMessage(signatures.sign_ack(_full_ack()))
    absence = Absence(QUERY, speaker=2, clock_s=1.5, lost=(3, 9), guests=(4,), age_s=0.5)
    yield AbsenceMessage(signatures.sign_absence(absence))
    yield PausesMessage((TreePause(QUERY, 0, 1, 448_726_501, 2.0),))
    part = SitePart(ordinal=2, incarnation=1 << 60, updates=((1, 2), (4, 4)), closed_at=2)
    coverage = Coverage(whole=1 << 4, empty=0, tag=7, parts=(part,))
    yield SummaryMessage(
        Summary(
            query=QUERY,
            pane=448_726_501,
            coverage=coverage,
            rows=None,
            lane=Lane.BACKLOG,
            age_s=1.5,
            roster_version=7,
            plan_version=0,
        )
    )
    spare = Coverage(parts=(part,))
    yield SummaryMessage(
        Summary(
            query=QUERY,
            pane=448_726_502,
            coverage=spare,
            rows=None,
            lane=Lane.SPARE,
            age_s=0.25,
            roster_version=7,
            plan_version=1,
        )
    )
    yield SummaryMessage(
        Summary(
            query=QUERY,
            pane=448_726_503,
            coverage=spare,
            rows=None,
            lane=Lane.LIVE,
            age_s=0.0,
            roster_version=7,
            plan_version=0,
            more=3,
        )
    )


def _full_state() -> SiteState:
    """In which each field says something."""
    alarm = Alarm(
        kind=AlarmKind.UNNAMED,
        query=QUERY,
        ordinal=2,
        first=448_726_501,
        last=448_726_502,
        text="somebody has said it",
        carriers=("hub",),
    )
    return SiteState(
        query=QUERY,
        ordinal=2,
        incarnation=1 << 60,
        number=12,
        first_pane=448_726_501,
        status="suspended",
        message="it takes more than its share",
        catching_up=True,
        ended=True,
        sealed_through=448_726_510,
        empty=((448_726_503, 448_726_504),),
        declined=(Declined(first=448_726_506, last=448_726_507, reason=Reason.LIMIT),),
        damaged=((448_726_508, 448_726_508),),
        counts=((448_726_501, 2),),
        tally=Tally(
            unparsed=1, too_late=2, fenced=3, lost_bytes=4, before_begin=5, refused=6, twice_bytes=7
        ),
        offset_s=-0.5,
        root_incarnation=1 << 59,
        unread=Unread(1, (("secret.log", "Permission denied"),)),
        alarms=(alarm,),
        is_clock_unconfirmed=True,
        digests=(BlockDigest(first=448_726_501, last=448_726_509, digest=b"sixteen bytes..."),),
        closes=(
            Closes(
                first=448_726_501,
                last=448_726_505,
                asked=7,
                closes=((448_726_501, 2), (448_726_502, 1)),
            ),
        ),
    )


def _full_ack() -> Acknowledgement:
    """One that disputes and asks."""
    first = 448_726_501
    return Acknowledgement(
        query=QUERY,
        root_incarnation=1 << 60,
        number=9,
        done_through=first,
        held=((first, first + 1),),
        listed=((first, first + 8),),
        sites_clock_s=1.5,
        late_s=0.25,
        clock_s=2.5,
        agreed=(PaneHeld(first + 2, 1 << 2),),
        asked=(Asked(ordinal=2, first=first + 3, last=first + 4),),
        wanted=(PaneHeld(first + 3, 1 << 2),),
    )


def made_hello() -> Hello:
    """Of a version that speaks more: nothing in it is what a reader takes where nothing is said."""
    roster = RosterHeld(7, b"sixteen bytes...")
    return Hello(
        "north", "home", Channel.CONTROL, 5, 2, protocol=9, protocol_oldest=1, roster=roster
    )


def made_requests() -> tuple[Any, ...]:
    return (Cancel(3),)


def made_answers() -> tuple[Any, ...]:
    event = Event(3, {"header": {"stream": "volume", "window": 1}, "rows": [{"n": 2}]})
    return event, End(3), Failure(4, "NotAuthorised", "vera is a viewer, who changes nothing")


def encoded(word: Any) -> bytes:
    return msgspec.msgpack.encode(word)
