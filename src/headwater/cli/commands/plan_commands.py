"""What is asked of a file of statements before anything runs: ``validate`` and ``explain``.

Both work on the file alone. ``explain`` asks an agent only where one is named, or where it is given
the name of a stream.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from headwater.agent.control import control_api as api
from headwater.cli.commands.operator_commands import At, Federation, File, ask, read_sql
from headwater.cli.show.output import (
    OutputFormat,
    TextOutput,
    chosen,
    log_warnings_only,
    print_objects,
    print_text,
    say,
)
from headwater.errors import ConfigurationError

if TYPE_CHECKING:
    from headwater.plan.query import Query

EXIT_FAULTS = 2
EXIT_WARNINGS = 1
HOME = "home"
"""What the root is called where no federation is asked."""


def add_to(app: typer.Typer) -> None:
    app.command("validate")(validate)
    app.command("explain")(explain)


def validate(
    file: File,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object for each finding, for editors.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 if there are warnings.")
    ] = False,
) -> None:
    """Check a file of statements: all its faults at once, and what is probably wrong.

    No federation is asked, and nothing is run. Exit code 2: it has faults.
    """
    from headwater.sql.validate import validate as validation
    from headwater.sql.validate.finding import Severity

    text = read_sql(file)
    findings = validation.validate(text)
    if as_json:
        print_objects(msgspec.to_builtins(one) for one in findings)
    elif findings:
        print_text("\n\n".join(one.text(text) for one in findings))
    faults = sum(one.severity is Severity.FAULT for one in findings)
    warnings = sum(one.severity is Severity.WARNING for one in findings)
    say(f"{file}: {_count(faults, 'fault')}, {_count(warnings, 'warning')}")
    if faults:
        raise typer.Exit(EXIT_FAULTS)
    if warnings and strict:
        raise typer.Exit(EXIT_WARNINGS)


def _count(number: int, what: str) -> str:
    """
    >>> _count(0, "fault"), _count(1, "fault"), _count(2, "fault")
    ('no faults', '1 fault', '2 faults')
    """
    return f"no {what}s" if not number else f"{number} {what}{'' if number == 1 else 's'}"


def explain(
    what: Annotated[
        str, typer.Argument(help="A file of statements, or the name of a stream that is installed.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Each folder in it is a site: say what the file's streams would send of its files."
        ),
    ] = None,
    federation: Federation = None,
    at: At = None,
    output: TextOutput = None,
) -> None:
    """Show what a query does at the sites, on the way and at the root, and what that costs.

    A file is explained as it is, without a federation; with --federation or --at an agent adds the
    trees. With --data a sample is run on Spark: rows and bytes for each pane.
    """
    is_file = what == "-" or Path(what).exists() or Path(what).suffix == ".sql"
    is_asked = federation is not None or at is not None
    if data is not None and (is_asked or not is_file):
        raise ConfigurationError(
            "explain: --data is for a file of statements, without a federation"
        )
    if is_file and not is_asked:
        plans = _plans_of(read_sql(Path(what)), data)
    else:
        request = api.ExplainRequest(read_sql(Path(what)) if is_file else what)
        plans = list(ask(federation, at, api.EXPLAIN, request, api.ExplainReply).plans)
    if chosen(output) is OutputFormat.TABLE:
        print_text("\n\n".join(plans))
    else:
        print_objects({"plan": plan} for plan in plans)


def _plans_of(text: str, data: Path | None) -> list[str]:
    import time

    from headwater.errors import QueryRefused
    from headwater.sql.compile import compile_statements
    from headwater.sql.validate.validate import all_faults
    from headwater.sql.write.explain import explain as explained

    try:
        queries = compile_statements(
            text, root=HOME, installer=HOME, next_counter=1, now_us=round(time.time() * 1e6)
        )
    except QueryRefused as error:
        raise all_faults(text, error) from error
    plans = [explained(query) for query in queries]
    if data is None:
        return plans
    costs = _costs(text, data, queries)
    return [f"{plan}\n{cost}" for plan, cost in zip(plans, costs, strict=True)]


def _costs(text: str, data: Path, queries: list[Query]) -> list[str]:
    from tempfile import TemporaryDirectory

    from headwater.cli.ending import ends_in_order
    from headwater.local.free_memory import heap_for_a_run
    from headwater.local.trial.sent_bytes import sent_bytes
    from headwater.spark.jvm.session import SparkConfig
    from headwater.spark.jvm.starting import StartingSpark
    from headwater.store.owner_alone import owner_alone

    log_warnings_only()
    with ends_in_order(), owner_alone(), TemporaryDirectory(prefix="headwater-explain-") as scratch:
        config = SparkConfig(memory=heap_for_a_run(), directory=scratch, log=f"{scratch}/spark.log")
        with StartingSpark(config) as starting:
            found = sent_bytes(text, data, Path(scratch) / "sample", starting.running)
    by_name = {one.stream: one.text() for one in found}
    at_levels = {one.stream: f"sample  {one.sent:,} bytes" for of in found for one in of.levels}
    return [(by_name | at_levels)[query.id.name] for query in queries]
