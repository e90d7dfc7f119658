"""The levels of each operator as it is asked for, or why the stream can't have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from headwater.algebra.aggregates.sketches.hll_cells import LG_K_MIN
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import LARGEST_MAX
from headwater.plan.degrading.companion import LEVELS_MAX as STREAMS_MAX
from headwater.plan.degrading.degradation import LEVELS_MAX, Operator, OperatorKind
from headwater.plan.durations import duration_text, duration_us
from headwater.sql.degrade.at_level import shrunk
from headwater.sql.degrade.can_be_had import Degradable
from headwater.sql.degrade.degrade_option import OPERATORS, Asked
from headwater.sql.read.error_option import bound_of
from headwater.sql.read.objection import Objection
from headwater.sql.read.options import Options
from headwater.sql.read.sql_text import parse_expression, sql_of
from headwater.sql.tree.items import Key
from headwater.sql.types.call_types import name_of
from headwater.sql.types.expression_types import type_of
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS
from headwater.sql.types.type_rules import type_sql

TIME = "time"
THRESHOLD_LEVELS = (1 / 64, 1 / 16, 1 / 4, 1.0)
"""Parts of the limit. Values of groups spread over magnitudes, so steps of a few percent would
hardly differ."""
SHRINK_LEVELS = (1 / 2, 1 / 4)
"""Of the precision: a quarter and a sixteenth of the registers."""

Reader = Callable[[Options, Asked, Degradable], Operator]


def read_operator(options: Options, asked: Asked, stream: Degradable) -> Operator:
    """Raises ``QueryRefused``."""
    kind = asked.name
    if kind == "coarsen":
        kind = "coarsen time" if asked.arguments[0].lower() == TIME else "coarsen key"
    return _READERS[OperatorKind(kind)](options, asked, stream)


def _coarsen_time(options: Options, asked: Asked, stream: Degradable) -> Operator:
    can_be, lengths = stream.lengths(), list[float]()
    if not can_be:
        raise _refused(options, asked, stream, "panes of this stream are not put together in time")
    for text in asked.arguments[1:]:
        length = duration_us(text)
        if length is None:
            raise _refused(options, asked, stream, f"'{text[:60]}' is no length of time")
        if length not in can_be:
            shown = ", ".join(map(duration_text, can_be))
            raise _refused(
                options,
                asked,
                stream,
                f"panes are {duration_text(stream.pane_us)} long, and coarse ones are {shown}, so "
                f"that those of all sites fit together; got '{text[:60]}'",
            )
        lengths.append(length)
    if lengths != sorted(set(lengths)):
        raise _refused(options, asked, stream, "wanted each length once, the shortest first")
    return _made(options, asked, stream, OperatorKind.COARSEN_TIME, lengths)


def _coarsen_key(options: Options, asked: Asked, stream: Degradable) -> Operator:
    key = _key(options, asked, stream)
    if len(asked.arguments) != 2:
        raise _refused(options, asked, stream, "wanted coarsen(key, expression)")
    try:
        expression = parse_expression(asked.arguments[1])
    except Exception as error:
        raise _refused(options, asked, stream, f"can't read '{asked.arguments[1][:60]}'") from error
    columns = {one.name.lower() for one in expression.find_all(exp.Column)}
    if columns not in ({key.name.lower()}, {asked.arguments[0].strip("`").lower()}):
        got = ", ".join(sorted(columns)) or "none"
        raise _refused(
            options,
            asked,
            stream,
            f"a coarser key is made of `{key.name}` alone, got columns {got}",
        )
    calls = [name_of(one) for one in expression.find_all(exp.Anonymous)]
    unknown = [one for one in calls if one not in FUNCTIONS and one not in CAST_FUNCTIONS]
    if unknown or expression.find(exp.Select, exp.Window) is not None:
        raise _refused(
            options,
            asked,
            stream,
            f"wanted an expression that always gives the same, got `{(unknown or ['SELECT'])[0]}`",
        )
    _check_type(options, asked, stream, key, expression)
    found = _made(options, asked, stream, OperatorKind.COARSEN_KEY, [1.0], key.name)
    return Operator(found.kind, found.levels, key.name, sql_of(expression), found.text)


def _check_type(
    options: Options, asked: Asked, stream: Degradable, key: Key, expression: exp.Expr
) -> None:
    """The columns of an answer have the same types at every level."""
    try:
        type_ = type_of(expression, lambda column: key.type)
    except Objection as objection:
        raise _refused(options, asked, stream, objection.message) from objection
    if type_ != key.type:
        raise _refused(
            options,
            asked,
            stream,
            f"wanted {key.type}, which `{key.name}` is, got {type_}; write "
            f"CAST(… AS {type_sql(key.type)})",
        )


def _threshold(options: Options, asked: Asked, stream: Degradable) -> Operator:
    column, can_be = asked.arguments[0].strip("`"), stream.thresholds()
    found = next((one for one in can_be if one.lower() == column.lower()), None)
    if found is None:
        raise _refused(
            options,
            asked,
            stream,
            f"`{column[:60]}` is no count or sum of values that are never negative, over groups "
            "that are all shown: of nothing else sites know what an answer is off by without it"
            + stream.left_out(),
        )
    if len(asked.arguments) != 2:
        raise _refused(options, asked, stream, f"wanted {OPERATORS['threshold']}")
    bound = bound_of(options, asked.arguments[1], option="degrade")
    if bound.form is ErrorForm.VALUE and bound.size >= 1.0:
        raise _refused(options, asked, stream, "all of each value is no limit")
    return _made(options, asked, stream, OperatorKind.THRESHOLD, list(THRESHOLD_LEVELS), found)


def _sample(options: Options, asked: Asked, stream: Degradable) -> Operator:
    key, text = _key(options, asked, stream), asked.arguments[1].replace(" ", "")
    numerator, slash, below = text.partition("/")
    parts = int(below) if slash and below.isascii() and below.isdigit() and len(below) < 10 else 0
    count = parts.bit_length() - 1
    is_power = numerator == "1" and parts > 1 and parts == 1 << count and count <= STREAMS_MAX
    if len(asked.arguments) != 2 or not is_power:
        raise _refused(
            options,
            asked,
            stream,
            f"samples are halves of halves, down to a least share such as 1/16 and not below "
            f"1/{1 << STREAMS_MAX}; got '{asked.arguments[1][:60]}'",
        )
    levels = [1.0 / (1 << n) for n in range(1, count + 1)]
    return _made(options, asked, stream, OperatorKind.SAMPLE, levels, key.name)


def _top(options: Options, asked: Asked, stream: Degradable) -> Operator:
    text, column = asked.arguments[0], asked.arguments[1].strip("`")
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if len(asked.arguments) != 2 or not 1 <= count <= LARGEST_MAX:
        raise _refused(
            options,
            asked,
            stream,
            f"wanted 1 to {LARGEST_MAX} groups and a column, got '{text[:60]}'",
        )
    found = next((one for one in stream.tops() if one.lower() == column.lower()), None)
    if found is None:
        raise _refused(
            options,
            asked,
            stream,
            f"`{column[:60]}` is no count or sum that is never negative, over groups that are all "
            "shown, with keys that are neither structs nor arrays, in windows that do not overlap, "
            "and without states that grow" + stream.left_out(),
        )
    return _made(options, asked, stream, OperatorKind.TOP, [float(count)], found)


def _shrink(options: Options, asked: Asked, stream: Degradable) -> Operator:
    column = asked.arguments[0].strip("`")
    sketches = stream.sketches()
    found = next((one for one in sketches if one.lower() == column.lower()), None)
    if found is None or len(asked.arguments) != 1:
        raise _refused(
            options,
            asked,
            stream,
            f"wanted a column that is an approx_count_distinct or an hll_sketch_agg of 64 "
            f"registers or more, of groups in windows of time that do not slide; "
            f"`{column[:60]}` is none, and other sketches are not made smaller",
        )
    levels = [one for one in SHRINK_LEVELS if shrunk(sketches[found], one) >= LG_K_MIN]
    return _made(options, asked, stream, OperatorKind.SHRINK, levels, found)


_READERS: Mapping[OperatorKind, Reader] = {
    OperatorKind.COARSEN_TIME: _coarsen_time,
    OperatorKind.COARSEN_KEY: _coarsen_key,
    OperatorKind.THRESHOLD: _threshold,
    OperatorKind.SAMPLE: _sample,
    OperatorKind.TOP: _top,
    OperatorKind.SHRINK: _shrink,
}


def _key(options: Options, asked: Asked, stream: Degradable) -> Key:
    found = stream.key(asked.arguments[0]) if stream.has_groups else None
    if found is None:
        raise _refused(
            options, asked, stream, f"`{asked.arguments[0][:60]}` is no key that groups have"
        )
    if not stream.has_level_windows:
        why = "wanted windows of time that do not slide, one behind the other"
        raise _refused(options, asked, stream, why)
    if not stream.has_levels(found):
        place = "" if found.place is None else ", of the place where a record is"
        raise _refused(
            options,
            asked,
            stream,
            f"wanted a key of integers, decimals, texts, days, times or truths, of which equal "
            f"values are equal to every function; got `{found.name}`, which is {found.type}{place}",
        )
    return found


def _made(
    options: Options,
    asked: Asked,
    stream: Degradable,
    kind: OperatorKind,
    levels: list[float],
    column: str = "",
) -> Operator:
    if len(levels) > LEVELS_MAX:
        raise _refused(options, asked, stream, f"wanted at most {LEVELS_MAX} levels")
    made = Operator(kind, tuple(levels), column, text=asked.text)
    fault = made.fault()
    if fault is not None:
        raise _refused(options, asked, stream, fault)
    return made


def _refused(options: Options, asked: Asked, stream: Degradable, why: str) -> Exception:
    return options.refused("degrade", f"`{asked.text[:60]}`: {why}{stream.offered()}")
