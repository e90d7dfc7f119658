"""``agent`` runs one site; ``certs`` makes what its members prove themselves with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.amounts import utc
from headwater.cli.output import Listing, ListingOutput, OutputFormat, print_listing

if TYPE_CHECKING:
    from headwater.net.certs import CertFiles
    from headwater.net.identity import Role

Directory = Annotated[Path, typer.Argument(help="Where the CA's key is; keep it off the sites.")]
Days = Annotated[float | None, typer.Option(help="How long it is valid.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
Host = Annotated[list[str] | None, typer.Option(help="A name or address that it is dialled by.")]
Into = Annotated[Path | None, typer.Option(help="Write it elsewhere than beside the CA.")]

certs = typer.Typer(
    help="Make a federation's CA and certificates.",
    no_args_is_help=True, add_completion=False, rich_markup_mode=None,
)  # fmt: skip


def add_to(app: typer.Typer) -> None:
    app.command("agent")(agent)
    app.add_typer(certs, name="certs")


def agent(
    config: Annotated[Path, typer.Option(help="The agent's configuration, agent.toml.")],
) -> None:
    """Run the agent of one site until SIGTERM or SIGINT."""
    from headwater.agent.config import AgentConfig
    from headwater.agent.process import run_agent

    run_agent(AgentConfig.load(config))


@certs.command("init")
def init(
    directory: Directory,
    federation: Annotated[str, typer.Option(help="The federation's name.")],
    days: Days = None,
    force: Force = False,
    output: ListingOutput = None,
) -> None:
    """Make the CA of a new federation.

    Its certificate, ca.pem, is for everyone; its key, ca.key, for nobody else.
    """
    from headwater.net.certs import CA_DAYS, CertFiles, create_authority

    create_authority(directory, federation, days=CA_DAYS if days is None else days, force=force)
    ca = directory / "ca.pem"
    _print("authority", federation, CertFiles(ca, ca, directory / "ca.key"), output)


@certs.command("site")
def site(
    directory: Directory,
    name: Annotated[str, typer.Argument(help="As in the roster.")],
    host: Host = None,
    into: Into = None,
    days: Days = None,
    force: Force = False,
    output: ListingOutput = None,
) -> None:
    """Make the certificate of a site."""
    from headwater.net.identity import Role

    _issue(directory, Role.SITE, name, into, days, force, output, hosts=tuple(host or ()))


@certs.command("relay")
def relay(
    directory: Directory,
    name: Annotated[str, typer.Argument(help="As in the roster.")],
    host: Host = None,
    into: Into = None,
    days: Days = None,
    force: Force = False,
    output: ListingOutput = None,
) -> None:
    """Make the certificate of a relay, which carries and never originates."""
    from headwater.net.identity import Role

    _issue(directory, Role.RELAY, name, into, days, force, output, hosts=tuple(host or ()))


@certs.command("operator")
def operator(
    directory: Directory,
    name: Annotated[str, typer.Argument(help="Who commands.")],
    into: Into = None,
    days: Days = None,
    force: Force = False,
    output: ListingOutput = None,
) -> None:
    """Make the certificate of an operator, who commands."""
    from headwater.net.identity import Role

    _issue(directory, Role.OPERATOR, name, into, days, force, output)


@certs.command("viewer")
def viewer(
    directory: Directory,
    name: Annotated[str, typer.Argument(help="Who looks on.")],
    into: Into = None,
    days: Days = None,
    force: Force = False,
    output: ListingOutput = None,
) -> None:
    """Make the certificate of a viewer, who sees and changes nothing."""
    from headwater.net.identity import Role

    _issue(directory, Role.VIEWER, name, into, days, force, output)


@certs.command("show")
def show(
    certificate: Annotated[Path, typer.Argument(help="A certificate file.")],
    output: ListingOutput = None,
) -> None:
    """Say whom a certificate speaks for, and until when."""
    from headwater.net.certs import identity_in

    who = identity_in(certificate)
    row = (
        str(who.role),
        who.name,
        who.federation,
        utc(int(who.expires_s * 1e6)),
        f"{who.serial:x}",
    )
    print_listing(Listing(("role", "name", "federation", "expires", "serial"), [row]), output)


def _issue(
    directory: Path, role: Role, name: str, into: Path | None, days: float | None, force: bool,
    output: OutputFormat | None, *, hosts: tuple[str, ...] = (),
) -> None:  # fmt: skip
    from headwater.net.certs import issue, load_authority

    signer = load_authority(directory)
    files = issue(signer, role, name, into=into, hosts=hosts, days=days, force=force)
    _print(role, name, files, output)


def _print(role: str, name: str, files: CertFiles, output: OutputFormat | None) -> None:
    row = (str(role), name, str(files.cert), str(files.key), str(files.ca))
    print_listing(Listing(("role", "name", "certificate", "key", "ca"), [row]), output)
