"""Whose word a command or a count is: looked at before it changes anything."""

from __future__ import annotations

from headwater.overlay.commands.command_log import CommandLog, number_of
from headwater.overlay.here import Here
from headwater.overlay.lie_book import LieKind, Untrue
from headwater.overlay.message_rules import problem_with_count
from headwater.plan.command import Command, Count, Install
from headwater.plan.query import QueryId


class WhoseWords:
    def __init__(self, here: Here, log: CommandLog) -> None:
        self._site = here.site
        self._roster = here.roster
        self._config = here.config
        self._signatures = here.signatures
        self._log = log

    def problem_with_turn(self, command: Command) -> str | None:
        """Of a command that is given here: whether it is this site's next one."""
        installer, counter = number_of(command)
        if installer != self._site:
            return f"command of {installer}: given at {self._site}"
        if counter <= self._log.number_of(installer):
            return f"command {installer}#{counter}: the number has been used"
        return None

    def problem_with_operator(self, command: Command, *, is_counted: bool) -> str | None:
        """A certificate that has ended since does not undo what its installer has counted."""
        if self._signatures.is_command_of(command.operator, command, is_counted=is_counted):
            return None
        kind, who = type(command).__name__.lower(), command.operator or "an operator"
        text = f"{kind} of {command_id(command)}: it is not signed by {who}"
        return Untrue.of(LieKind.UNSIGNED, text)

    def problem_with_count(self, count: Count) -> str | None:
        """Looked at before any signature is."""
        return problem_with_count(
            count,
            self._roster,
            queries_max=self._config.queries_max,
            former=self._log.counts.get(count.installer),
        )

    def problem_with_counter(self, count: Count) -> str | None:
        """Whether it is its installer's word, and the removals in it are operators'."""
        installer = count.installer
        if not self._signatures.is_count_of(installer, count):
            text = f"count of {installer}: it is not signed by {installer}"
            return Untrue.of(LieKind.UNSIGNED, text)
        known = self._log.counts.get(installer)
        looked_at = () if known is None else known.ended
        problems = (
            self.problem_with_operator(removal, is_counted=True)
            for removal in count.ended
            if removal not in looked_at
        )
        return next((problem for problem in problems if problem is not None), None)


def command_id(command: Command) -> QueryId:
    """The query that it is about."""
    return command.query.id if isinstance(command, Install) else command.id
