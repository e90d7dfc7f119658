"""Heartbeats and coordinates on the wire: numbers as short as their use allows."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.capacity.way_capacity import LEVEL_MAX, rate_of_level, told_level
from headwater.algebra.coordinate import Coordinate
from headwater.overlay.links.markers import NUMBER_MAX
from headwater.overlay.messages import Heartbeat
from headwater.overlay.ways.root_pulses import PULSES_MAX, VIA_MAX, RootPulse

Moment = Annotated[float, Meta(ge=-1e12, le=1e12)]
PlaceNumber = Annotated[int, Meta(ge=-(1 << 40), le=1 << 40)]
"""Far beyond what makes sense, which others judge, and still exact as a float."""
WirePlace = tuple[PlaceNumber, PlaceNumber, PlaceNumber, PlaceNumber, PlaceNumber]
"""Tenths of milliseconds, and percents: a third of the bytes of floats."""
_PLACE_UNITS = (10, 10, 10, 10, 100)


class WireRootPulse(msgspec.Struct, frozen=True, array_like=True):
    root: int
    age_ms: int
    clock_s: Moment | None
    spread_us: int
    via: Annotated[tuple[int, ...], Meta(max_length=VIA_MAX)] = ()
    by_host: bool = False
    clock_age_ms: Annotated[int, Meta(ge=0, le=1 << 50)] = 0
    carries: Annotated[int, Meta(ge=0, le=LEVEL_MAX)] = 0
    is_confirmed: bool = True


class WireHeartbeat(msgspec.Struct, frozen=True, array_like=True):
    sent_s: Moment
    echo_s: Moment | None
    echo_held_s: Moment
    digest: int
    roots: Annotated[tuple[WireRootPulse, ...], Meta(max_length=PULSES_MAX)] = ()
    coordinate: WirePlace | None = None
    needs_link: bool = True
    next_ms: Annotated[int, Meta(ge=0, le=1 << 20)] = 0
    marker: Annotated[int, Meta(ge=-1, le=NUMBER_MAX)] = -1
    marker_held_ms: Annotated[int, Meta(ge=0, le=1 << 50)] = 0


def wire_place(place: Coordinate) -> WirePlace:
    values = msgspec.structs.astuple(place)
    x, y, z, height, error = (round(v * unit) for v, unit in zip(values, _PLACE_UNITS, strict=True))
    return x, y, z, height, error


def place_in(wire: WirePlace) -> Coordinate:
    return Coordinate(*(v / unit for v, unit in zip(wire, _PLACE_UNITS, strict=True)))


def wire_beat(beat: Heartbeat) -> WireHeartbeat:
    roots = tuple(
        WireRootPulse(
            root=pulse.root,
            age_ms=round(pulse.age_s * 1e3),
            clock_s=pulse.clock_s,
            spread_us=round(pulse.spread_s * 1e6),
            via=pulse.via,
            by_host=pulse.by_host,
            clock_age_ms=round(pulse.clock_age_s * 1e3),
            carries=told_level(pulse.carries),
            is_confirmed=pulse.is_confirmed,
        )
        for pulse in beat.roots
    )
    place = None if beat.coordinate is None else wire_place(beat.coordinate)
    return WireHeartbeat(
        sent_s=beat.sent_s,
        echo_s=beat.echo_s,
        echo_held_s=beat.echo_held_s,
        digest=beat.digest,
        roots=roots,
        coordinate=place,
        needs_link=beat.needs_link,
        next_ms=round(beat.next_s * 1e3),
        marker=beat.marker,
        marker_held_ms=round(beat.marker_held_s * 1e3),
    )


def beat_in(wire: WireHeartbeat) -> Heartbeat:
    roots = tuple(
        RootPulse(
            root=pulse.root,
            age_s=pulse.age_ms / 1e3,
            clock_s=pulse.clock_s,
            spread_s=pulse.spread_us / 1e6,
            via=pulse.via,
            by_host=pulse.by_host,
            clock_age_s=pulse.clock_age_ms / 1e3,
            carries=rate_of_level(pulse.carries),
            is_confirmed=pulse.is_confirmed,
        )
        for pulse in wire.roots
    )
    place = None if wire.coordinate is None else place_in(wire.coordinate)
    return Heartbeat(
        sent_s=wire.sent_s,
        echo_s=wire.echo_s,
        echo_held_s=wire.echo_held_s,
        digest=wire.digest,
        roots=roots,
        coordinate=place,
        needs_link=wire.needs_link,
        next_s=wire.next_ms / 1e3,
        marker=wire.marker,
        marker_held_s=wire.marker_held_ms / 1e3,
    )
