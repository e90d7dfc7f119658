"""``demo``: twelve sites in one process, with failures, checked against one Spark."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.ending import ends_in_order
from headwater.cli.show.output import console_on, log_warnings_only, print_text, say

KEPT = Path("run/demo")
LOOK_EVERY_S = 1.0
ANSWER_S_MAX = 180.0
"""For the first answers of the agents that ``--keep`` leaves; they come all the same. Two agents on
two cores with much else to do took 113 s."""


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

    CDN logs grow at every site, questions run, a line is narrowed, a region is cut off, an agent
    dies and returns. In the end every final answer is compared with that of one Spark over all
    records. On a terminal the key n narrows the line, and widens it.
    """
    from headwater.cli.show.demo_summary import summary_table
    from headwater.cli.show.demo_view import INTRODUCTION, DemoView
    from headwater.cli.show.pressed_keys import PressedKeys
    from headwater.local.demo.demo_snapshot import DemoSnapshot

    console = console_on(sys.stdout)
    console.print(INTRODUCTION, markup=False, highlight=False)
    log_warnings_only(errors_only=True)
    if keep:
        from headwater.local.demo.kept_demo import refuse_taken

        refuse_taken(into)
    logs = into / "logs" if keep else None
    with ends_in_order(), PressedKeys(sys.stdin) as keys, DemoView(console) as view:
        view.show(DemoSnapshot(0.0, seconds, "starting Spark"))
        from headwater.local.demo.demo_spark import demo_spark

        with demo_spark() as (directory, spark):
            from headwater.local.demo.demo import run_demo

            summary = run_demo(
                directory,
                spark,
                seconds=seconds,
                seed=seed,
                show=view.show,
                pressed=keys.read,
                keep_logs=logs,
            )
    console.print(summary_table(summary))
    if logs is not None:
        with ends_in_order():
            _leave(into, logs)
    raise typer.Exit(0 if summary.is_good else 1)


def _leave(directory: Path, logs: Path) -> None:
    """Agents over the demo's logs, and the demo's questions, as ``up`` and ``run`` would."""
    from headwater.agent.control.operator_client import run_statements
    from headwater.cli import current, reach
    from headwater.local.demo.kept_demo import kept_sql, take_over, what_to_ask

    take_over(directory, logs, say=say)
    current.remember(directory)
    reach.command(
        directory, None, lambda ask, signature: run_statements(ask, kept_sql(), signature)
    )
    _await_answers(directory)
    print_text(what_to_ask(directory))


def _await_answers(directory: Path) -> None:
    """Whoever asks at once shall get something; on a slow machine they are told what is to come."""
    from headwater.agent.control import control_api as api
    from headwater.cli import reach
    from headwater.cli.show.progress import ProgressLine
    from headwater.local.trial.results import Progress

    deadline_s = time.monotonic() + ANSWER_S_MAX
    with ProgressLine() as line:
        while time.monotonic() < deadline_s:
            streams = reach.ask(directory, None, api.STREAMS, None, api.StreamsReply).streams
            answered = sum(bool(one.answered) for one in streams)
            if streams and answered == len(streams):
                return
            trouble = next((one.trouble for one in streams if one.trouble), "")
            of = f"{answered} of {len(streams)} questions are answered"
            line.show(Progress(f"its agents read the logs; {of}", trouble=trouble))
            time.sleep(LOOK_EVERY_S)
    say("they are still at it; answers come as they are made: headwater watch top_domains")
