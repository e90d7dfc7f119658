"""The site part as SQL over ``records``: filter, place in panes, group, compute partials."""

from headwater.algebra.panes import WindowSpec
from headwater.algebra.rows.types import PANE_COLUMN
from headwater.plan.part import Part
from headwater.sql.read.sql_text import name_sql, named_sql, parse, sql_of
from headwater.sql.resolve.question import Key, Question
from headwater.sql.rules.split_aggregates import SplitQuestion

RECORDS = "records"


def write_site_sql(split: SplitQuestion, part: Part | None = None) -> str:
    question = split.question
    columns = [f"{pane_sql(question.window, question.source.time_column)} AS {PANE_COLUMN}"]
    columns += [named_sql(key_sql(key), key.name) for key in question.keys]
    columns += [named_sql(text, partial.name) for partial, text in split.partials.items()]
    positions = ", ".join(str(position) for position in range(1, len(question.keys) + 2))
    return sql_of(
        parse(
            f"SELECT {', '.join(columns)} FROM {RECORDS} "
            f"WHERE {records_condition(question, part)} GROUP BY {positions}"
        )
    )


def pane_sql(window: WindowSpec, time_column: str) -> str:
    """The number of a record's pane, in whole microseconds: ⌊(time − start) / pane⌋.

    DIV rounds towards zero, so before 1970 one is taken off where there is a rest. (No double is
    involved, which would misplace microseconds, and nothing is subtracted from the time that
    could overflow at its ends, beside the window's start.)
    """
    time = f"UNIX_MICROS({name_sql(time_column)})"
    if window.start_us:
        time = f"({time} - {window.start_us})"
    return f"{time} DIV {window.pane_us} - CAST({time} % {window.pane_us} < 0 AS BIGINT)"


def key_sql(key: Key) -> str:
    """A computed key is cast to its declared type, so that no site can send another one."""
    text = sql_of(key.expression)
    is_column = text == name_sql(key.expression.name)
    return text if is_column else f"CAST({text} AS {key.type.upper()})"


def records_condition(question: Question, part: Part | None) -> str:
    """A record without a time is in no window, for Spark's ``window()`` as well.

    The part comes last: a key may be an expression that fails on records which WHERE keeps out.
    """
    terms = [f"NOT {name_sql(question.source.time_column)} IS NULL"]
    if question.where is not None:
        terms.append(f"({sql_of(question.where)})")
    if part is not None:
        terms.append(part.condition_sql([key_sql(key) for key in question.keys]))
    return " AND ".join(terms)
