"""``up`` and ``down``: a federation of real agent processes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli import current
from headwater.cli.ending import ends_in_order
from headwater.cli.output import Listing, ListingOutput, print_listing, say


def add_to(app: typer.Typer) -> None:
    app.command("up")(up)
    app.command("down")(down)


def up(
    directory: Annotated[Path, typer.Argument(help="Where the federation lives; made if absent.")],
    sites: Annotated[int, typer.Option(help="Sites with data, each with its own Spark.")] = 3,
    relays: Annotated[int, typer.Option(help="Agents without Spark, which only carry.")] = 0,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and start again agents that end.")
    ] = False,
    output: ListingOutput = None,
) -> None:
    """Start a federation of agents on this machine.

    Each agent is a process with a certificate, a port and a lean Spark of its own. Agents that run
    already are left alone, so this also brings back those that died.
    """
    from headwater.agent import keeping
    from headwater.agent import up as local

    roster = local.lay_out(directory, site_count=sites, relays=relays)
    running = local.start(directory, say=say)
    current.remember(directory)
    rows = [
        (site.name, f"{site.host}:{site.port}", running.pids[site.name],
         str(directory / site.name / "data") if site.has_data else "")
        for site in roster.sites
    ]  # fmt: skip
    print_listing(Listing(("site", "address", "process", "data"), rows), output)
    if watch:
        with ends_in_order():
            keeping.keep(directory, say=say)
        return
    say(f"stop it with: headwater down {directory}")


def down(
    directory: Annotated[
        Path | None, typer.Argument(help="The federation; default: the one last brought up.")
    ] = None,
) -> None:
    """Stop the agents of a federation on this machine; state and data stay.

    Also those that were started by hand, and whoever watches them.
    """
    from headwater.agent import keeping
    from headwater.agent import up as local

    found = current.federation(directory)
    keeping.end_watcher(found, say=say)
    local.stop(found, say=say)
