"""An answer's envelope in one line, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headwater.algebra.rows.bounded import Bounded
from headwater.algebra.windows.sequence_grid import number_text
from headwater.algebra.words.as_of import AsOf
from headwater.cli.show.amounts import utc
from headwater.root.said.envelope import LeftOut, Trigger
from headwater.root.said.reached import Reached, share
from headwater.root.said.sampled import Sample
from headwater.root.said.withheld import StatedErrors

MISSING_SHOWN = 4
HOUR_S = 3600.0
AS_OF_SHOWN = 3
SITES_NAMED = 2


def headline(header: Mapping[str, Any]) -> str:
    """``[12:00:00Z … 12:00:10Z) revision 1 (deadline), 1.3 s after its end, 11 of 12 sites, without
    fra (unknown)``."""
    start, end = header["start_us"], header["end_us"]
    span = f"[{utc(start)} … {utc(end)})"
    if header.get("counted"):
        span = f"[{number_text(header['counted'], start)} … {end})"
    parts = [
        f"{span} revision {header['revision']}{_by(header)}",
        *([_part(header["part"])] if header.get("part") else []),
        *([after_its_end(header["staleness_s"])] if header.get("staleness_s", 0.0) > 0.0 else []),
        f"{_in_whole(header)} of {header['expected']} sites",
    ]
    if header.get("missing"):
        parts.append(f"without {_missing(header['missing'])}")
    if header.get("fidelity"):
        parts += fidelity(header["fidelity"])
    if header.get("as_of"):
        parts.append(as_of(header["as_of"]))
    if header.get("left_out", {}).get("count"):
        parts.append(left_out(header["left_out"]))
    if header.get("alarm_count"):
        parts.append(alarms(header["alarm_count"], header["alarms"]))
    if header.get("remark_count"):
        parts.append(remarks(header["remark_count"], header["remarks"]))
    if header.get("bounded", {}).get("columns"):
        parts.append(bounded(header["bounded"]))
    if header.get("withheld", {}).get("columns"):
        parts.append(withheld(header["withheld"]))
    if header.get("degraded_count"):
        parts.append(degraded(header["degraded_count"], header["degraded"]))
    if header.get("sampled"):
        parts += list(msgspec.convert(header["sampled"], Sample).lines())
    parts += [word for word in ("exact", "final") if header.get(word)]
    return ", ".join(parts)


def _by(header: Mapping[str, Any]) -> str:
    """Why this revision was made, where it was not that something had changed."""
    trigger = header.get("trigger", Trigger.REVISION)
    return "" if trigger == Trigger.REVISION else f" ({trigger})"


def _in_whole(header: Mapping[str, Any]) -> int:
    """Without those that were in once and lack what came since: they are named as missing."""
    whole = int(header["expected"]) - int(header.get("missing_count", 0))
    return min(int(header["covered"]), whole)


def after_its_end(staleness_s: float) -> str:
    """How stale the answer was when it was made.

    >>> after_its_end(1.34), after_its_end(90.0), after_its_end(30_000.0)
    ('1.3 s after its end', '90 s after its end', '8.3 h after its end')
    """
    text = f"{staleness_s:.1f} s" if staleness_s < 10.0 else f"{staleness_s:.0f} s"
    return f"{text if staleness_s < HOUR_S else f'{staleness_s / HOUR_S:.1f} h'} after its end"


def fidelity(found: Mapping[str, Any]) -> Iterator[str]:
    """``97.5 % of the area``, where not all is in, and ``NOT area 99 %: no rows``."""
    reached = msgspec.convert(found, Reached)
    if reached.has_news and reached.area < 1.0:
        yield f"{share(reached.area)} of the area"
    if reached.undrawn:
        is_scaled = reached.scaled and reached.scale
        estimate = f", {', '.join(reached.scaled)} x {reached.scale:.4g}" if is_scaled else ""
        yield f"{share(reached.area_drawn)} of what was drawn{estimate}"
    if reached.demanded:
        silent = ": no rows" if reached.is_silent else ""
        yield f"{'has' if reached.is_met else 'NOT'} {reached.demanded}{silent}"


def as_of(found: Any) -> str:
    """``as of 13:00:00Z at 210 sites, 12:59:50Z at oslo and rome``; the largest groups first."""
    groups = sorted(msgspec.convert(found, list[AsOf]), key=lambda one: -len(one.sites))
    shown = [f"{_closed(one)} at {_sites(one.sites)}{_open(one)}" for one in groups[:AS_OF_SHOWN]]
    rest = sum(len(one.sites) for one in groups[AS_OF_SHOWN:])
    return f"as of {', '.join(shown)}" + (f", others at {rest} more" if rest else "")


def _closed(group: AsOf) -> str:
    if group.through_us is None:
        return "the end"
    first, last = (utc(one) for one in group.through_us)
    return first if first == last else f"{first} to {last}"


def _sites(names: tuple[str, ...]) -> str:
    return f"{len(names)} sites" if len(names) > SITES_NAMED else " and ".join(names)


def _open(group: AsOf) -> str:
    if group.open_from_us is None:
        return ""
    rows = "1 row" if group.open_rows == 1 else f"{group.open_rows} rows"
    return f" (open from {utc(group.open_from_us)} on, with {rows} so far)"


def left_out(found: Mapping[str, Any]) -> str:
    """``2 groups left out (domain = a.org: [DIVIDE_BY_ZERO] …)``."""
    named = msgspec.convert(found, LeftOut).named
    groups = "1 group" if found["count"] == 1 else f"{found['count']} groups"
    return f"{groups} left out" + (f" ({named[0].text()})" if named else "")


def bounded(found: Mapping[str, Any]) -> str:
    """``users is within 5% of the value``, and whatever else is."""
    return "; ".join(msgspec.convert(found, Bounded).lines())


def withheld(found: Mapping[str, Any]) -> str:
    """``hits may be off by 12 (…); 80 small groups of sites are not in it; they follow``."""
    return "; ".join(msgspec.convert(found, StatedErrors).all_lines())


def degraded(count: int, named: Any) -> str:
    """``fra gives something up (sample(url, 1/4), step 2 of 4), and 3 more``."""
    first = named[0]
    more = f", and {count - 1} more" if count > 1 else ""
    step = f"step {first['step']} of {first['of']}"
    return f"{first['site']} gives something up ({first['operator']}, {step}){more}"


def alarms(count: int, named: Any) -> str:
    """``2 alarms (of fra: never cut)``."""
    many = "1 alarm" if count == 1 else f"{count} alarms"
    return f"{many} (of {named[0]['site'] or 'several sites'}: {named[0]['kind']})"


def remarks(count: int, named: Any) -> str:
    """``2 remarks (oslo: no file matches 'sale*.csv')``."""
    many = "1 remark" if count == 1 else f"{count} remarks"
    return f"{many} ({named[0]['site']}: {named[0]['text']})"


def _part(part: Mapping[str, Any]) -> str:
    return f"part {part['number']} of {part['count']} of {part['stream']}"


def _missing(missing: Any) -> str:
    shown = [f"{site} ({reason or state})" for site, state, reason, _ in missing]
    rest = len(shown) - MISSING_SHOWN
    return "; ".join(shown[:MISSING_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
