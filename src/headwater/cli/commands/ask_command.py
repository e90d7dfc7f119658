"""``ask``: one question about the past, answered from the sites' cubes, with the cost known first.

The question ends when it is answered, when its time is over, or when whoever asked stops waiting;
the agent that took it sees to that, also where this command is gone.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headwater.agent.control import control_api as api
from headwater.agent.control.ask_api import AskRequest, EndAskReply, EndAskRequest, PreparedAsk
from headwater.cli.commands.operator_commands import At, Federation, ask, show_answer
from headwater.cli.show.estimate_line import Estimate, estimate_of
from headwater.cli.show.output import ListingOutput, OutputFormat, chosen, print_objects, say
from headwater.errors import ConfigurationError, HeadwaterError, QueryRefused

EXIT_DECLINED = 1
"""Whoever was asked said no."""
EXIT_UNANSWERED = 4
"""No answer came before the question's end."""
HEARD_S_MAX = 20.0
"""How long the agent that answers may take to hear of a question."""
HEARD_EVERY_S = 0.3
ESTIMATE_S_MAX = 45.0
"""A silent site is waited for as long as a question waits; then the others' word counts."""

OVERTAKEN = "the number has been used"

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Go on without asking, whatever it costs.")]
Since = Annotated[str | None, typer.Option("--since", help="About so long before now: 7d, 2h.")]
From = Annotated[
    str | None, typer.Option("--from", help="From this time on (2026-05-04T12:00:00Z; UTC).")
]
To = Annotated[str | None, typer.Option("--to", help="Up to this time; default: now.")]
Sites = Annotated[
    str, typer.Option("--sites", help="Sites: names, globs or labels, as in WITH (sites = …).")
]
Logs = Annotated[bool, typer.Option("--logs", help="Read the logs, though cubes may have it.")]
Open = Annotated[
    bool, typer.Option("--open", help="Add what sites have of panes that are not closed yet.")
]


def add_to(app: typer.Typer) -> None:
    app.command("ask")(ask_question)


def ask_question(
    select: Annotated[str, typer.Argument(help="One SELECT of a source that a stream reads.")],
    since: Since = None,
    from_: From = None,
    to: To = None,
    sites: Sites = "",
    logs: Logs = False,
    open_: Open = False,
    yes: Yes = False,
    federation: Federation = None,
    at: At = None,
    output: ListingOutput = None,
) -> None:
    """Ask once about the past: of a stream's panes where these have it, else of the logs.

    First it is asked how much that reads, and you are asked whether to go on. A SELECT without a
    window has one: all of the time that is asked about. The answer says as of when each site had
    what, and what is missing. Exit code 1: you said no; 4: no answer came in time.
    """
    form = chosen(output)
    request = _request(select, since, from_, to, sites, logs=logs, adds_open=open_)
    asking = _Asking(federation, at, request)
    with asking.ended():
        asking.prepare()
        estimate = asking.estimated()
        _show_estimate(asking, estimate, form)
        if not yes:
            _require_yes()
        answers = asking.answers()
        for answer in _together(answers, form):
            show_answer(answer.header, answer.rows, form)
    if not answers:
        say("no answer came before the question's end; ask about less, or look at: headwater sites")
        raise typer.Exit(EXIT_UNANSWERED)


def _together(answers: list[api.AnswerEvent], form: OutputFormat) -> list[api.AnswerEvent]:
    """As CSV the rows of all windows are one table, under one line of names."""
    if form is not OutputFormat.CSV or not answers:
        return answers
    rows = tuple(row for answer in answers for row in answer.rows)
    return [msgspec.structs.replace(answers[0], rows=rows)]


def _request(
    select: str,
    since: str | None,
    from_: str | None,
    to: str | None,
    sites: str,
    *,
    logs: bool,
    adds_open: bool,
) -> AskRequest:
    if (since is None) == (from_ is None):
        got = "neither" if since is None else "both"
        raise ConfigurationError(
            f"ask: wanted --since or --from, which say about when, got {got}; give one"
        )
    if logs and adds_open:
        raise ConfigurationError(
            "ask: wanted --open or --logs, got both; open panes are of cubes, and logs have all "
            "that was written: leave out one"
        )
    since_us = None if since is None else _length_us(since)
    return AskRequest(
        select=select,
        name=f"ask_{secrets.token_hex(4)}",
        since_s=None if since_us is None else since_us / 1e6,
        from_us=_moment_us("--from", from_),
        to_us=_moment_us("--to", to),
        sites=sites,
        reads_logs=logs,
        adds_open=adds_open,
    )


def _length_us(text: str) -> int:
    from headwater.plan.durations import duration_us

    found = duration_us(text)
    if not found:
        raise ConfigurationError(
            f"--since: wanted a length of time above 0 (7d, 2h, 90 s), got {text!r}"
        )
    return found


def _moment_us(option: str, text: str | None) -> int | None:
    from headwater.plan.timestamps import EXAMPLES, timestamp_us

    found = None if text is None else timestamp_us(text)
    if text is not None and found is None:
        raise ConfigurationError(
            f"{option}: wanted a point in time, got {text!r}; write {EXAMPLES}"
        )
    return found


class _Asking:
    """One question, from its preparation to its end."""

    def __init__(self, federation: Path | None, at: str | None, request: AskRequest) -> None:
        self._federation, self._at, self._request = federation, at, request
        self._given: list[str] = []
        self.question: Any = None

    def prepare(self) -> None:
        from headwater.agent.control.operator_client import prepared_question
        from headwater.cli.reach import command

        request = self._request
        self.question = command(
            self._federation, self._at, lambda ask, _: prepared_question(ask, request)
        )

    def estimated(self) -> Estimate | None:
        """None: no site has said."""
        if self.question.estimate is None:
            return None
        answers = self._answered(self.question.estimate, ESTIMATE_S_MAX)
        return estimate_of(answers[0], self.question) if answers else None

    def answers(self) -> list[api.AnswerEvent]:
        """What was prepared before somebody thought it over may have been overtaken by commands
        of others: then it is prepared anew."""
        for is_last in (False, True):
            query = self.question.query
            try:
                return self._answered(query, max(ESTIMATE_S_MAX, _life_s(query)))
            except HeadwaterError as error:
                if is_last or OVERTAKEN not in str(error):
                    raise
                self.prepare()
        raise AssertionError("the last try returns or raises")

    def _answered(self, query: Any, wait_s: float) -> list[api.AnswerEvent]:
        """The first answer of each of its windows, in their order."""
        self._give(query)
        window, panes = query.window, query.ends_at - query.begin_pane
        wanted = (panes - window.panes_per_window) // window.panes_per_slide + 1
        found: dict[int, api.AnswerEvent] = {}
        end_s = time.monotonic() + wait_s
        for answer in self._events(query, end_s):
            found.setdefault(answer.header["window"], answer)
            if len(found) == wanted:
                break
        return [found[number] for number in sorted(found)]

    def _give(self, query: Any) -> None:
        from headwater.agent.control.operator_client import give_question
        from headwater.cli.reach import command

        version = self.question.roster_version
        self._given.append(str(query.id))
        command(
            self._federation,
            self._at,
            lambda ask, signature: give_question(ask, query, version, signature),
        )

    def _events(self, query: Any, end_s: float) -> Iterator[api.AnswerEvent]:
        from headwater.cli.reach import listen
        from headwater.cli.show.waiting_line import WaitingLine

        request = api.StreamRequest(str(query.id), newest=True, waits=True)
        heard_s = min(end_s, time.monotonic() + HEARD_S_MAX)
        with WaitingLine(sys.stderr) as waiting:
            while True:
                try:
                    for event in listen(
                        self._federation, self._at, api.WATCH, request, dict[str, Any]
                    ):
                        heard_s = end_s
                        if "header" in event:
                            waiting.clear()
                            yield msgspec.convert(event, api.AnswerEvent)
                            continue
                        waiting.show(msgspec.convert(event, api.WaitEvent))
                        if time.monotonic() > end_s:
                            return
                    return
                except HeadwaterError as error:
                    if "no stream" not in str(error) or time.monotonic() > heard_s:
                        raise
                    time.sleep(HEARD_EVERY_S)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """What was given is over, whatever became of it."""
        try:
            yield
        finally:
            if self._given:
                end = EndAskRequest(tuple(self._given))
                ask(self._federation, self._at, api.END_ASK, end, EndAskReply)


def _life_s(query: Any) -> float:
    return float(query.asked.until_us / 1e6 - time.time())


def _show_estimate(asking: _Asking, estimate: Estimate | None, form: OutputFormat) -> None:
    why = asking.question.prepared.why_not
    if form is OutputFormat.JSON:
        told = {} if estimate is None else msgspec.structs.asdict(estimate)
        source = "cube" if asking.question.query.reads_cube else "logs"
        print_objects([{"estimate": told, "source": source, "why_not_cubes": list(why)}])
        return
    say(_stretch_line(asking.question.prepared))
    if not asking.question.query.reads_cube:
        for text in why:
            say(f"not from cubes: {text}")
        say("reads the logs of that time, as far as the sites still have them")
    if estimate is None:
        say("no site has said how much it reads")
    else:
        say(estimate.text())


def _stretch_line(prepared: PreparedAsk) -> str:
    """It may be more than was written, since it is of whole steps."""
    from headwater.plan.durations import duration_text
    from headwater.plan.timestamps import timestamp_text

    first, end = timestamp_text(prepared.first_us), timestamp_text(prepared.end_us)
    step = duration_text(prepared.step_us)
    return f"asks about {first} to {end}, in steps of {step}"


def _require_yes() -> None:
    """Ends the command unless somebody at a terminal says yes."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise QueryRefused(
            "ask: nothing is asked, since there is no terminal to ask on; go on with: --yes"
        )
    if not typer.confirm("Go on?", err=True):
        say("nothing is asked")
        raise typer.Exit(EXIT_DECLINED)
