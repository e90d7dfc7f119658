"""What an agent has to say to ``headwater alarms``, in lines.

Alarms about streams that are answered here come from the ledger, which has those of removed streams
too; lies that this agent has met come from its memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from headwater.agent.control import control_api as api
from headwater.agent.runtime import SiteRuntime
from headwater.algebra.words.alarm import NO_SITE
from headwater.overlay.lie_book import LieMet
from headwater.plan.query import QueryId
from headwater.root.carriers.alarm_book import StandingAlarm


def alarm_lines(runtime: SiteRuntime, kept: Iterable[StandingAlarm]) -> tuple[api.AlarmLine, ...]:
    """On the event loop; ``kept`` is what the ledger has. The newest last."""
    names = {site.ordinal: site.name for site in runtime.roster.sites}
    ahead_s = runtime.node.ahead_s
    dated = [(one.last_s, _of_alarm(one, names)) for one in kept]
    dated += [
        (one.last_s + ahead_s, _of_lie(one, ahead_s=ahead_s)) for one in runtime.node.peer.lies()
    ]
    return tuple(line for _, line in sorted(dated, key=lambda pair: pair[0]))


def roots_elsewhere(runtime: SiteRuntime) -> tuple[str, ...]:
    """Other agents that answer streams: alarms about those are kept there."""
    roots = {one.query.root for one in runtime.node.peer.live_queries().values()}
    return tuple(sorted(roots - {runtime.site}))


def _of_alarm(standing: StandingAlarm, names: dict[int, str]) -> api.AlarmLine:
    alarm = standing.alarm
    is_one = alarm.first == alarm.last
    known = names.get(alarm.ordinal, f"site {alarm.ordinal}")
    return api.AlarmLine(
        last=_at(standing.last_s),
        since=_at(standing.first_s),
        count=standing.count,
        kind=str(alarm.kind),
        stream=QueryId.parse(alarm.query).name,
        site="" if alarm.ordinal == NO_SITE else known,
        panes=str(alarm.first) if is_one else f"{alarm.first} to {alarm.last}",
        text=alarm.text,
        carriers=alarm.carriers,
        id=alarm.query,
    )


def _of_lie(lie: LieMet, *, ahead_s: float) -> api.AlarmLine:
    return api.AlarmLine(
        last=_at(lie.last_s + ahead_s),
        since=_at(lie.first_s + ahead_s),
        count=lie.count,
        kind=str(lie.kind),
        stream="",
        site=lie.sender,
        panes="",
        text=lie.text,
    )


def _at(wall_s: float) -> str:
    return datetime.fromtimestamp(wall_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
