"""``doctor`` says what is wrong with agents of this machine; ``audit`` what operators did there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headwater.cli import current
from headwater.cli.commands.operator_commands import Federation
from headwater.cli.show.output import SENTENCE_CHARACTERS_MAX, Listing, ListingOutput, print_listing
from headwater.errors import ConfigurationError

EXIT_WRONG = 1

Config = Annotated[
    Path | None,
    typer.Option(help="An agent's configuration; default: all of the federation in a directory."),
]


def add_to(app: typer.Typer) -> None:
    app.command("doctor")(doctor)
    app.command("audit")(audit)


def doctor(
    config: Config = None, federation: Federation = None, output: ListingOutput = None
) -> None:
    """Say what is wrong with agents of this machine.

    Whether they run, declared sources, ports, modes, certificates, Java, Spark's authentication,
    clock, disk; with what to do about it. Exit code 1: something is wrong.
    """
    from headwater.agent.care.doctor import examine, is_well

    rows, wrong = [], False
    for path in _configurations(config, federation):
        found = examine(path)
        wrong = wrong or not is_well(found)
        name = path.parent.name
        rows += [(name, one.check, str(one.state), one.found, one.to_do) for one in found]
    columns = ("agent", "check", "state", "found", "to do")
    print_listing(Listing(columns, rows, cell_characters_max=SENTENCE_CHARACTERS_MAX), output)
    if wrong:
        raise typer.Exit(EXIT_WRONG)


def audit(
    config: Config = None,
    federation: Federation = None,
    newest: Annotated[int, typer.Option(help="So many of the newest; 0: all.")] = 100,
    output: ListingOutput = None,
) -> None:
    """Print what operators did at agents of this machine."""
    from headwater.agent.config import AgentConfig
    from headwater.agent.control.audit import read_audit
    from headwater.cli.show.amounts import utc

    found = []
    for path in _configurations(config, federation):
        agent = AgentConfig.load(path)
        found += [(one, agent.site) for one in read_audit(Path(agent.directory))]
    found.sort(key=lambda pair: pair[0].at_s)
    rows = [
        (
            utc(int(one.at_s * 1e6)),
            site,
            one.who,
            one.serial,
            one.address,
            one.asked,
            one.what,
            one.outcome,
        )
        for one, site in found[-newest if newest else 0 :]
    ]
    columns = ("at", "agent", "who", "serial", "from", "asked", "what", "outcome")
    print_listing(Listing(columns, rows, none="nothing was asked yet"), output)


def _configurations(config: Path | None, federation: Path | None) -> list[Path]:
    if config is not None:
        return [config]
    directory = current.federation(federation)
    found = sorted(directory.glob("*/agent.toml"))
    if not found:
        raise ConfigurationError(f"{directory}: no agent's configuration there; give --config FILE")
    return found
