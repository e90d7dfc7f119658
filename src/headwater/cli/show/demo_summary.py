"""What the demo ends with: a table of its streams, and what one would tell a colleague of it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headwater.cli.show.amounts import amount, ratio
from headwater.local.demo.demo_snapshot import (
    AskedVerdict,
    DemoSummary,
    LevelVerdict,
    NarrowVerdict,
)


def summary_table(summary: DemoSummary) -> RenderableType:
    """What the demo ends with."""
    table = Table(title="What came out", title_justify="left")
    table.add_column("stream")
    for name in ("windows", "final", "exact", "revisions", "rows"):
        table.add_column(name, justify="right")
    table.add_column("equal to one Spark over all records")
    for stream in summary.streams:
        within = ", within what it says" if stream.bounded_count else ""
        verdict = Text(f"yes{within}", "green")
        if not stream.is_equal:
            verdict = Text(stream.difference, "bold red")
        counts = (
            stream.window_count,
            stream.final_count,
            stream.exact_count,
            stream.revision_count,
            stream.row_count,
        )
        table.add_row(stream.name, *(f"{count:,}" for count in counts), verdict)
    return Group(table, *(Text(line) for line in _closing_lines(summary)))


def _closing_lines(summary: DemoSummary) -> tuple[str, ...]:
    """What one would tell a colleague, and what it is made of."""
    sent, raw = summary.sent_bytes, summary.raw_bytes
    rest = max(sent - summary.summaries_bytes, 0)
    unparsed = max((stream.unparsed_count for stream in summary.streams), default=0)
    return (
        "",
        f"Twelve sites wrote {summary.record_count:,} records, {amount(raw)} of logs, and "
        f"{amount(sent)} crossed the network: {ratio(raw, sent)} less than the logs, "
        f"{ratio(summary.raw_zstd_bytes, sent)} less than the logs in zstd.",
        "While a region was cut off and an agent was dead, answers came all the same: "
        f"{summary.incomplete_count} said who was missing, and were revised when all were back.",
        _end(summary),
        *([_narrow_line(summary.narrow)] if summary.narrow is not None else []),
        *([_level_line(summary.level)] if summary.level is not None else []),
        *([_asked_line(summary.asked)] if summary.asked is not None else []),
        "",
        f"Of what was sent, {amount(summary.summaries_bytes)} are summaries of records. The other "
        f"{amount(rest)} keep twelve sites in four trees together (heartbeats, acknowledgements, "
        "states, frames), and would be as much if the sites wrote ten times more.",
        f"{unparsed:,} lines were malformed, as some always are: counted, and in no answer.",
    )


def _end(summary: DemoSummary) -> str:
    if not summary.is_good:
        return "NOT every answer is final, exact and equal to that of one Spark: see the table."
    if not any(stream.bounded_count for stream in summary.streams):
        return (
            "In the end every answer was exact, and equal to that of one Spark over all the logs."
        )
    return (
        "In the end every answer was exact, and equal to that of one Spark over all the logs; or, "
        "where small rows were kept back, off by no more than it says."
    )


def _narrow_line(narrow: NarrowVerdict) -> str:
    """What an error buys."""
    count = narrow.window_count
    return (
        f"Over {narrow.line} misses was there in time in {narrow.whole_in_time} of {count} "
        f"windows, after {seconds(narrow.whole_s)} in the middle; misses_soon, which may be off "
        f"by {narrow.asked}, in {narrow.bounded_in_time} of {count}, after "
        f"{seconds(narrow.bounded_s)}. It was off by at most {narrow.reached:.2%}, kept "
        f"{narrow.withheld_keys:,} small rows of a window back, and sent "
        f"{amount(narrow.bounded_bytes)} instead of {amount(narrow.whole_bytes)}."
        f"{_busy_text(narrow)}"
    )


def _level_line(level: LevelVerdict) -> str:
    """What was given up, and what became of it."""
    if level.went_after_s is None:
        return (
            f"This run doesn't show a change of level: {level.site}'s line was not narrow for long "
            "enough."
        )
    back = "it did not return before the logs ended"
    if level.back_after_s is not None:
        back = f"pages came back {seconds(level.back_after_s)} after it was wide again"
    return (
        f"When {level.site} could send no more than {level.limit}, it sent kinds of pages after "
        f"{seconds(level.went_after_s)}; {back}. {level.by_kind} windows of pages were answered "
        f"by kind meanwhile, and {level.exact_by_page} of them are exact by page in the end."
    )


def _asked_line(asked: AskedVerdict) -> str:
    """What the cubes said when they were asked."""
    source = "the sites' cubes" if asked.reads_cubes else "the sites' logs"
    verdict = "as one Spark has it" if asked.is_equal else f"NOT as one Spark: {asked.difference}"
    return (
        f"Asked about all of it in the end ({asked.select}), {source} answered after "
        f"{seconds(asked.took_s)}: {asked.row_count} rows, {verdict}."
    )


def _busy_text(narrow: NarrowVerdict) -> str:
    """Where a run doesn't show what it is to show."""
    count = narrow.window_count
    if narrow.bounded_in_time < (count + 1) // 2:
        return " The machine was too busy for either: its logs were read late."
    if narrow.whole_in_time >= (count + 1) // 2:
        return " This run doesn't show it: the line was wide enough for both."
    return ""


def seconds(time_s: float | None) -> str:
    return "…" if time_s is None else f"{time_s:.1f} s"
