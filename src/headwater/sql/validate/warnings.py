"""What is legal and probably not what was meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from headwater.algebra.windows.sessions import Sessions
from headwater.plan.durations import duration_text
from headwater.plan.query import Query
from headwater.sql.read.sql_text import offset_of
from headwater.sql.read.statements import SourceStatement, Statement, StreamStatement
from headwater.sql.tree.nodes import Grouped, Node, the
from headwater.sql.tree.slots import window_field

Warnings = Iterator[tuple[int, str]]
SESSIONS_ARE_CUT = (
    "random leaves out panes, and sessions go over several: one that reaches into a pane that was "
    "not drawn is shorter, is taken for two, or is lacking, and nothing of it is scaled; for whole "
    "sessions leave out sites instead: fidelity = 'panes 100 %, sites 60 %'"
)
"""Where, and what."""


def source_warnings(source: SourceStatement, statements: Sequence[Statement]) -> Warnings:
    streams = [one for one in statements if isinstance(one, StreamStatement)]
    tables = {table.name.lower() for one in streams for table in one.select.find_all(exp.Table)}
    if streams and source.name.lower() not in tables:
        yield source.offset, f"no stream of this file reads source `{source.name}`"


def stream_warnings(stream: StreamStatement, tree: Node, queries: Sequence[Query]) -> Warnings:
    select = stream.select
    yield from _keys(select, tree)
    order = select.args.get("order")
    terms = [] if order is None else order.expressions
    is_ordered = any(window_field(term.this) != "" for term in terms)  # it is one for each answer
    if select.args.get("limit") is not None and not is_ordered:
        at = offset_of(select.args["limit"])
        yield (
            stream.select_offset if at is None else at,
            "LIMIT without ORDER BY keeps the rows that are least by all columns, from left to "
            "right; say by what to choose, with ORDER BY",
        )
    for node in select.find_all(exp.EQ, exp.NEQ, exp.LT, exp.GT, exp.LTE, exp.GTE):
        if isinstance(node.left, exp.Null) or isinstance(node.right, exp.Null):
            at = offset_of(node)
            yield (
                stream.select_offset if at is None else at,
                "a comparison with NULL is never true; write IS NULL or IS NOT NULL",
            )
    yield from _quoted_columns(stream, tree)
    yield from _timing(stream, queries)
    yield from _cut_sessions(stream, queries)


def _keys(select: exp.Expr, tree: Node) -> Warnings:
    """A query without GROUP BY shows its rows as they are, whatever is in them."""
    if select.args.get("group") is None:
        return
    for key in the(tree, Grouped).keys:
        at = offset_of(key.expression)
        if not isinstance(key.expression, exp.Column) or at is None:
            continue
        if key.type == "timestamp":
            yield (
                at,
                f"`{key.name}` is a timestamp, so nearly every record is a group of its own; leave "
                f"it to window(…), or write date_trunc('HOUR', {key.name})",
            )
        if key.type in ("float", "double"):
            yield (
                at,
                f"`{key.name}` is a {key.type}, and values that differ in the last digit are two "
                f"groups; write round({key.name}, 2)",
            )


def _quoted_columns(stream: StreamStatement, tree: Node) -> Warnings:
    """Elsewhere "domain" is a column; in Spark it is a text."""
    columns = {column.name.lower() for column in the(tree, Grouped).source.columns}
    select = stream.select
    listed = [
        *select.expressions,
        *(group.expressions if (group := select.args.get("group")) else ()),
    ]
    for one in listed:
        value = one.unalias()
        is_text = isinstance(value, exp.Literal) and value.is_string
        if is_text and value.name.lower() in columns:
            at = offset_of(one)
            yield (
                stream.select_offset if at is None else at,
                f"'{value.name}' is a text here, the same in every row, and not the column of that "
                f"name; write {value.name} without quotes, or in backticks",
            )


def _timing(stream: StreamStatement, queries: Sequence[Query]) -> Warnings:
    options = {option.name: option for option in stream.options}
    for query in queries[:1]:
        timing, window = query.timing, query.window
        if timing.deadline_s < timing.disorder_s and "deadline" in options:
            yield (
                options["deadline"].value_offset,
                f"sites close a pane {duration_text(round(timing.disorder_s * 1e6))} after its end "
                "(disorder), so every first answer would come before that, without any site; "
                "raise deadline or lower disorder",
            )
        if timing.revise_for_s * 1e6 < window.range_us and "revise_for" in options:
            yield (
                options["revise_for"].value_offset,
                "answers are final before a window of this length has passed once; raise "
                "revise_for",
            )


def _cut_sessions(stream: StreamStatement, queries: Sequence[Query]) -> Warnings:
    offsets = {option.name: option.value_offset for option in stream.options}
    for query in queries[:1]:
        if query.draw is not None and isinstance(query.sessions, Sessions):
            yield offsets.get("fidelity", stream.select_offset), SESSIONS_ARE_CUT
