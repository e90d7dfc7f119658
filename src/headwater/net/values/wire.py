"""The values of the algebra as they travel: short arrays, with a limit on everything that counts.

They mirror ``Summary``, ``Coverage``, ``SiteState``, ``Acknowledgement`` and ``Install``. Three
things differ.
Bitsets are bytes, since MessagePack has no integer above 64 bits. Every number has a range: an
ordinal of 2^60 would make a bitset that fills the memory, an age that is not a number would pass
every comparison. And fields are known by position with defaults at the end, so that a newer
version may append fields, an older one skips what it does not know, and both read each other.

What is structurally possible and still makes no sense (ranges out of order, a site twice in one
coverage) is refused by ``checked_*`` before a machine sees it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from math import ceil
from typing import Annotated, TypeAlias, cast

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import (
    ORDINALS_MAX,
    RANGES_MAX,
    Bits,
    BoundedRanges,
    Name,
    Number,
    Ordinal,
    Pane,
    SixtyFourBits,
)
from headwater.algebra.coverage import Coverage
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.remainders.share_table import (
    SHARE_LEVELS_MAX,
    TABLES_TOLD_MAX,
    ShareTable,
    problem,
)
from headwater.algebra.route import START, TREES_MAX, Route
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.summary import STATE_PANES_MAX, Lane, Summary
from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    AckLeaf,
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    RoundsHeld,
)
from headwater.algebra.words.alarm import (
    ALARM_CHARACTERS_MAX,
    ALARMS_TOLD_MAX,
    CARRIERS_NAMED_MAX,
    Alarm,
    AlarmKind,
)
from headwater.algebra.words.close_digest import Asked, BlockDigest, Close, Closes
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
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX, Settings
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import QueryId
from headwater.plan.tree import Tree

LEAVES_MAX = ORDINALS_MAX // LEAF_SITES
DIGEST_BYTES = 16
"""Of SHA-256, what stands for a leaf: nobody finds another one with the same."""
NAMES_MAX = 1 << 16
AGE_S_MAX = 1e9
CERTIFICATE_BYTES_MAX = 4_096
DIGESTS_MAX = 1_024
"""Ranges of closes in a state, and questions in an acknowledgement."""

NOBODY = -1
OrdinalOrNone = Annotated[int, Meta(ge=NOBODY, lt=ORDINALS_MAX)]
LeafNumber = Annotated[int, Meta(ge=0, lt=LEAVES_MAX)]
Place = Annotated[int, Meta(ge=0, lt=LEAF_SITES)]
"""Of a site in its leaf."""
LeafBits = Annotated[bytes, Meta(max_length=LEAF_SITES // 8)]
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


_ALIKE = tuple(
    name
    for name in WireState.__struct_fields__
    if name in SiteState.__struct_fields__ and name not in ("tally", "unread", "alarms")
)
"""What a state and its form on the wire have under one name, and in one form."""


class _LeafWithoutRounds(msgspec.Struct, frozen=True, array_like=True):
    """As agents of 0.4 write it, and sign it; and all others where there is nothing more."""

    runs: Annotated[tuple[tuple[Pane, Number], ...], Meta(max_length=RANGES_MAX)]
    """The panes of which something is held: the first of a run, and how many follow it."""
    bits: bytes
    """Of each of these panes as many bytes. In an outage most panes have the same, and next to each
    other they shrink to next to nothing."""
    extra: Annotated[
        tuple[tuple[Pane, Place, SixtyFourBits, BoundedRanges], ...], Meta(max_length=RANGES_MAX)
    ]
    greetings: Annotated[
        tuple[tuple[Place, SixtyFourBits, Number], ...], Meta(max_length=LEAF_SITES)
    ]
    formers: Annotated[
        tuple[tuple[Place, Pane, Annotated[float, Meta(ge=-1e12, le=1e12)] | None], ...],
        Meta(max_length=LEAF_SITES),
    ] = ()
    """Of greetings: sites with former lives, up to where these may be held, and their clocks."""


class WireAckLeaf(_LeafWithoutRounds, frozen=True, array_like=True):
    rounds: Annotated[
        tuple[tuple[Pane, Number, Number, LeafBits], ...], Meta(max_length=RANGES_MAX)
    ] = ()
    """(pane, first update, how many follow it, sites of this leaf)"""


TRAVEL_PARTS = 20
TRAVEL_MAX = 1 << 16
WireLevels: TypeAlias = Annotated[
    tuple[tuple[Number, Bits], ...], Meta(max_length=SHARE_LEVELS_MAX)
]
WireShares: TypeAlias = tuple[Number, Pane, Number, WireLevels]
"""(number, first pane, how many follow it, levels of shares)"""


class _HeadOfFirsts(msgspec.Struct, frozen=True, array_like=True):
    """As agents of 0.4 write it, and sign it; and all others where no pane has several updates."""

    query: Name
    root_incarnation: SixtyFourBits
    number: Number
    done_through: Pane
    held: BoundedRanges
    listed: BoundedRanges = ()
    sites_clock_s: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    filled: Annotated[bytes, Meta(max_length=LEAVES_MAX // 8)] = b""
    """Which leaves there are."""
    digests: Annotated[bytes, Meta(max_length=LEAVES_MAX * DIGEST_BYTES)] = b""
    """Theirs, one after the other."""
    clock_s: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = None
    agreed: Annotated[tuple[tuple[Pane, Bits], ...], Meta(max_length=DIGESTS_MAX)] = ()
    asked: Annotated[tuple[tuple[Ordinal, Pane, Pane], ...], Meta(max_length=DIGESTS_MAX)] = ()
    wanted: Annotated[tuple[tuple[Pane, Bits], ...], Meta(max_length=DIGESTS_MAX)] = ()
    awaited_from: Pane | None = None


class _HeadOfSeveral(_HeadOfFirsts, frozen=True, array_like=True):
    tells_several: bool = False


class _HeadOfShares(_HeadOfSeveral, frozen=True, array_like=True):
    shares: Annotated[tuple[WireShares, ...], Meta(max_length=TABLES_TOLD_MAX)] = ()
    travel: Annotated[int, Meta(ge=0, le=TRAVEL_MAX)] | None = None
    """In parts of a second (``TRAVEL_PARTS``), rounded up."""


class WireAckHead(_HeadOfShares, frozen=True, array_like=True):
    unwanted: BoundedRanges = ()


class WireAckOnItsWay(msgspec.Struct, frozen=True, array_like=True):
    """Beside the root's word stand what grows on the way, and as many leaves as are handed on."""

    signed: WireSigned
    age_s: Age
    late_s: Age = 0.0
    leaves: Annotated[tuple[tuple[LeafNumber, bytes], ...], Meta(max_length=LEAVES_MAX)] = ()


class WireTree(msgspec.Struct, frozen=True, array_like=True):
    """An install is mostly trees, and everybody gets it: parents alone take half of the bytes."""

    root: Ordinal
    above: Annotated[tuple[OrdinalOrNone, ...], Meta(max_length=ORDINALS_MAX)]
    """By ordinal: the parent."""


class WireQuery(msgspec.Struct, frozen=True, array_like=True):
    """An operator's word."""

    query: FlatQuery
    roster_version: Number
    operator: Name = ""


class WirePlan(msgspec.Struct, frozen=True, array_like=True):
    """A planner's word."""

    query: Name
    version: Number
    trees: Annotated[tuple[WireTree, ...], Meta(max_length=TREES_MAX)]


class WireInstall(msgspec.Struct, frozen=True, array_like=True, tag="install"):
    query: WireSigned
    plan: WireSigned
    age_s: Age = 0.0
    root_clock_s: float | None = None


class WireRemoval(msgspec.Struct, frozen=True, array_like=True):
    """An operator's word."""

    id: QueryId
    installer: Name
    counter: Number
    operator: Name = ""


class WireRemove(msgspec.Struct, frozen=True, array_like=True, tag="remove"):
    removal: WireSigned


WireCommand = WireInstall | WireRemove


class WireAlter(msgspec.Struct, frozen=True, array_like=True):
    """An operator's word."""

    id: QueryId
    installer: Name
    counter: Number
    operator: Name
    number: Number
    first_pane: Pane
    settings: Settings


class WireCount(msgspec.Struct, frozen=True, array_like=True):
    """An installer's word."""

    installer: Name
    number: Number
    revision: Number
    live: Annotated[tuple[Name, ...], Meta(max_length=NAMES_MAX)] = ()
    ended: Annotated[tuple[WireSigned, ...], Meta(max_length=NAMES_MAX)] = ()
    altered: Annotated[tuple[tuple[Name, Number], ...], Meta(max_length=NAMES_MAX)] = ()


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
        _normal(group.updates)
        if not group.is_possible:
            raise Refused(Refusal.MALFORMED, f"coverage: no group has updates {group.key}")
    if any(a.key >= b.key for a, b in pairwise(found.groups)):
        raise Refused(Refusal.MALFORMED, "coverage: wanted groups in rising order, each once")
    for part in found.parts:
        _normal(part.updates)
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
        _normal(panes)
    return SiteState(
        **{name: getattr(wire, name) for name in _ALIKE},
        tally=Tally(*wire.tally, twice_bytes=wire.twice_bytes, not_drawn=wire.not_drawn),
        unread=wire.unread or Unread(),
        alarms=tuple(_checked_alarm(wire, alarm) for alarm in wire.alarms),
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


def wire_ack_head(ack: Acknowledgement) -> WireAckHead:
    head = _HeadOfFirsts(
        query=ack.query,
        root_incarnation=ack.root_incarnation,
        number=ack.number,
        done_through=ack.done_through,
        held=ack.held,
        listed=ack.listed,
        sites_clock_s=ack.sites_clock_s,
        filled=bitset.to_bytes(ack.filled),
        digests=b"".join(ack.digests),
        clock_s=ack.clock_s,
        agreed=tuple((one.pane, bitset.to_bytes(one.sites)) for one in ack.agreed),
        asked=tuple((one.ordinal, one.first, one.last) for one in ack.asked),
        wanted=tuple((one.pane, bitset.to_bytes(one.sites)) for one in ack.wanted),
        awaited_from=ack.awaited_from,
    )
    has_more = bool(ack.shares) or ack.travel_s is not None or bool(ack.unwanted)
    if not ack.tells_several and not has_more:
        return cast(WireAckHead, head)  # as it is read, and a byte shorter
    several = _HeadOfSeveral(**msgspec.structs.asdict(head), tells_several=ack.tells_several)
    if not has_more:
        return cast(WireAckHead, several)
    shares = tuple(_wire_shares(table) for table in ack.shares)
    travel = None if ack.travel_s is None else min(TRAVEL_MAX, ceil(ack.travel_s * TRAVEL_PARTS))
    more = _HeadOfShares(**msgspec.structs.asdict(several), shares=shares, travel=travel)
    if not ack.unwanted:
        return cast(WireAckHead, more)
    return WireAckHead(**msgspec.structs.asdict(more), unwanted=ack.unwanted)


def _wire_shares(table: ShareTable) -> WireShares:
    levels = tuple((units, bitset.to_bytes(sites)) for units, sites in table.levels)
    return table.number, table.first, table.last - table.first, levels


def _checked_shares(wire: WireShares) -> ShareTable:
    number, first, more, levels = wire
    table = ShareTable(
        number,
        first,
        first + more,
        tuple((units, bitset.from_bytes(sites)) for units, sites in levels),
    )
    fault = problem(table)
    if fault is not None:
        raise Refused(Refusal.MALFORMED, fault)
    return table


def wire_ack_leaf(leaf: AckLeaf) -> WireAckLeaf:
    first = leaf.number * LEAF_SITES
    runs = ranges.normal((held.pane, held.pane) for held in leaf.panes)
    width = max((1, *(len(bitset.to_bytes(held.sites)) for held in leaf.panes)))
    bare = _LeafWithoutRounds(
        runs=tuple((a, b - a) for a, b in runs),
        bits=b"".join(held.sites.to_bytes(width, "little") for held in leaf.panes),
        extra=tuple(
            (more.pane, more.ordinal - first, more.incarnation, more.updates) for more in leaf.extra
        ),
        greetings=tuple(
            (hail.ordinal - first, hail.incarnation, hail.number) for hail in leaf.greetings
        ),
        formers=tuple(
            (hail.ordinal - first, hail.former_through, hail.former_clock_s)
            for hail in leaf.greetings
            if hail.former_through > -FOREVER or hail.former_clock_s is not None
        ),
    )
    if not leaf.rounds:
        return cast(WireAckLeaf, bare)
    rounds = tuple(
        (one.pane, one.first, one.last - one.first, bitset.to_bytes(one.sites))
        for one in leaf.rounds
    )
    return WireAckLeaf(**msgspec.structs.asdict(bare), rounds=rounds)


def checked_ack(
    wire: WireAckHead, leaves: Iterable[tuple[int, WireAckLeaf, bytes]], way: WireAckOnItsWay
) -> Acknowledgement:
    """``leaves``: of each its number, itself, and its bytes."""
    filled = bitset.from_bytes(wire.filled)
    count = len(wire.digests) // DIGEST_BYTES
    if len(wire.digests) % DIGEST_BYTES or count not in (0, filled.bit_count()):
        raise Refused(
            Refusal.MALFORMED,
            f"acknowledgement: wanted digests of {DIGEST_BYTES} bytes for {filled.bit_count()} "
            f"leaves or none, got {len(wire.digests)} bytes",
        )
    return Acknowledgement(
        query=wire.query,
        root_incarnation=wire.root_incarnation,
        number=wire.number,
        done_through=wire.done_through,
        held=_normal(wire.held),
        listed=_normal(wire.listed),
        age_s=way.age_s,
        sites_clock_s=wire.sites_clock_s,
        clock_s=wire.clock_s,
        late_s=way.late_s,
        filled=filled,
        digests=tuple(
            wire.digests[n : n + DIGEST_BYTES] for n in range(0, len(wire.digests), DIGEST_BYTES)
        ),
        agreed=tuple(PaneHeld(pane, bitset.from_bytes(sites)) for pane, sites in wire.agreed),
        asked=tuple(Asked(*one) for one in wire.asked),
        wanted=tuple(PaneHeld(pane, bitset.from_bytes(sites)) for pane, sites in wire.wanted),
        awaited_from=wire.awaited_from,
        tells_several=wire.tells_several,
        shares=tuple(map(_checked_shares, wire.shares)),
        travel_s=None if wire.travel is None else wire.travel / TRAVEL_PARTS,
        unwanted=_normal(wire.unwanted),
        proof=proof_of(way.signed),
        leaves=tuple(
            _checked_leaf(number, leaf, word if count else b"") for number, leaf, word in leaves
        ),
    )


def _checked_leaf(number: int, wire: WireAckLeaf, word: bytes) -> AckLeaf:
    first = number * LEAF_SITES
    formers = {place: (through, clock_s) for place, through, clock_s in wire.formers}
    return AckLeaf(
        number=number,
        panes=_checked_panes(wire),
        extra=tuple(
            ExtraHeld(
                pane=pane, ordinal=first + place, incarnation=incarnation, updates=_normal(updates)
            )
            for pane, place, incarnation, updates in wire.extra
        ),
        greetings=tuple(
            Greeting(first + place, life, number, *formers.get(place, (-FOREVER, None)))
            for place, life, number in wire.greetings
        ),
        rounds=tuple(
            RoundsHeld(pane=pane, first=update, last=update + more, sites=bitset.from_bytes(sites))
            for pane, update, more, sites in wire.rounds
        ),
        word=word,
    )


def _checked_panes(wire: WireAckLeaf) -> tuple[PaneHeld, ...]:
    """As many panes as there are bits for: nobody counts up to what a run claims."""
    runs = _normal(tuple((first, first + more) for first, more in wire.runs))
    count = sum(last - first + 1 for first, last in runs)
    width, rest = divmod(len(wire.bits), count) if count else (0, len(wire.bits))
    if rest or width > LEAF_SITES // 8 or (count and not width):
        raise Refused(Refusal.MALFORMED, f"leaf: {len(wire.bits)} bytes for {count} panes")
    panes = chain.from_iterable(range(first, last + 1) for first, last in runs)
    return tuple(
        PaneHeld(pane, bitset.from_bytes(wire.bits[n * width : (n + 1) * width]))
        for n, pane in enumerate(panes)
    )


def wire_tree(tree: Tree) -> WireTree:
    above = [NOBODY] * tree.ordinals.stop
    for child, parent in tree.parents:
        above[child] = parent
    return WireTree(root=tree.root, above=tuple(above))


def checked_tree(wire: WireTree) -> Tree:
    """A tree in which somebody does not reach the root is refused as it is made."""
    pairs = ((child, parent) for child, parent in enumerate(wire.above) if parent != NOBODY)
    return Tree(wire.root, tuple(pairs))


def _normal(found: Ranges) -> Ranges:
    if found and ranges.normal(found) != found:
        raise Refused(Refusal.MALFORMED, f"ranges: wanted them joined and rising, got {found[:4]}")
    return found
