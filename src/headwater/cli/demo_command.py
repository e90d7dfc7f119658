"""``demo``: twelve sites in one process, with failures, checked against one Spark."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.ending import ends_in_order
from headwater.cli.output import console_on, log_warnings_only, print_text, say

KEPT = Path("run/demo")
LOOK_EVERY_S = 1.0
ANSWER_LOOKS_MAX = 90
"""For the first answers of the agents that ``--keep`` leaves; they come all the same."""


def add_to(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    seconds: Annotated[float, typer.Option(help="How long the logs grow.")] = 60.0,
    seed: Annotated[int, typer.Option(help="The same seed writes the same logs.")] = 1,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave two agents with the logs, which one can ask.")
    ] = False,
    into: Annotated[Path, typer.Option(help="Where --keep leaves them.")] = KEPT,
) -> None:
    """Run 12 sites for about a minute, break them, check.

    CDN logs grow at every site, two queries run, a region is cut off, an agent dies and returns.
    In the end every final answer is compared with that of one Spark over all records.
    """
    from headwater.cli.demo_view import INTRODUCTION, DemoView, summary_table

    console = console_on(sys.stdout)
    console.print(INTRODUCTION, markup=False, highlight=False)
    from headwater.agent.demo import run_demo
    from headwater.agent.kept_demo import refuse_taken

    log_warnings_only(errors_only=True)
    if keep:
        refuse_taken(into)
    logs = into / "logs" if keep else None
    with ends_in_order(), DemoView(console) as view:
        summary = run_demo(seconds=seconds, seed=seed, show=view.show, keep_logs=logs)
    console.print(summary_table(summary))
    if logs is not None:
        with ends_in_order():
            _leave(into, logs)
    raise typer.Exit(0 if summary.is_good else 1)


def _leave(directory: Path, logs: Path) -> None:
    """Agents over the demo's logs, and the demo's questions, as ``up`` and ``run`` would."""
    from headwater.agent.kept_demo import kept_sql, take_over, what_to_ask
    from headwater.agent.operator_client import run_statements
    from headwater.cli import current, reach

    take_over(directory, logs, say=say)
    current.remember(directory)
    reach.command(
        directory, None, lambda ask, signature: run_statements(ask, kept_sql(), signature)
    )
    _await_answers(directory)
    print_text(what_to_ask(directory))


def _await_answers(directory: Path) -> None:
    """Whoever asks at once shall get something; on a slow machine they are told what is to come."""
    from headwater.agent import control_api as api
    from headwater.cli import reach

    say("its agents read the logs …")
    for _ in range(ANSWER_LOOKS_MAX):
        reply = reach.ask(directory, None, api.STREAMS, None, api.StreamsReply)
        if reply.streams and all(line.answered for line in reply.streams):
            return
        time.sleep(LOOK_EVERY_S)
    say("they still read; answers come as they are read: headwater watch top_domains")
