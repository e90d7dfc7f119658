"""Settings for queries that run, at a peer: given, flooded, received, asked for where they lack.

They lie beside the install that they are about, so whoever is asked for an install hands on its
settings, too, and whoever keeps the one keeps the other. A query that is not known here has no
settings either: they come with it.

A late word is no lie: settings of a lower number than the newest may have come by another way. They
change nothing any more, and are counted.
"""

from __future__ import annotations

from collections.abc import Callable

from headwater.overlay.commands.command_log import CommandLog
from headwater.overlay.commands.spread import Spread
from headwater.overlay.commands.whose_words import WhoseWords
from headwater.overlay.here import Here
from headwater.overlay.links.link import Link
from headwater.overlay.message_rules import problem_with_alter
from headwater.overlay.messages import AlterMessage
from headwater.plan.altered.settings import SETTINGS_KEPT_MAX
from headwater.plan.command import Alter, Count, Install


class Alterations:
    def __init__(
        self,
        here: Here,
        *,
        log: CommandLog,
        words: WhoseWords,
        spread: Spread,
        done_through: Callable[[str], int],
        on_altered: Callable[[Install, float], None],
        on_count: Callable[[Count, float], None],
    ) -> None:
        """``done_through``: panes of a query that its root wants no more lie below; ``on_count`` is
        told a count that is newer and true."""
        self._site = here.site
        self._roster = here.roster
        self._signatures = here.signatures
        self._tray = here.tray
        self._log = log
        self._words = words
        self._spread = spread
        self._done_through = done_through
        self._on_altered = on_altered
        self._on_count = on_count

    def give(self, alter: Alter, *, now_s: float) -> str | None:
        """An operator gives a command of this site; why it is refused, or None."""
        problem = self._problem_with_own(alter) or self._words.problem_with_operator(
            alter, is_counted=False
        )
        if problem is not None:
            self._tray.note("refused", problem, now_s=now_s)
            return problem
        count = self._signatures.sign_count(self._log.counted(alter))
        self._take(alter, count, now_s=now_s)
        self._spread.flood(AlterMessage(alter, count), sender=None)
        return None

    def _problem_with_own(self, alter: Alter) -> str | None:
        problem = self._words.problem_with_turn(alter)
        if problem is not None:
            return problem
        install = self._log.live.get(str(alter.id))
        if install is None:
            return f"settings of {alter.id}: the query is unknown here"
        newest = _newest(install)
        if alter.number != newest + 1:
            return (
                f"settings {alter.number} of {alter.id}: wanted {newest + 1}, for {newest} are "
                "known by now; command them again"
            )
        if len(self._kept(install, alter)) > SETTINGS_KEPT_MAX:
            return (
                f"settings {alter.number} of {alter.id}: {SETTINGS_KEPT_MAX} are kept of windows "
                "that are not over; command them again when some are"
            )
        return problem_with_alter(alter, install, self._roster)

    def receive(self, link: Link, message: AlterMessage, *, now_s: float) -> None:
        alter, count, sender = message.alter, message.count, link.site
        install = self._log.live.get(str(alter.id))
        problem = None
        if count is not None:
            problem = self._words.problem_with_count(count)
            if count.installer != alter.installer:
                problem = f"settings by {alter.installer[:80]} with the count of {count.installer}"
        if problem is None and install is None:
            known = "removed" if self._log.is_removed(str(alter.id)) else "unknown here"
            problem = f"settings of {str(alter.id)[:80]}: the query is {known}"
        if problem is not None or install is None:
            self._tray.refuse(sender, problem or "", now_s=now_s)
            return
        is_newer = count is not None and self._log.is_newer(count)
        is_news = self._is_news(install, alter, sender, now_s=now_s)
        if not is_newer and not is_news:
            return
        problem = problem_with_alter(alter, install, self._roster) or self._problem_with_words(
            alter, count if is_newer else None
        )
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
            return
        self._take(alter, count if is_newer else None, now_s=now_s)
        self._spread.flood(message, sender=sender)

    def _is_news(self, install: Install, alter: Alter, sender: str, *, now_s: float) -> bool:
        """Looked at before any signature is. One that was overtaken, or is said again, is none."""
        known = {one.number: one for one in install.alters}.get(alter.number)
        if known is not None:
            return alter.order > known.order
        is_later = alter.number > _newest(install) or alter.number <= 0  # which is no number
        if not is_later:
            text = f"settings {alter.number} of {alter.id}, from {sender}: {_newest(install)} hold"
            self._tray.note("settings overtaken", text, now_s=now_s)
        return is_later

    def _problem_with_words(self, alter: Alter, count: Count | None) -> str | None:
        """A count that names them proves that they were given while their signature was good."""
        known = self._log.counts.get(alter.installer) if count is None else count
        is_counted = known is not None and (str(alter.id), alter.number) in known.altered
        problem = None if count is None else self._words.problem_with_counter(count)
        return problem or self._words.problem_with_operator(alter, is_counted=is_counted)

    def _take(self, alter: Alter, count: Count | None, *, now_s: float) -> None:
        """Durable with the install that it is about, then acted on."""
        if count is not None:
            self._on_count(count, now_s)
        install = self._log.live.get(str(alter.id))
        if install is not None and self._log.alter(install, self._kept(install, alter)):
            install = self._log.live[str(alter.id)]
            self._spread.accepted(install)
            self._on_altered(install, now_s)
        self._spread.tell_untold()

    def _kept(self, install: Install, alter: Alter) -> tuple[Alter, ...]:
        """By number, without those that hold for no pane that anybody still wants."""
        known = {one.number: one for one in install.alters}
        former = known.get(alter.number)
        is_later = alter.number > _newest(install) if former is None else alter.order > former.order
        if is_later:
            known[alter.number] = alter
        ordered = [known[number] for number in sorted(known)]
        over = self._done_through(str(install.query.id))
        holding = max((one.number for one in ordered if one.first_pane <= over), default=0)
        return tuple(one for one in ordered if one.number >= holding)


def _newest(install: Install) -> int:
    return install.alters[-1].number if install.alters else 0
