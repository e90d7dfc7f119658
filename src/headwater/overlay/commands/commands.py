"""Commands at a peer: given, flooded, received, reconciled; what they change is told outside.

A new command is laid down as ``CommandAccepted`` before it is flooded, and outputs are done in
order, so nobody learns from this peer what a crash could make it forget.

Each word is looked at before it changes anything: an install is its operator's, its trees are their
planner's, a count is its installer's, and a removal in it is an operator's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import FOREVER
from headwater.overlay.commands.alterations import Alterations
from headwater.overlay.commands.command_log import CommandLog, Verdict, number_of
from headwater.overlay.commands.reconciliation import Reconciliation
from headwater.overlay.commands.spread import Spread
from headwater.overlay.commands.whose_words import WhoseWords, command_id
from headwater.overlay.here import Here
from headwater.overlay.lie_book import LieKind, Untrue
from headwater.overlay.links.link import Link
from headwater.overlay.links.neighbours import Neighbours
from headwater.overlay.message_rules import problem_with_command, problem_with_known
from headwater.overlay.messages import AskInstall, CommandMessage, CommandsKnown
from headwater.overlay.ways.pathfinder import Pathfinder
from headwater.plan.command import Alter, Command, Count, Install, Remove
from headwater.plan.query import QueryId

COUNTS_LOOKED_AT_MAX = 128
"""Of one message: a signature takes a tenth of a millisecond, and the loop is not held up for more
than twenty, though a federation may have ten thousand installers."""
ASIDE_NAMED_MAX = 8
"""Installs on the disk that can't be read, of which a notice says the names."""


class Commands:
    def __init__(
        self,
        here: Here,
        *,
        paths: Pathfinder,
        neighbours: Neighbours,
        on_installed: Callable[[Install, str | None, float], None],
        on_altered: Callable[[Install, float], None],
        on_removed: Callable[[str, float], None],
        done_through: Callable[[str], int] = lambda query_id: -FOREVER,
    ) -> None:
        """``on_installed`` is told who handed it over, if anybody did; all are told the time.
        ``done_through``: panes of a query that its root wants no more lie below."""
        self.log = CommandLog()
        self._words = WhoseWords(here, self.log)
        self._spread = Spread(here, paths=paths, neighbours=neighbours)
        self.alterations = Alterations(
            here,
            log=self.log,
            words=self._words,
            spread=self._spread,
            done_through=done_through,
            on_altered=on_altered,
            on_count=self._counted,
        )
        every_s = here.config.reconcile_every_s
        self.reconciliation = Reconciliation(self.log, here.tray, every_s=every_s)
        self._site = here.site
        self._roster = here.roster
        self._config = here.config
        self._signatures = here.signatures
        self._tray = here.tray
        self._paths = paths
        self._on_installed = on_installed
        self._on_removed = on_removed
        self.aside: set[str] = set()
        """Queries whose install was durable here and can't be used; others may have it."""
        self._counts_turn = 0

    def restore(
        self,
        installs: Iterable[Install],
        counts: Iterable[Count],
        aside: Mapping[str, str],
        *,
        now_s: float,
    ) -> None:
        """From disk, where these are durable already; ``aside`` can't be read, and why. What does
        not fit the roster of today is set aside as well."""
        sound, aside = self._sound(installs, dict(aside))
        if aside:
            told = [f"{query_id[:80]} ({why})" for query_id, why in aside.items()]
            text = "; ".join(told[:ASIDE_NAMED_MAX])
            text = f"{len(told)} installs that can't be used: {text}"
            self._tray.note("set aside", text, now_s=now_s)
        self.log.restore(sound, counts)
        self.aside = {one for one in aside if not self.log.is_removed(one)}
        for install in self._sign_anew():
            self._spread.accepted(install)
        self._spread.tell_untold()
        for install in self.log.live.values():
            self._on_installed(install, None, now_s)

    def renewed(self, *, now_s: float) -> None:
        """This site has another certificate from now on: what the former one has signed and that
        outlives links is said again, while all still believe it."""
        for install in self._sign_anew():
            self._accepted(install, [], now_s=now_s)
            self._spread.flood(CommandMessage(command=install), sender=None)
        self._spread.tell_untold()

    def _sign_anew(self) -> list[Install]:
        """What this site said with another certificate than its present one is said again, as news;
        the plans among it are to be made durable. Once that certificate has ended nobody who comes
        later would believe it, and it would pass for a lie of who hands it on."""
        own = self.log.counts.get(self._site)
        if own is not None and not self._is_present(own.proof):
            again = msgspec.structs.replace(own, revision=own.revision + 1, proof=None)
            self._adopt(self._signatures.sign_count(again))
        planned = [one for one in self.log.live.values() if one.planner == self._site]
        return [self._plan_again(one) for one in planned if not self._is_present(one.plan_proof)]

    def _is_present(self, proof: Proof | None) -> bool:
        return self._signatures.is_of_present_key(proof)

    def _plan_again(self, install: Install) -> Install:
        """The same trees. Only a root's plan has a later version, which all others take over."""
        if install.query.root == self._site:
            version = install.plan_version + 1
            install = msgspec.structs.replace(install, plan_version=version)
        install = self._signatures.sign_plan(install)
        self.log.live[str(install.query.id)] = install
        return install

    def _sound(
        self, installs: Iterable[Install], aside: dict[str, str]
    ) -> tuple[list[Install], dict[str, str]]:
        sound = []
        for install in installs:
            problem = problem_with_command(install, self._roster)
            if problem is None:
                sound.append(install)
            else:
                aside[str(install.query.id)] = problem
        return sound, aside

    # Given here

    def give(self, command: Command, *, now_s: float) -> str | None:
        """An operator gives a command of this site; why it is refused, or None."""
        if isinstance(command, Alter):
            problem = self.alterations.give(command, now_s=now_s)
            self._follow(now_s)
            return problem
        problem = (
            self._problem_with_own(command)
            or self._problem_with_message(command, None)
            or self._words.problem_with_operator(command, is_counted=False)
        )
        if problem is not None:
            self._tray.note("refused", problem, now_s=now_s)
            return problem
        if isinstance(command, Install):
            command = self._signatures.sign_plan(command)
            self.log.take(command)
        count = self._signatures.sign_count(self.log.counted(command))
        removed = self._adopt(count)
        self._accepted(command, removed, now_s=now_s)
        self._spread.flood(CommandMessage(command=command, count=count), sender=None)
        self._follow(now_s)
        return None

    def _problem_with_own(self, command: Install | Remove) -> str | None:
        problem = self._words.problem_with_turn(command)
        if problem is None and isinstance(command, Remove) and str(command.id) not in self.log.live:
            problem = f"command {command.installer}#{command.counter}: its query is unknown here"
        return problem

    def replan(self, install: Install, *, now_s: float) -> None:
        """The root of a live query gives it new trees. One peer alone does, so plans have an
        order without any number of the installer's. It is given now, by the root's own clock: what
        the first install said of that clock is as old as the query."""
        install = msgspec.structs.replace(install, age_s=0.0, root_clock_s=now_s)
        problem = problem_with_command(install, self._roster)
        if install.query.root != self._site:
            problem = f"plan of {install.query.id}: its root is {install.query.root}"
        if problem is not None:
            self._tray.note("refused", problem, now_s=now_s)
            return
        install = self._signatures.sign_plan(install)
        if self.log.take(install) is Verdict.REPLANNED:
            self._accepted(install, [], now_s=now_s)
            self._spread.flood(CommandMessage(command=install), sender=None)
        else:
            text = f"plan of {install.query.id}: it is not newer"
            self._tray.note("refused", text, now_s=now_s)

    def end_questions(self, query_ids: Collection[str], *, now_s: float) -> None:
        """Questions that were taken here and are over: the others learn it by this site's count."""
        count = self.log.without(self._site, query_ids)
        if count is None:
            return
        self._tell_removed(self._adopt(self._signatures.sign_count(count)), now_s)
        self._follow(now_s)

    # Received

    def receive(self, link: Link, message: CommandMessage, *, now_s: float) -> None:
        command, count, sender = message.command, message.count, link.site
        problem = self._problem_with_message(command, count)
        if problem is None and not self._is_news(command, count):
            return
        problem = problem or self._problem_with_words(command, count)
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
            return
        if isinstance(command, Install):
            command = self._heard(command, one_way_s=link.one_way_s, now_s=now_s)
            if self.log.take(command) is not Verdict.KNOWN:
                taken = self.log.live[str(command.query.id)]
                self._accepted(taken, [], now_s=now_s, sender=sender)
        if count is not None and self.log.is_newer(count):
            self._tell_removed(self._adopt(count), now_s)
        self._spread.flood(CommandMessage(command=command, count=count), sender=sender)
        self._follow(now_s)

    def _heard(self, install: Install, *, one_way_s: float, now_s: float) -> Install:
        """What it says of the root's clock is the word of whoever handed it over. Who knows better
        does not hand that on as its own. Settings come by themselves, with their own words."""
        clock = self._paths.root_clock(install.query.root, now_s=now_s)
        is_known = clock is not None and clock.is_confirmed
        return msgspec.structs.replace(
            install,
            age_s=install.age_s + one_way_s,
            root_clock_s=None if is_known else install.root_clock_s,
            alters=(),
        )

    def _problem_with_message(self, command: Install | Remove, count: Count | None) -> str | None:
        """Looked at before any signature is."""
        problem = problem_with_command(command, self._roster) or self._no_room_for(command)
        if problem is not None or count is None:
            return problem
        if number_of(command)[0] != count.installer:
            return f"a command of {number_of(command)[0]} with the count of {count.installer}"
        return self._words.problem_with_count(count)

    def _problem_with_words(self, command: Install | Remove, count: Count | None) -> str | None:
        is_counted = isinstance(command, Install) and self.log.is_counted(command.query.id)
        problem = self._words.problem_with_operator(command, is_counted=is_counted)
        if problem is not None:
            return problem
        if isinstance(command, Install):
            planner = command.planner
            if not self._signatures.is_plan_of(planner, command):
                text = f"plan of {command.query.id}: it is not signed by {planner}"
                return Untrue.of(LieKind.UNSIGNED, text)
        return None if count is None else self._words.problem_with_counter(count)

    def _is_news(self, command: Install | Remove, count: Count | None) -> bool:
        """Looked at before any signature is: most of what is flooded has been heard before."""
        if count is not None and self.log.is_newer(count):
            return True
        if isinstance(command, Remove):
            return False
        known = self.log.live.get(str(command.query.id))
        if known is not None:
            return known.plan_version < command.plan_version
        return not self.log.is_removed(str(command.query.id))

    def receive_known(self, link: Link, known: CommandsKnown, *, now_s: float) -> None:
        sender = link.site
        queries_max = self._config.queries_max
        problem = problem_with_known(known, self._roster, queries_max=queries_max)
        problems = (self._words.problem_with_count(count) for count in known.counts)
        problem = problem or next((one for one in problems if one is not None), None)
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
            return
        for count in self._in_turn([one for one in known.counts if self.log.is_newer(one)]):
            self._receive_count(sender, count, now_s)
        self.reconciliation.receive(sender, known, now_s=now_s)
        self._follow(now_s)

    def _in_turn(self, counts: list[Count]) -> list[Count]:
        """As many as may be looked at for one message. What is left out comes again with the next
        one, and then it is the turn of others: those that nobody believes keep none waiting."""
        if len(counts) <= COUNTS_LOOKED_AT_MAX:
            return counts
        start = self._counts_turn % len(counts)
        self._counts_turn += COUNTS_LOOKED_AT_MAX
        return (counts[start:] + counts[:start])[:COUNTS_LOOKED_AT_MAX]

    def _receive_count(self, sender: str, count: Count, now_s: float) -> None:
        if not self.log.is_newer(count):
            return
        problem = self._words.problem_with_counter(count)
        if problem is not None:
            self._tray.refuse(sender, problem, now_s=now_s)
        else:
            self._tell_removed(self._adopt(count), now_s)

    def receive_ask(self, link: Link, ask: AskInstall, *, now_s: float) -> None:
        self.reconciliation.answer(link.site, ask, now_s=now_s)

    def _no_room_for(self, command: Command) -> str | None:
        """A newer plan of a live query takes none."""
        queries_max = self._config.queries_max
        is_new = isinstance(command, Install) and str(command.query.id) not in self.log.live
        if not is_new or len(self.log.live) < queries_max:
            return None
        return f"install of {command_id(command)}: {queries_max} queries are live"

    # What follows

    def _counted(self, count: Count, now_s: float) -> None:
        """The count of an installer who has altered settings."""
        if self.log.is_newer(count):
            self._tell_removed(self._adopt(count), now_s)
            self._follow(now_s)

    def _adopt(self, count: Count) -> list[QueryId]:
        self._spread.learned(count)
        return self.log.adopt(count)

    def _accepted(
        self, command: Command, removed: list[QueryId], *, now_s: float, sender: str | None = None
    ) -> None:
        """Durable first, then acted on, then told to the rest of the federation."""
        self._spread.accepted(command)
        if isinstance(command, Install):
            self._on_installed(command, sender, now_s)
            self.reconciliation.installed(str(command.query.id), now_s=now_s)
        else:
            self._forget(str(command.id), now_s)
        self._tell_removed([one for one in removed if command_id(command) != one], now_s)

    def _follow(self, now_s: float) -> None:
        """Names that are taken twice, this site's own count by what it has learned; on disk."""
        lost = self.log.resolve_names()
        own = self.log.recounted(self._site)
        if own is not None:  # durable with the removals, so that no start finds one without it
            self._adopt(self._signatures.sign_count(own))
        for loser, winner in lost:
            self._spread.accepted(
                Remove(id=loser, installer=winner.installer, counter=winner.counter)
            )
            self._forget(str(loser), now_s)
            text = f"{loser} ends: {winner} has the same name and wins"
            self._tray.note("name-lost", text, now_s=now_s)
        self._spread.tell_untold()

    def _tell_removed(self, removed: Iterable[QueryId], now_s: float) -> None:
        for query_id in removed:
            self._spread.accepted(
                Remove(id=query_id, installer=query_id.installer, counter=query_id.counter)
            )
            self._forget(str(query_id), now_s)

    def _forget(self, query_id: str, now_s: float) -> None:
        self.reconciliation.forget(query_id)
        self._on_removed(query_id, now_s)
