"""Acknowledgements as they travel: a head, which the root signs, and leaves by their digests.

Heads of several lengths are one value whose last fields nobody needs: agents of before read, and
sign, the shorter ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
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
from headwater.algebra.remainders.share_table import (
    SHARE_LEVELS_MAX,
    TABLES_TOLD_MAX,
    ShareTable,
    problem,
)
from headwater.algebra.sets import bitset, ranges
from headwater.algebra.top.request import NAME_BYTES, TOP_KEYS_MAX, TOP_REQUESTS_MAX, TopRequest
from headwater.algebra.words.acknowledgement import (
    LEAF_SITES,
    AckLeaf,
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    RoundsHeld,
)
from headwater.algebra.words.close_digest import Asked
from headwater.algebra.words.pause import Pause
from headwater.algebra.words.site_state import FOREVER
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.wire import DIGEST_BYTES, DIGESTS_MAX, Age, WireSigned, normal, proof_of

LEAVES_MAX = ORDINALS_MAX // LEAF_SITES
LeafNumber = Annotated[int, Meta(ge=0, lt=LEAVES_MAX)]
Place = Annotated[int, Meta(ge=0, lt=LEAF_SITES)]
"""Of a site in its leaf."""
LeafBits = Annotated[bytes, Meta(max_length=LEAF_SITES // 8)]


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


WireTop: TypeAlias = tuple[
    Pane,
    Number,
    Annotated[float, Meta(ge=0.0)],
    Annotated[bytes, Meta(max_length=TOP_KEYS_MAX * NAME_BYTES)],
]
"""(pane, number, least, names of groups one after the other)"""


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


class _HeadOfUnwanted(_HeadOfShares, frozen=True, array_like=True):
    unwanted: BoundedRanges = ()


class _HeadOfLargest(_HeadOfUnwanted, frozen=True, array_like=True):
    largest: Annotated[tuple[WireTop, ...], Meta(max_length=TOP_REQUESTS_MAX)] = ()


class WireAckHead(_HeadOfLargest, frozen=True, array_like=True):
    pause: Pause | None = None
    exempt_through: Pane = FOREVER


class WireAckOnItsWay(msgspec.Struct, frozen=True, array_like=True):
    """Beside the root's word stand what grows on the way, and as many leaves as are handed on."""

    signed: WireSigned
    age_s: Age
    late_s: Age = 0.0
    leaves: Annotated[tuple[tuple[LeafNumber, bytes], ...], Meta(max_length=LEAVES_MAX)] = ()


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
    has_pause = ack.pause is not None or ack.exempt_through < FOREVER
    has_news = bool(ack.unwanted or ack.largest or has_pause)
    has_more = bool(ack.shares) or ack.travel_s is not None or has_news
    if not ack.tells_several and not has_more:
        return cast(WireAckHead, head)  # as it is read, and a byte shorter
    several = _HeadOfSeveral(**msgspec.structs.asdict(head), tells_several=ack.tells_several)
    if not has_more:
        return cast(WireAckHead, several)
    shares = tuple(_wire_shares(table) for table in ack.shares)
    travel = None if ack.travel_s is None else min(TRAVEL_MAX, ceil(ack.travel_s * TRAVEL_PARTS))
    more = _HeadOfShares(**msgspec.structs.asdict(several), shares=shares, travel=travel)
    if not has_news:
        return cast(WireAckHead, more)
    fewer = _HeadOfUnwanted(**msgspec.structs.asdict(more), unwanted=ack.unwanted)
    if not ack.largest and not has_pause:
        return cast(WireAckHead, fewer)
    largest = tuple(map(_wire_top, ack.largest))
    most = _HeadOfLargest(**msgspec.structs.asdict(fewer), largest=largest)
    if not has_pause:
        return cast(WireAckHead, most)
    return WireAckHead(
        **msgspec.structs.asdict(most), pause=ack.pause, exempt_through=ack.exempt_through
    )


def _wire_top(asked: TopRequest) -> WireTop:
    names = b"".join(one.to_bytes(NAME_BYTES, "little") for one in asked.keys)
    return asked.pane, asked.number, asked.least, names


def _checked_top(wire: WireTop) -> TopRequest:
    pane, number, least, names = wire
    if len(names) % NAME_BYTES:
        raise Refused(
            Refusal.MALFORMED,
            f"request for the largest: wanted {NAME_BYTES} bytes for each group, got {len(names)}",
        )
    cuts = range(0, len(names), NAME_BYTES)
    keys = tuple(int.from_bytes(names[n : n + NAME_BYTES], "little") for n in cuts)
    asked = TopRequest(pane, number, least, keys)
    fault = asked.fault()
    if fault is not None:
        raise Refused(Refusal.MALFORMED, fault)
    return asked


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
        held=normal(wire.held),
        listed=normal(wire.listed),
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
        unwanted=normal(wire.unwanted),
        largest=tuple(map(_checked_top, wire.largest)),
        pause=wire.pause,
        exempt_through=wire.exempt_through,
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
                pane=pane, ordinal=first + place, incarnation=incarnation, updates=normal(updates)
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
    runs = normal(tuple((first, first + more) for first, more in wire.runs))
    count = sum(last - first + 1 for first, last in runs)
    width, rest = divmod(len(wire.bits), count) if count else (0, len(wire.bits))
    if rest or width > LEAF_SITES // 8 or (count and not width):
        raise Refused(Refusal.MALFORMED, f"leaf: {len(wire.bits)} bytes for {count} panes")
    panes = chain.from_iterable(range(first, last + 1) for first, last in runs)
    return tuple(
        PaneHeld(pane, bitset.from_bytes(wire.bits[n * width : (n + 1) * width]))
        for n, pane in enumerate(panes)
    )
