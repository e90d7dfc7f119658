"""``simulate``: a federation of any size in virtual time, from a small file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.show.output import (
    Listing,
    OutputFormat,
    TextOutput,
    chosen,
    print_listing,
    print_objects,
    say,
)

if TYPE_CHECKING:
    from headwater.sim.measure.findings import Findings

EXIT_BROKEN = 1


def add_to(app: typer.Typer) -> None:
    app.command("simulate")(simulate)


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A TOML file; see docs/guide/simulate.md.")],
    seed: Annotated[int | None, typer.Option(help="Instead of the file's own.")] = None,
    output: TextOutput = None,
    out: Annotated[
        Path | None, typer.Option(help="A directory for findings.json and pictures.")
    ] = None,
) -> None:
    """Run a federation in virtual time: the real machines in a world that a file describes.

    Sites, clocks, links and troubles are simulated; what decides is the code that agents run.
    Ends with 1 when a rule was broken.
    """
    import msgspec

    from headwater.sim.measure.findings import find
    from headwater.sim.measure.picture import write_pictures
    from headwater.sim.simulation import run_simulation
    from headwater.sim.simulation_file import read_simulation

    form = chosen(output)
    file = read_simulation(scenario)
    if seed is not None:
        file = msgspec.structs.replace(file, seed=seed)
    say(f"seed {file.seed}")
    ran = run_simulation(file)
    findings = find(ran)
    if form is OutputFormat.JSON:
        print_objects([findings])
    else:
        print_listing(_summary(findings), form)
    if out is not None:
        for path in write_pictures(findings, ran.scenario.trees, out):
            say(f"wrote {path}")
        path = out / "findings.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(findings)))
        say(f"wrote {path}")
    if ran.outcome.rule:
        raise typer.Exit(EXIT_BROKEN)


def _summary(found: Findings) -> Listing:
    load, windows = found.load_bits_s, found.windows
    cut_off = max((one.live - one.reachable for one in windows), default=0)
    installed = f"{found.installed} of {found.sites} sites"
    if found.installed_all_s is not None:
        installed += f", all within {found.installed_all_s:.2f} s"
    rows = [
        ("world", f"{found.world}, {found.sites} sites, {found.trees} trees of {found.branching}"),
        (
            "time",
            f"{found.virtual_s:g} s virtual, {found.wall_s:.1f} s real, {found.events:,} events",
        ),
        ("installed", installed),
        (
            "windows",
            f"{len(windows)}, of which unanswered "
            f"{sum(one.trigger == 'unanswered' for one in windows)}",
        ),
        (
            "live sites in the first answer",
            f"mean {found.completeness_first:.2%}, worst {found.completeness_worst:.2%}",
        ),
        (
            "what the network allowed",
            f"mean {found.limit:.2%} of live sites; up to {cut_off} live without a path",
        ),
        (
            "records in the first answer of the window they were born in",
            f"mean {found.true_completeness:.2%}",
        ),
        ("all sites in the newest answer", f"mean {found.completeness_last:.2%}"),
        (
            "latency of the first answer",
            f"mean {found.latency_mean_s:.2f} s, 90% within {found.latency_p90_s:.2f} s",
        ),
        ("hops of what is in an answer", f"mean {found.hops_mean:.2f}"),
        ("ways taken", ", ".join(f"{stage} {n:,}" for stage, n in found.stages.items()) or "none"),
        (
            "network load",
            f"{load.total / 1e6:.2f} Mbit/s: heartbeats {load.heartbeats / 1e6:.2f}, "
            f"summaries {load.summaries / 1e6:.2f}, rest {load.rest / 1e6:.2f}",
        ),
        (f"checks ({found.checks})", found.verdict),
    ]
    return Listing(("what", "found"), rows, title=f"Simulation of seed {found.seed}")
