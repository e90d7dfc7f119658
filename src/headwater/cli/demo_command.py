"""``demo``: twelve sites in one process, with failures, checked against one Spark."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from headwater.cli.ending import ends_in_order


def add_to(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    seconds: Annotated[float, typer.Option(help="How long the logs grow.")] = 60.0,
    seed: Annotated[int, typer.Option(help="The same seed writes the same logs.")] = 1,
) -> None:
    """Run 12 sites for about a minute, break them, check.

    CDN logs grow at every site, two queries run, a region is cut off, an agent dies and returns.
    In the end every final answer is compared with that of one Spark over all records.
    """
    from headwater.agent.demo import run_demo
    from headwater.cli.demo_view import DemoView, summary_table
    from headwater.cli.output import console_on, log_warnings_only

    log_warnings_only()
    console = console_on(sys.stdout)
    with ends_in_order(), DemoView(console) as view:
        summary = run_demo(seconds=seconds, seed=seed, show=view.show)
    console.print(summary_table(summary))
    raise typer.Exit(0 if summary.is_good else 1)
