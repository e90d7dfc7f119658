"""Summaries and states as they travel: short arrays, with a limit on everything that counts.

They mirror ``Summary``, ``Coverage`` and ``SiteState``; other words are in ``wire_acks`` and
``wire_commands``. Three things differ.

Bitsets are bytes, since MessagePack has no integer above 64 bits. Every number has a range: an
ordinal of 2^60 would make a bitset that fills the memory, an age that is not a number would pass
every comparison. And fields are known by position with defaults at the end, so that a newer
version may append fields, an older one skips what it does not know, and both read each other.

What is structurally possible and still makes no sense (ranges out of order, a site twice in one
coverage) is refused by ``checked_*`` before a machine sees it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import (
    RANGES_MAX,
    BoundedRanges,
    Name,
    Number,
    Ordinal,
    Pane,
    SixtyFourBits,
)
from headwater.algebra.coverage import Coverage
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.route import START, Route
from headwater.algebra.sets import ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.algebra.words.absence import LOST_MAX, Absence
from headwater.algebra.words.alarm import (
    ALARM_CHARACTERS_MAX,
    ALARMS_TOLD_MAX,
    CARRIERS_NAMED_MAX,
    Alarm,
    AlarmKind,
)
from headwater.algebra.words.as_of import SiteAsOf
from headwater.algebra.words.close_digest import BlockDigest, Close, Closes
from headwater.algebra.words.degraded import DEGRADED_MAX, Degraded
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.remark import REMARKS_MAX, Remark
from headwater.algebra.words.site_state import (
    FLUSH_LEVEL_MAX,
    FOREVER,
    Declined,
    SiteState,
    Tally,
    Unread,
)
from headwater.algebra.words.update_proof import UpdateProof
from headwater.errors import WireError
from headwater.net.refusal import Refusal, Refused
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX

DIGEST_BYTES = 16
"""Of SHA-256, what stands for a leaf: nobody finds another one with the same."""
AGE_S_MAX = 1e9
CERTIFICATE_BYTES_MAX = 4_096
DIGESTS_MAX = 1_024
"""Ranges of closes in a state, and questions in an acknowledgement."""

MorePanes = Annotated[int, Meta(ge=0, lt=STATE_PANES_MAX)]
"""Before anything is made of it: a root that believed a message would count up to it."""
Age = Annotated[float, Meta(ge=0, le=AGE_S_MAX)]
TEXT_CHARACTERS_MAX = 4_096
Text = Annotated[str, Meta(max_length=TEXT_CHARACTERS_MAX)]


class WireSigned(msgspec.Struct, frozen=True, array_like=True):
    """A word as its speaker wrote it. Whoever hands it on hands on these very bytes."""

    word: bytes
    signature: Annotated[bytes, Meta(max_length=64)] = b""
    key: Annotated[bytes, Meta(max_length=16)] = b""
    certificate: Annotated[bytes, Meta(max_length=CERTIFICATE_BYTES_MAX)] = b""


class CertificateTold(msgspec.Struct, frozen=True, array_like=True):
    """A message between two ends of a link; no machine sees it."""

    der: Annotated[bytes, Meta(max_length=CERTIFICATE_BYTES_MAX)]


LostSites = Annotated[tuple[Ordinal, ...], Meta(max_length=LOST_MAX)]


class WireAbsence(msgspec.Struct, frozen=True, array_like=True):
    """What a peer signs of its links."""

    query: Name
    speaker: Ordinal
    clock_s: Annotated[float, Meta(ge=-1e12, le=1e12)]
    lost: LostSites = ()
    guests: LostSites = ()


class WireUpdateProof(msgspec.Struct, frozen=True, array_like=True):
    """A site's signature beside its update; the word is what stands in the summary."""

    signature: Annotated[bytes, Meta(max_length=64)]
    key: Annotated[bytes, Meta(max_length=16)]
    panes: tuple[Pane, MorePanes] | None = None
    """Those that were signed, where the summary stands for some of them only."""


WireRoute = Route
"""Its numbers are checked by the overlay, which knows what trees there are."""


class WireSummary(msgspec.Struct, frozen=True, array_like=True):
    query: Name
    pane: Pane
    coverage: PackedCoverage
    rows: bytes | None
    lane: Lane
    age_s: Age
    roster_version: Number
    plan_version: Number
    route: WireRoute = START
    more: MorePanes = 0
    signed: WireUpdateProof | None = None


class WireUpdate(msgspec.Struct, frozen=True, array_like=True):
    """What a site signs of an update."""

    query: str
    pane: int
    more: int
    coverage: PackedCoverage
    rows: bytes
    """A digest of them; empty: there are none."""


class WireAlarm(msgspec.Struct, frozen=True, array_like=True):
    """Its query and its site are those of the state."""

    kind: AlarmKind
    first: Pane
    last: Pane
    text: Annotated[str, Meta(max_length=ALARM_CHARACTERS_MAX)]
    carriers: Annotated[tuple[Name, ...], Meta(max_length=CARRIERS_NAMED_MAX)] = ()


class WireState(msgspec.Struct, frozen=True, array_like=True):
    """What has the name that it has in ``SiteState`` travels as it is."""

    query: Name
    ordinal: Ordinal
    incarnation: SixtyFourBits
    number: Number
    first_pane: Pane | None
    status: Name
    message: Text
    catching_up: bool
    ended: bool
    sealed_through: Pane
    empty: BoundedRanges
    declined: Annotated[tuple[Declined, ...], Meta(max_length=RANGES_MAX)]
    damaged: BoundedRanges
    counts: Annotated[tuple[Close, ...], Meta(max_length=RANGES_MAX)]
    tally: tuple[Number, Number, Number, Number, Number, Number]
    offset_s: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    root_incarnation: SixtyFourBits = 0
    unread: Unread | None = None
    """None: nothing, as nearly always."""
    twice_bytes: Number = 0
    """Of the tally, which has grown since."""
    alarms: Annotated[tuple[WireAlarm, ...], Meta(max_length=ALARMS_TOLD_MAX)] = ()
    is_clock_unconfirmed: bool = False
    digests: Annotated[tuple[BlockDigest, ...], Meta(max_length=DIGESTS_MAX)] = ()
    closes: Annotated[tuple[Closes, ...], Meta(max_length=DIGESTS_MAX)] = ()
    remarks: Annotated[tuple[Remark, ...], Meta(max_length=REMARKS_MAX)] = ()
    settings: Annotated[tuple[tuple[Number, Pane], ...], Meta(max_length=SETTINGS_KEPT_MAX)] = ()
    not_drawn: Number = 0
    """Of the tally."""
    flush_level: Annotated[int, Meta(ge=0, le=FLUSH_LEVEL_MAX)] = 0
    deferred: BoundedRanges = ()
    degraded: Annotated[tuple[Degraded, ...], Meta(max_length=DEGRADED_MAX)] = ()
    as_of: SiteAsOf | None = None
    paused_from: Pane | None = None


_ALIKE = tuple(
    name
    for name in WireState.__struct_fields__
    if name in SiteState.__struct_fields__ and name not in ("tally", "unread", "alarms")
)
"""What a state and its form on the wire have under one name, and in one form."""


def wire_summary(summary: Summary, rows: bytes | None) -> WireSummary:
    """``rows`` are packed; of an update with a proof as they were when it was signed."""
    return WireSummary(
        query=summary.query,
        pane=summary.pane,
        coverage=PackedCoverage.of(summary.coverage),
        rows=rows,
        lane=summary.lane,
        age_s=summary.age_s,
        roster_version=summary.roster_version,
        plan_version=summary.plan_version,
        route=summary.route,
        more=summary.more,
        signed=None if summary.proof is None else _wire_proof(summary.proof, summary),
    )


def _wire_proof(proof: UpdateProof, summary: Summary) -> WireUpdateProof:
    is_all = (proof.pane, proof.more) == (summary.pane, summary.more)
    panes = None if is_all else (proof.pane, proof.more)
    return WireUpdateProof(signature=proof.signature, key=proof.key, panes=panes)


def checked_summary(wire: WireSummary, rows: object) -> Summary:
    if wire.pane + wire.more > FOREVER:
        raise Refused(Refusal.MALFORMED, f"summary: a pane beyond all panes, {wire.more} further")
    return Summary(
        query=wire.query,
        pane=wire.pane,
        coverage=_checked_coverage(wire.coverage),
        rows=rows,
        lane=wire.lane,
        age_s=wire.age_s,
        roster_version=wire.roster_version,
        plan_version=wire.plan_version,
        route=wire.route,
        more=wire.more,
        proof=None if wire.signed is None else _proof_of_update(wire.signed, wire),
    )


def _proof_of_update(signed: WireUpdateProof, wire: WireSummary) -> UpdateProof:
    pane, more = (wire.pane, wire.more) if signed.panes is None else signed.panes
    return UpdateProof(
        signature=signed.signature, key=signed.key, pane=pane, more=more, packed=wire.rows
    )


def _checked_coverage(packed: PackedCoverage) -> Coverage:
    """Each site in one place only, groups and parts in rising order: what ``Coverage.merge``
    makes."""
    found = packed.coverage()
    for group in found.groups:
        normal(group.updates)
        if not group.is_possible:
            raise Refused(Refusal.MALFORMED, f"coverage: no group has updates {group.key}")
    if any(a.key >= b.key for a, b in pairwise(found.groups)):
        raise Refused(Refusal.MALFORMED, "coverage: wanted groups in rising order, each once")
    for part in found.parts:
        normal(part.updates)
    ordinals = [part.ordinal for part in found.parts]
    if any(a >= b for a, b in pairwise(ordinals)):
        raise Refused(Refusal.MALFORMED, "coverage: wanted parts in rising order, each site once")
    for remainder in found.withheld:
        try:
            remainder.checked()
        except WireError as error:
            raise Refused(Refusal.MALFORMED, f"coverage: {error}") from error
    if found.mentioned != found.sites.bit_count():
        raise Refused(Refusal.MALFORMED, "coverage: a site is in it twice")
    return found


def wire_state(state: SiteState) -> WireState:
    *tally, twice_bytes, not_drawn = msgspec.structs.astuple(state.tally)
    alike = {name: getattr(state, name) for name in _ALIKE}
    return WireState(
        **alike | {"message": state.message[:TEXT_CHARACTERS_MAX]},
        tally=tuple(tally),
        unread=state.unread or None,
        twice_bytes=twice_bytes,
        not_drawn=not_drawn,
        alarms=tuple(
            WireAlarm(kind=a.kind, first=a.first, last=a.last, text=a.text, carriers=a.carriers)
            for a in state.alarms
        ),
    )


def checked_state(wire: WireState, signed: WireSigned) -> SiteState:
    for panes in (wire.empty, wire.damaged, wire.deferred):
        normal(panes)
    return SiteState(
        **{name: getattr(wire, name) for name in _ALIKE},
        tally=Tally(*wire.tally, twice_bytes=wire.twice_bytes, not_drawn=wire.not_drawn),
        unread=wire.unread or Unread(),
        alarms=tuple(_checked_alarm(wire, alarm) for alarm in wire.alarms),
        proof=proof_of(signed),
    )


def checked_absence(wire: WireAbsence, signed: WireSigned, *, age_s: float) -> Absence:
    for ordinals in (wire.lost, wire.guests):
        if any(a >= b for a, b in pairwise(ordinals)):
            raise Refused(Refusal.MALFORMED, "absence: wanted sites in rising order, each once")
    return Absence(
        query=wire.query,
        speaker=wire.speaker,
        clock_s=wire.clock_s,
        lost=wire.lost,
        guests=wire.guests,
        age_s=age_s,
        proof=proof_of(signed),
    )


def _checked_alarm(wire: WireState, alarm: WireAlarm) -> Alarm:
    if alarm.last < alarm.first:
        raise Refused(
            Refusal.MALFORMED, f"alarm: panes {alarm.first} to {alarm.last}, wanted a range"
        )
    return Alarm(
        kind=alarm.kind,
        query=wire.query,
        ordinal=wire.ordinal,
        first=alarm.first,
        last=alarm.last,
        text=alarm.text,
        carriers=alarm.carriers,
    )


def proof_of(signed: WireSigned) -> Proof | None:
    """None: nobody has signed it."""
    if not signed.signature:
        return None
    return Proof(
        word=signed.word, signature=signed.signature, key=signed.key, certificate=signed.certificate
    )


def normal(found: Ranges) -> Ranges:
    if found and ranges.normal(found) != found:
        raise Refused(Refusal.MALFORMED, f"ranges: wanted them joined and rising, got {found[:4]}")
    return found
