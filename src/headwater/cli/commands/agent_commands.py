"""``agent`` runs one site; ``certs`` makes what members prove themselves by, and signs rosters."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.show.amounts import utc
from headwater.cli.show.output import Listing, ListingOutput, OutputFormat, print_listing
from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from headwater.net.identity.certs import CertFiles
    from headwater.net.identity.signed_roster import SignedRoster

TIMES = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"]
Directory = Annotated[Path, typer.Argument(help="Where the CA's key is; keep it off the sites.")]
Days = Annotated[float | None, typer.Option(help="How long it is valid.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
Host = Annotated[list[str] | None, typer.Option(help="A name or address that it is dialled by.")]
Into = Annotated[Path | None, typer.Option(help="Write it elsewhere than beside the CA.")]

certs = typer.Typer(
    help="Make a federation's CA and certificates, and sign its roster.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


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
    from headwater.net.identity.certs import CA_DAYS, CertFiles, create_authority

    create_authority(directory, federation, days=CA_DAYS if days is None else days, force=force)
    ca = directory / "ca.pem"
    _print("authority", federation, CertFiles(ca, ca, directory / "ca.key"), output)


def _of_agents(role: str, about: str) -> None:
    """The command that makes certificates for those who are dialled."""

    @certs.command(role, help=about)
    def issued(
        directory: Directory,
        name: Annotated[str, typer.Argument(help="As in the roster.")],
        host: Host = None,
        into: Into = None,
        days: Days = None,
        force: Force = False,
        output: ListingOutput = None,
    ) -> None:
        _issue(directory, role, name, into, days, force, output, hosts=tuple(host or ()))


def _of_people(role: str, does: str, about: str) -> None:
    @certs.command(role, help=about)
    def issued(
        directory: Directory,
        name: str = typer.Argument(help=does),
        into: Into = None,
        days: Days = None,
        force: Force = False,
        output: ListingOutput = None,
    ) -> None:
        _issue(directory, role, name, into, days, force, output)


_of_agents("site", "Make the certificate of a site.")
_of_agents("relay", "Make the certificate of a relay, which carries and never originates.")
_of_people("operator", "Who commands.", "Make the certificate of an operator, who commands.")
_of_people(
    "viewer", "Who looks on.", "Make the certificate of a viewer, who sees and changes nothing."
)


@certs.command("roster")
def roster(
    text: Annotated[
        Path, typer.Argument(metavar="ROSTER.toml", help="The roster as it is written.")
    ],
    operator: Annotated[
        Path | None,
        typer.Option(help="Where an operator's certificate and key are; default: certs beside it."),
    ] = None,
    into: Annotated[
        Path | None, typer.Option(help="Write it elsewhere than to ROSTER.signed.")
    ] = None,
    former: Annotated[
        Path | None,
        typer.Option(help="The signed version before, if it is not the one that is replaced."),
    ] = None,
    holds_from: Annotated[
        datetime | None,
        typer.Option(
            formats=TIMES, metavar="<time>", help="As 2027-01-31T12:00:00, in UTC; default: now."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is there without comparing.")
    ] = False,
    output: ListingOutput = None,
) -> None:
    """Sign a roster as an operator; agents take no other.

    It is compared with the version that it replaces: the version rises, no site's ordinal changes,
    and none is used again.
    """
    from headwater.cli.reach import operator_files
    from headwater.net.identity.signed_roster import issue_roster

    signed = issue_roster(
        text,
        into or text.with_suffix(".signed"),
        operator_files(operator or text.parent / "certs"),
        at_s=time.time(),
        holds_from_s=None if holds_from is None else holds_from.replace(tzinfo=UTC).timestamp(),
        former=former,
        force=force,
    )
    _print_roster(signed, output)


@certs.command("show")
def show(
    file: Annotated[Path, typer.Argument(help="A certificate, or a signed roster.")],
    ca: Annotated[
        Path | None,
        typer.Option(help="Whose roster it must be; default: ca.pem beside it or in certs."),
    ] = None,
    output: ListingOutput = None,
) -> None:
    """Say whom a certificate speaks for, and until when; or who signed a roster, and its sites."""
    from headwater.net.identity.certs import identity_in

    if _is_roster(file):
        _show_roster(file, ca, output)
        return
    if file.suffix == ".toml":
        raise ConfigurationError(
            f"{file}: wanted a certificate or a signed roster; a roster is signed with: "
            f"headwater certs roster {file} --operator DIR"
        )
    who = identity_in(file)
    row = {
        "role": str(who.role),
        "name": who.name,
        "federation": who.federation,
        "expires": utc(int(who.expires_s * 1e6)),
        "serial": f"{who.serial:x}",
    }
    print_listing(Listing.of(row), output)


def _is_roster(file: Path) -> bool:
    from headwater.net.identity.signed_roster import is_signed, read_bounded

    return file.is_file() and is_signed(read_bounded(file))


def _show_roster(file: Path, ca: Path | None, output: OutputFormat | None) -> None:
    """Only what is proven is shown."""
    from headwater.net.identity.signed_roster import RosterTrust, load_signed_roster

    places = [file.parent / "certs" / "ca.pem", file.parent / "ca.pem"]
    found = ca or next((place for place in places if place.exists()), None)
    if found is None:
        raise ConfigurationError(f"{file}: whose roster it must be is not known; give --ca ca.pem")
    signed = load_signed_roster(file, RosterTrust.of_ca(found))
    _print_roster(signed, output)
    rows = [
        {
            "ordinal": one.ordinal,
            "site": one.name,
            "address": f"{one.host}:{one.port}" if one.dialable else "",
            "region": one.region,
            "kind": "data" if one.has_data else "relay",
        }
        for one in signed.roster.sites
    ]
    print_listing(Listing.of(*rows), output)


def _print_roster(signed: SignedRoster, output: OutputFormat | None) -> None:
    row = {
        "federation": signed.federation,
        "version": signed.roster.version,
        "home": signed.roster.home,
        "sites": len(signed.roster.sites),
        "signed by": signed.by.name,
        "serial": f"{signed.by.serial:x}",
        "signed at": utc(int(signed.signed_at_s * 1e6)),
        "holds from": utc(int(signed.holds_from_s * 1e6)),
        "certificate ends": utc(int(signed.by.expires_s * 1e6)),
        "digest": signed.digest.hex()[:8],
    }
    print_listing(Listing.of(row), output)


def _issue(
    directory: Path,
    role: str,
    name: str,
    into: Path | None,
    days: float | None,
    force: bool,
    output: OutputFormat | None,
    *,
    hosts: tuple[str, ...] = (),
) -> None:
    from headwater.net.identity.certs import issue, load_authority
    from headwater.net.identity.identity import Role

    signer = load_authority(directory)
    files = issue(signer, Role(role), name, into=into, hosts=hosts, days=days, force=force)
    _print(role, name, files, output)


def _print(role: str, name: str, files: CertFiles, output: OutputFormat | None) -> None:
    row = (str(role), name, str(files.cert), str(files.key), str(files.ca))
    print_listing(Listing(("role", "name", "certificate", "key", "ca"), [row]), output)
