"""``up`` and ``down``: a federation of real agent processes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli import current
from headwater.cli.ending import ends_in_order
from headwater.cli.show.output import Listing, ListingOutput, print_listing, say

SITES = 3
"""Of a federation that is laid out, unless said."""


def add_to(app: typer.Typer) -> None:
    app.command("up")(up)
    app.command("down")(down)


def up(
    directory: Annotated[Path, typer.Argument(help="Where the federation lives; made if absent.")],
    sites: Annotated[
        int | None,
        typer.Option(help=f"Sites with data, each with its own Spark. Default: {SITES}."),
    ] = None,
    relays: Annotated[
        int | None, typer.Option(help="Agents without Spark, which only carry. Default: none.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="What is said of a site, as site1:tier=edge or '*:region=eu'; may be repeated."
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and start again agents that end.")
    ] = False,
    output: ListingOutput = None,
) -> None:
    """Start a federation of agents on this machine.

    Each agent is a process with a certificate, a port and a lean Spark of its own. Agents that run
    already are left alone, so this also brings back those that died.
    """
    from headwater.local import keeping
    from headwater.local import up as local
    from headwater.local.site_labels import read_labels

    labels = read_labels(label or ())
    with local.starting(directory):
        roster = local.lay_out(
            directory,
            site_count=SITES if sites is None else sites,
            relays=relays or 0,
            labels=labels,
        )
        other = local.not_laid_out(roster, site_count=sites, relays=relays, labels=labels)
        if other:
            say(f"{directory}: {other}")
        running = local.start(directory, say=say)
    current.remember(directory)
    rows = [
        {
            "site": site.name,
            "address": f"{site.host}:{site.port}",
            "process": running.pids[site.name],
            "data": str(directory / site.name / "data") if site.has_data else "",
        }
        for site in roster.sites
    ]
    print_listing(Listing.of(*rows), output)
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
    from headwater.local import keeping
    from headwater.local import up as local

    found = current.federation(directory)
    keeping.end_watcher(found, say=say)
    local.stop(found, say=say)
