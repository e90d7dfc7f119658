"""The time of a record as an expression over columns: ``time = "to_timestamp(day || ' ' || at)"``.

It is computed for every line, before any query sees the record, so it must not fail: a text that is
no time makes its own line malformed, and nothing else. Spark's functions fail by default, and there
is no way to catch that around an expression. So what was written is turned into what can't fail
(``CAST`` into ``TRY_CAST``, ``+`` into ``try_add``), and only functions of which that is known are
let in. What travels is the turned expression; whoever receives it checks that it is one.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from headwater.algebra.rows.types import INTEGERS
from headwater.errors import QueryRefused
from headwater.plan.sources.source import Source
from headwater.plan.sources.time_formats import read_fault
from headwater.plan.sources.time_patterns import far_year, with_full_years
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices
from headwater.sql.read.sql_text import Unreadable, column, parse_expression, sql_of
from headwater.sql.types.call_types import name_of
from headwater.sql.types.declared_types import value_type
from headwater.sql.types.expression_types import COMPARISONS, PATTERNS, ColumnTypes, type_of
from headwater.sql.types.refused_nodes import brief
from headwater.sql.types.type_rules import is_number

TIME_SQL_MAX = 2000
_NEVER_FAIL = """
    btrim coalesce concat concat_ws contains endswith from_utc_timestamp get_json_object if ifnull
    instr isnotnull isnull lcase left length locate lower lpad ltrim nullif nvl nvl2 regexp_extract
    regexp_like regexp_replace regexp_substr replace reverse right rpad rtrim startswith substr
    substring substring_index timestamp_micros to_utc_timestamp translate trim try_add try_divide
    try_mod try_multiply try_subtract try_to_date try_to_timestamp ucase unix_date unix_micros
    unix_millis unix_seconds upper
"""
NEVER_FAIL = frozenset(_NEVER_FAIL.split())
"""Of the functions that a query may call, those that give NULL rather than fail."""
TURNED = {"to_timestamp": "TRY_TO_TIMESTAMP", "to_date": "TRY_TO_DATE"}
TURNED_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "TRY_ADD",
    exp.Sub: "TRY_SUBTRACT",
    exp.Mul: "TRY_MULTIPLY",
    exp.Div: "TRY_DIVIDE",
    exp.Mod: "TRY_MOD",
}
MAKE = "make_timestamp"
MADE_SYMBOLS = ("-", "-", " ", ":", ":")
"""Between its arguments, where they are written as one text."""
MADE_PATTERN = "y-M-d H:m:s.SSSSSS"
READS = ("try_to_timestamp", "try_to_date")
ZONED = ("to_utc_timestamp", "from_utc_timestamp")
DATE_LENGTH_MIN = 8
"""A colon before the ninth sign of a text: it has no date before its time."""
NEAR_S = 250_000 * 365 * 86_400
"""Seconds from 1970 within which a time can be moved from zone to zone."""
_LEAVES = (exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean)
_TYPED = (exp.TryCast, exp.DataType, exp.DataTypeParam, exp.Anonymous, exp.Paren, exp.DPipe)
_TRUTHS = (exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Case, exp.If)
_ADMITTED = (*_LEAVES, *_TYPED, *_TRUTHS, *COMPARISONS, *PATTERNS)

Types = Mapping[str, str]
"""Of the source's columns, by name."""


def compile_time(text: str, types: Types) -> str:
    """The expression as it travels. Raises ``Objection``."""
    if len(text) > TIME_SQL_MAX:
        raise Objection(None, f"a time's expression has at most {TIME_SQL_MAX} characters")
    try:
        tree = parse_expression(text)
    except Unreadable as error:
        raise Objection(None, error.message) from error
    resolved = _written_out(_resolved(tree, types), types)
    if type_of(resolved, _column_type(types)) == "date":
        resolved = exp.Cast(this=resolved, to=exp.DataType.build("TIMESTAMP", dialect="spark"))
    turned = _turned(resolved, types)
    _check(turned, types)
    return sql_of(turned)


def check_time(source: Source) -> None:
    """Of a source from the wire, whose time is computed. Raises ``QueryRefused``."""
    assert isinstance(source.time_sql, str)
    types = {field.name: field.type for field in source.fields}
    try:
        if len(source.time_sql) > 20 * TIME_SQL_MAX:
            raise Objection(
                None, f"wanted at most {20 * TIME_SQL_MAX} characters, got {len(source.time_sql)}"
            )
        tree = parse_expression(source.time_sql)
        if sql_of(tree) != source.time_sql:
            raise Objection(None, f"wanted the canonical writing {sql_of(tree)[:100]}, got another")
        if not (isinstance(tree, exp.Column) and tree.name in types and not tree.table):
            _check(tree, types)
    except (Objection, Unreadable) as error:
        raise QueryRefused(f"source: time: {error.message}") from error
    except RecursionError as error:
        raise QueryRefused(
            "source: time: wanted a shorter expression, this one nests too deeply"
        ) from error


def _resolved(tree: exp.Expr, types: Types) -> exp.Expr:
    by_name = {name.lower(): name for name in types}

    def resolve(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        found = by_name.get(node.name.lower())
        if node.table or found is None:
            names = choices("columns", types, near=node.name)
            raise Objection(None, f"no column `{sql_of(node)[:60]}`{names}")
        return column(found)

    return tree.transform(resolve)


def _written_out(node: exp.Expr, types: Types) -> exp.Expr:
    """What is short for something else, from the leaves up: a number beside ``||`` is its text, and
    ``make_timestamp`` is a text of its arguments that is read. Spark's own fails the batch for a
    year far off, and makes the next minute of second 60."""
    for child in list(node.iter_expressions()):
        written = _written_out(child, types)
        if written is not child:
            child.replace(written)
    if isinstance(node, exp.DPipe):
        for operand in (node.left, node.right):
            if not isinstance(operand, exp.DPipe):
                _make_text(operand, types)
    if isinstance(node, exp.Anonymous) and name_of(node) == MAKE:
        return _made(node.expressions, types)
    return node


def _make_text(operand: exp.Expr, types: Types) -> None:
    kind = type_of(operand, _column_type(types))
    if kind in INTEGERS or kind == "date":
        operand.replace(_try_cast(operand.copy(), "STRING"))


def _made(arguments: list[exp.Expr], types: Types) -> exp.Expr:
    if len(arguments) not in (6, 7):
        raise Objection(
            None,
            f"{MAKE} takes year, month, day, hour, minute, second, and a zone if it is not UTC; "
            f"got {len(arguments)} arguments",
        )
    for argument in arguments[:5]:
        kind = type_of(argument, _column_type(types))
        if kind != "string" and kind not in INTEGERS:
            raise Objection(
                None, f"{MAKE} takes integers up to the minute, got `{brief(argument)}`: {kind}"
            )
    parts = [_try_cast(one.copy(), "STRING") for one in arguments[:5]]
    parts.append(_try_cast(_try_cast(arguments[5].copy(), "DECIMAL(8, 6)"), "STRING"))
    text: exp.Expr = parts[0]
    for symbol, part in zip(MADE_SYMBOLS, parts[1:], strict=True):
        text = exp.DPipe(
            this=exp.DPipe(this=text, expression=exp.Literal.string(symbol)), expression=part
        )
    read = _call("TO_TIMESTAMP", text, exp.Literal.string(MADE_PATTERN))
    return read if len(arguments) == 6 else _call("TO_UTC_TIMESTAMP", read, arguments[6].copy())


def _turned(node: exp.Expr, types: Types) -> exp.Expr:
    """The expression with everything in it turned, from the leaves up."""
    for child in list(node.iter_expressions()):
        turned = _turned(child, types)
        if turned is not child:
            child.replace(turned)
    return _turned_one(node, types)


def _turned_one(node: exp.Expr, types: Types) -> exp.Expr:
    if type(node) is exp.Cast or type(node) is exp.TryCast:
        return _turned_cast(node.this, node.args["to"], types)
    operator = TURNED_OPERATORS.get(type(node))
    if operator is not None and isinstance(node, exp.Binary):
        return _call(operator, node.left, node.right)
    if not isinstance(node, exp.Anonymous):
        return node
    name, arguments = name_of(node), node.expressions
    if name == "timestamp_millis" and len(arguments) == 1:
        product = _call("TRY_MULTIPLY", arguments[0], exp.Literal.number(1000))
        return _call("TIMESTAMP_MICROS", product)
    if name == "timestamp_seconds" and len(arguments) == 1:
        seconds = _try_cast(arguments[0], "DECIMAL(20, 6)")
        micros = _call("TRY_MULTIPLY", seconds, exp.Literal.number(1_000_000))
        return _call("TIMESTAMP_MICROS", _try_cast(micros, "BIGINT"))
    if (name in TURNED or name in READS) and arguments:
        return _read(TURNED.get(name, name.upper()), arguments)
    if name in ZONED and arguments:
        return _call(name.upper(), _near(arguments[0]), *arguments[1:])
    return node


def _turned_cast(value: exp.Expr, to: exp.Expr, types: Types) -> exp.Expr:
    cast = exp.TryCast(this=value, to=to, safe=True)
    if sql_of(to) != "TIMESTAMP":
        return cast
    match type_of(value, _column_type(types)):
        case "string":
            return _read("TRY_TO_TIMESTAMP", [value])
        case "date":
            return _near_day(value, cast)
    return cast


def _read(name: str, arguments: list[exp.Expr]) -> exp.Expr:
    if len(arguments) > 1 and isinstance(arguments[1], exp.Literal):
        arguments = [arguments[0], exp.Literal.string(with_full_years(arguments[1].name))]
    return _guarded(_call(name, *arguments))


def _guarded(call: exp.Anonymous) -> exp.Expr:
    """NULL for a text by which the call would fail, or guess."""
    misleads = _misleads(call)
    return call if misleads is None else _call("IF", misleads, exp.Null(), call)


def _misleads(call: exp.Anonymous) -> exp.Expr | None:
    """A year of six digits fails the whole batch; a time without a date gets that of the run."""
    text, *pattern = call.expressions
    if not pattern:
        if name_of(call) != "try_to_timestamp":
            return None
        colon = _call("LOCATE", exp.Literal.string(":"), _call("LTRIM", text.copy()))
        low, high = exp.Literal.number(1), exp.Literal.number(DATE_LENGTH_MIN)
        return exp.Between(this=colon, low=low, high=high)
    far = far_year(pattern[0].name)
    return None if far is None else _call("REGEXP_LIKE", text.copy(), exp.Literal.string(far))


def _near(moment: exp.Expr) -> exp.Expr:
    return _within(_call("UNIX_SECONDS", moment.copy()), NEAR_S, moment)


def _near_day(day: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A date far off has no timestamp, and Spark would fail to make one."""
    return _within(_call("UNIX_DATE", day.copy()), NEAR_S // 86_400, value)


def _within(number: exp.Expr, most: int, value: exp.Expr) -> exp.Expr:
    bound = exp.Literal.number(most)
    is_near = exp.Between(this=number, low=exp.Neg(this=bound), high=bound.copy())
    return _call("IF", is_near, value, exp.Null())


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _try_cast(node: exp.Expr, type_: str) -> exp.TryCast:
    return exp.TryCast(this=node, to=exp.DataType.build(type_, dialect="spark"), safe=True)


def _check(tree: exp.Expr, types: Types) -> None:
    """Raises ``Objection`` for what is no timestamp, or might fail."""
    found = type_of(tree, _column_type(types))
    if found != "timestamp":
        raise Objection(
            None,
            f"a time is a timestamp, and `{brief(tree)}` is {found}; write to_timestamp(…) or "
            "timestamp_millis(…)",
        )
    for node in tree.walk():
        _check_node(node, types)


def _check_node(node: exp.Expr, types: Types) -> None:
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return
    if not isinstance(node, _ADMITTED):
        raise Objection(
            None,
            f"`{brief(node)}` might fail, and can't stand in a source's time; write it with "
            "functions that give NULL, such as to_timestamp or coalesce",
        )
    if isinstance(node, exp.Anonymous) and name_of(node) not in NEVER_FAIL:
        raise Objection(
            None,
            f"{name_of(node)[:60]} might fail, and can't stand in a source's time; available: "
            f"to_timestamp, to_date, {MAKE}, {', '.join(sorted(NEVER_FAIL))}",
        )
    if isinstance(node, exp.Anonymous) and name_of(node) in READS:
        _check_read(node, types)
    if isinstance(node, exp.Anonymous) and name_of(node) in ZONED:
        _check_near(node)
    if isinstance(node, exp.TryCast):
        _check_cast(node, types)
    if isinstance(node, (*COMPARISONS, exp.In, exp.Between)):
        _check_alike(node, types)


def _check_read(node: exp.Anonymous, types: Types) -> None:
    """Of a string, by a pattern that is known."""
    text, *rest = node.expressions
    if type_of(text, _column_type(types)) != "string":
        raise Objection(None, f"{name_of(node)} takes a string here, got `{brief(text)}`")
    pattern = rest[0].name if rest else ""
    fault = read_fault(pattern) if rest else None
    if fault is not None:
        raise Objection(None, f"wanted a pattern of Spark, got '{pattern[:60]}': {fault}")
    is_guarded = node.parent is not None and sql_of(node.parent) == sql_of(_guarded(node.copy()))
    if _misleads(node) is not None and not is_guarded:
        raise Objection(None, f"`{brief(node)}` might fail, or take the day of the run for a date")


def _check_near(node: exp.Anonymous) -> None:
    first = node.expressions[0]
    is_if = isinstance(first, exp.Anonymous) and len(first.expressions) == 3
    if not is_if or sql_of(first) != sql_of(_near(first.expressions[1])):
        raise Objection(None, f"`{brief(node)}` might fail: a time may be too far off")


def _check_cast(node: exp.TryCast, types: Types) -> None:
    found = type_of(node.this, _column_type(types))
    wanted = type_of(node, _column_type(types))
    if wanted == "timestamp" and (is_number(found) or found == "string"):
        raise Objection(None, "write timestamp_seconds(x) or timestamp_millis(x) for a number")
    guarded = sql_of(_near_day(node.this, node.copy()))
    is_guarded = node.parent is not None and sql_of(node.parent) == guarded
    if found == "date" and wanted == "timestamp" and not is_guarded:
        raise Objection(None, f"`{brief(node)}` might fail: a date may be too far off")


def _check_alike(node: exp.Expr, types: Types) -> None:
    """Spark reads a string beside a number as a number, and fails if it is none."""
    operands = [child for child in node.iter_expressions() if not isinstance(child, exp.Identifier)]
    kinds = {type_of(operand, _column_type(types)) for operand in operands} - {"void"}
    if len(kinds) > 1 and not all(is_number(kind) for kind in kinds):
        raise Objection(None, f"`{brief(node)}` compares {' and '.join(sorted(kinds))}")


def _column_type(types: Types) -> ColumnTypes:
    def found(node: exp.Column) -> str:
        if node.table or node.name not in types:
            columns = ", ".join(types)[:200]
            raise Objection(None, f"there is no column {sql_of(node)[:100]}; columns: {columns}")
        return value_type(types[node.name])

    return found
