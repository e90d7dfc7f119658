"""``try``: a query over the files of one directory, through the whole way, in one command."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from headwater.cli.commands.operator_commands import read_sql
from headwater.cli.ending import ends_in_order
from headwater.cli.show.output import AnyOutput, OutputFormat, chosen, log_warnings_only, say
from headwater.errors import ConfigurationError, QueryRefused

if TYPE_CHECKING:
    from headwater.cli.show.answers import StreamAnswers
    from headwater.cli.show.progress import ProgressLine
    from headwater.local.trial.results import StreamResult
    from headwater.local.trial.sampled_sites import Sampled
    from headwater.spark.jvm.session import SparkConfig
    from headwater.spark.jvm.starting import StartingSpark


EXIT_DIFFERENT = 1
EXIT_INCOMPLETE = 3
"""There are answers, and records that should be in them are not."""
LEFT_OUT_WINDOWS_SHOWN = 5
"""Windows of a stream of which it is said which groups they lack."""
LEFT_ALONE_SHOWN = 5
"""Files of a stream that are named as not read."""


def add_to(app: typer.Typer) -> None:
    app.command("try")(try_files)


def try_files(
    sites: Annotated[
        Path, typer.Option(help="Each folder in it is a site; paths in sources are relative to it.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="SQL: CREATE SOURCE and CREATE STREAM statements.", show_default=False),
    ] = None,
    infer: Annotated[
        bool,
        typer.Option(
            "--infer",
            help="Infer the source from the files: of the streams in FILE, or of a first question.",
        ),
    ] = False,
    central: Annotated[
        bool, typer.Option("--central", help="Compute with one plain Spark over all files.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Do both, and say whether they are equal.")
    ] = False,
    output: AnyOutput = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the answers to this file, not to the output.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Spark's heap, 2g say. Default: half of what is free, up to 4g."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Show the first N rows of each window.")
    ] = None,
    sample: Annotated[
        float | None,
        typer.Option(help="Read only this share of each site's files, 0.01 say: a first look."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one takes another sample.")] = 1,
) -> None:
    """Run a query over your own files, to the end.

    All of it in one process: Spark at the sites, cubes, the tree, Spark at the root.
    """
    from headwater.cli.show.reading_report import reading_report
    from headwater.local.free_memory import checked_heap, heap_for_a_run
    from headwater.local.trial.demand_lines import demand_lines, link_lines
    from headwater.local.trial.kept_back import kept_back_lines, level_lines, staleness_lines

    log_warnings_only()
    form = _form(output, out)
    if central and compare:
        raise ConfigurationError("try: --compare computes both; leave --central away")
    text = _statements(file, sites, is_inferred=infer)
    heap = heap_for_a_run() if memory is None else checked_heap(memory)
    with ends_in_order():
        results, found, sampled = _computed(
            text,
            sites,
            _Wanted(
                form=form,
                out=out,
                is_central=central,
                is_compared=compare,
                heap=heap,
                share=sample,
                seed=seed,
            ),
        )
    _write(results, sampled, form, out, limit=limit)
    report = reading_report(results)
    for line in report.lines:
        say(line)
    for result in results:
        if result.unparsed:
            lines = "1 line" if result.unparsed == 1 else f"{result.unparsed:,} lines"
            say(f"{result.query.id.name}: {lines} could not be parsed")
        for line in (*left_out_lines(result), *left_alone_lines(result)):
            say(line)
        if result.kept_back is not None:
            for line in kept_back_lines(result.query, result.kept_back):
                say(line)
        for line in (
            *demand_lines(result.query),
            *level_lines(result.query),
            *staleness_lines(result.query),
            *link_lines(result.query, result.sizes),
        ):
            say(line)
        for site, message in result.failed.items():
            say(f"{result.query.id.name}: records of {site} are missing, Spark refused: {message}")
    over = "all files" if sampled is None else "the same sample"
    near = {result.query.id.name for result in results if result.query.bounds}
    for stream, difference in found.items():
        alike = "within its bounds of what" if stream in near else "equal to"
        counts = " counts" if stream in near else ""
        say(f"{stream}: {difference or f'{alike} one Spark{counts} over {over}'}")
    for line in report.failures:
        say(line)
    if any(found.values()):
        raise typer.Exit(EXIT_DIFFERENT)
    if report.failures or any(result.failed for result in results):
        raise typer.Exit(EXIT_INCOMPLETE)


def _statements(file: Path | None, sites: Path, *, is_inferred: bool) -> str:
    """What is to be run; a source that was inferred is said, with its doubts."""
    if file is None and not is_inferred:
        raise ConfigurationError(
            "try: wanted a file of statements, or --infer, which looks at the files and asks a "
            "first question"
        )
    text = None if file is None else read_sql(file)
    if text is not None and not is_inferred:
        return text
    from headwater.local.trial.infer_try import with_inferred_source

    statements, inferred = with_inferred_source(text, sites)
    said = [*inferred.comments, f"{inferred.statement};"]
    say("\n".join([*said, f"{inferred.question};"] if text is None else said))
    return statements


def _write(
    results: list[StreamResult],
    sampled: Sampled | None,
    form: OutputFormat,
    out: Path | None,
    *,
    limit: int | None,
) -> None:
    """The answers, and what of them is not there because it was not asked for."""
    from headwater.cli.show.answers import limited, write_answers
    from headwater.local.trial.results import joined

    share = None if sampled is None else sampled.sample.share
    streams = [_answers(parts, share) for parts in joined(results)]
    shown = streams if limit is None else [limited(stream, limit) for stream in streams]
    write_answers(shown, form, out)
    for stream, less in zip(streams, shown, strict=True):
        if less.row_count < stream.row_count:
            say(
                f"{stream.name}: {stream.row_count - less.row_count:,} of {stream.row_count:,} "
                f"rows left out: --limit {limit} is for each window"
            )
    if sampled is not None:
        say(sample_line(sampled))


def sample_line(sampled: Sampled) -> str:
    """
    >>> from headwater.local.trial.sampled_sites import Sample, Sampled
    >>> sample_line(Sampled(Sample(0.01), 4_000_000, 41_000, 9, 7))[:58]
    'a sample: 41.0 kB of 4.0 MB was read, in 7 of 9 files, see'
    """
    from headwater.cli.show.amounts import amount

    return (
        f"a sample: {amount(sampled.bytes_taken)} of {amount(sampled.bytes_all)} was read, in "
        f"{sampled.files_taken} of {sampled.file_count} files, seed {sampled.sample.seed}; counts "
        "and sums are those of the sample, nothing is scaled up, and no answer is exact"
    )


def left_out_lines(result: StreamResult) -> list[str]:
    """What is said of groups without a row, window by window, up to a limit."""
    lines = []
    for window, left_out in sorted(result.left_out.items())[:LEFT_OUT_WINDOWS_SHOWN]:
        start = result.query.bound_text(result.query.window.window_start_us(window))
        lines.append(f"{result.query.id.name}: window from {start}: {left_out.text()}")
    rest = len(result.left_out) - LEFT_OUT_WINDOWS_SHOWN
    if rest > 0:
        lines.append(f"{result.query.id.name}: groups were left out of {rest} windows more")
    return lines


def left_alone_lines(result: StreamResult) -> list[str]:
    """What is said of files that were not read, up to a limit."""
    name, alone = result.query.id.name, result.left_alone
    lines = [f"{name}: {path} was not read: {reason}" for path, reason in alone[:LEFT_ALONE_SHOWN]]
    rest = len(alone) - LEFT_ALONE_SHOWN
    return [*lines, f"{name}: {rest} files more were not read"] if rest > 0 else lines


def _form(output: OutputFormat | None, out: Path | None) -> OutputFormat:
    """A file's own ending decides where nothing else does."""
    if output is None and out is not None:
        known = {f".{form}": form for form in OutputFormat if form is not OutputFormat.TABLE}
        if out.suffix not in known:
            raise ConfigurationError(
                f"--out {out}: wanted -o json, csv, parquet or table, or a file ending of that kind"
            )
        return known[out.suffix]
    form = chosen(output)
    if form is OutputFormat.PARQUET and out is None and sys.stdout.isatty():
        raise ConfigurationError("-o parquet: give --out FILE; a terminal can't show it")
    return form


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the command was asked for, beside the question."""

    form: OutputFormat
    out: Path | None
    is_central: bool
    is_compared: bool
    heap: str
    share: float | None
    seed: int


Computed = tuple["list[StreamResult]", dict[str, str | None], "Sampled | None"]
"""The answers, where they differ from those of one Spark, and what was read, if not all."""


def _computed(text: str, sites: Path, wanted: _Wanted) -> Computed:
    """Spark starts while the query is compiled, unless how it starts depends on that. What can't
    be done is refused before anybody waits, and ends a start that is under way."""
    from headwater.cli.show.progress import ProgressLine
    from headwater.local.bytes_below import is_surely_little
    from headwater.spark.jvm.starting import StartingSpark
    from headwater.store.owner_alone import owner_alone

    scratch = TemporaryDirectory(prefix="headwater-try-")
    with owner_alone(), scratch as directory, contextlib.ExitStack() as stack:
        starting: StartingSpark | None = None
        if is_surely_little(sites):
            starting = stack.enter_context(StartingSpark(_spark_config(wanted, directory, True)))
        is_brief = _checked(text, sites, wanted)
        line = stack.enter_context(ProgressLine())
        sampled = _sampled(text, sites, Path(directory) / "sample", wanted, line)
        if starting is None:
            config = _spark_config(wanted, directory, is_brief)
            starting = stack.enter_context(StartingSpark(config))
        read_from = sites if sampled is None else Path(directory) / "sample"
        return *_run(text, read_from, wanted, starting, line), sampled


def _spark_config(wanted: _Wanted, directory: str, is_brief: bool) -> SparkConfig:
    from headwater.spark.jvm.session import SparkConfig

    return SparkConfig(
        memory=wanted.heap, directory=directory, log=f"{directory}/spark.log", is_brief=is_brief
    )


def _checked(text: str, sites: Path, wanted: _Wanted) -> bool:
    """Raises what is wrong with the query or where its answers are to go; whether it is a short
    run."""
    from headwater.cli.show.answers import check_output
    from headwater.local.trial.site_folders import check, is_brief
    from headwater.sql.validate.validate import all_faults

    try:
        streams = check(text, sites)
    except QueryRefused as error:
        raise all_faults(text, error) from error
    check_output(streams, wanted.form, wanted.out)
    return wanted.share is None and is_brief(text, sites)


def _sampled(
    text: str, sites: Path, into: Path, wanted: _Wanted, line: ProgressLine
) -> Sampled | None:
    from headwater.local.trial.results import Progress
    from headwater.local.trial.sampled_sites import Sample
    from headwater.local.trial.site_folders import sampled

    if wanted.share is None:
        return None
    sample = Sample(wanted.share, wanted.seed)
    line.show(Progress(f"taking a sample of {wanted.share:g}"))
    return sampled(text, sites, into, sample)


def _run(
    text: str, sites: Path, wanted: _Wanted, starting: StartingSpark, line: ProgressLine
) -> tuple[list[StreamResult], dict[str, str | None]]:
    from headwater.local.trial.compare_results import differences
    from headwater.local.trial.demand_lines import wants_sizes, with_sizes
    from headwater.local.trial.one_spark import try_central
    from headwater.local.trial.results import Progress
    from headwater.local.trial.try_query import try_query

    line.show(Progress("starting Spark"))
    spark = starting.running()
    if wanted.is_central:
        return try_central(text, sites, show=line.show, spark=spark), {}
    results = try_query(text, sites, show=line.show, spark=spark)
    if any(wants_sizes(result.query) for result in results):
        line.show(Progress("measuring what sites would send"))
        results = with_sizes(results, text, sites, spark)
    if not wanted.is_compared:
        return results, {}
    failed: dict[str, str] = {}
    reference = try_central(text, sites, show=line.show, spark=spark, failed=failed)
    alike = [one for one in results if one.query.id.name not in failed]
    unlike = {name: f"not compared: {reason}" for name, reason in failed.items()}
    return results, differences(alike, reference) | unlike


def _answers(parts: Sequence[StreamResult], share: float | None = None) -> StreamAnswers:
    """One stream, window by window; within a window part by part. Of a sample nothing is exact."""
    from headwater.cli.show.answers import StreamAnswers

    counted = parts[0].query.counted
    windows = sorted((one for part in parts for one in part.windows), key=lambda one: one.window)
    headers = [
        {"start_us": window.start_us, "end_us": window.end_us, "counted": counted}
        if window.envelope is None
        else msgspec.to_builtins(window.envelope)
        for window in windows
    ]
    if share is not None:
        headers = [{**header, "exact": False, "sample": share} for header in headers]
    return StreamAnswers(parts[0].query.stream, headers, [one.rows for one in windows])
