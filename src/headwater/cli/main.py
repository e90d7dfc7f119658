"""The ``headwater`` command: what there is, and how errors look.

Every command lives in a module of its own and imports what is heavy (Spark, Arrow, the agent)
when it runs, not when it is named, so that help and small commands answer at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from headwater import __version__
from headwater.cli.commands import (
    agent_commands,
    ask_command,
    care_commands,
    demo_command,
    infer_command,
    local_commands,
    operator_commands,
    plan_commands,
    run_command,
    simulate,
)
from headwater.cli.commands import try_command as trying
from headwater.errors import HeadwaterError
from headwater.shown_text import shown

DEBUG = "HEADWATER_DEBUG"
"""Set by ``--debug``, and seen by the processes that a command starts."""
EXIT_REFUSED = 2
EXIT_UNEXPECTED = 70

app = typer.Typer(
    name="headwater",
    help="Continuous questions about data that is born in many places, answered on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command and ends the process; what goes wrong is said in one message."""
    try:
        app(args=None if arguments is None else list(arguments), prog_name="headwater")
    except HeadwaterError as error:
        _end(f"headwater: {error}", EXIT_REFUSED, error)
    except Exception as error:
        text = f"headwater: unexpected {type(error).__name__}: {_text_of(error)}"
        _end(f"{text}\nrun the command again as: headwater --debug …", EXIT_UNEXPECTED, error)


def _text_of(error: Exception) -> str:
    """An error of a JVM asks it for its words, and it may be gone."""
    try:
        return str(error)
    except Exception:
        return "its words are gone with the JVM"


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"headwater {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", is_eager=True, callback=_show_version, help="Show the version and exit."
    ),
]


@app.callback()
def _before_every_command(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error came from.")] = False,
    version: Version = False,
) -> None:
    if debug:
        os.environ[DEBUG] = "1"


def _end(message: str, code: int, error: Exception) -> None:
    if os.environ.get(DEBUG):
        raise error
    print(shown(message), file=sys.stderr)
    sys.exit(code)


demo_command.add_to(app)
trying.add_to(app)
infer_command.add_to(app)
simulate.add_to(app)
local_commands.add_to(app)
plan_commands.add_to(app)
run_command.add_to(app)
ask_command.add_to(app)
operator_commands.add_to(app)
agent_commands.add_to(app)
care_commands.add_to(app)
