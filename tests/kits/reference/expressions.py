"""Expressions over a record, or over a group, with Spark's NULLs."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark

from reference.aggregates import AGGREGATES, aggregate
from reference.functions import FUNCTIONS, TAKE_NULLS, divide, remainder, whole_division
from reference.values import compare, plain


class Plain(Spark):
    """Spark's dialect, in which each call is no more than a name and arguments."""

    class Tokenizer(Spark.Tokenizer):
        KEYWORDS = {
            word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word != "WINDOW"
        }

    class Parser(Spark.Parser):
        FUNCTIONS: dict[str, Any] = {}
        FUNCTION_PARSERS = {
            name: parse
            for name, parse in Spark.Parser.FUNCTION_PARSERS.items()
            if name in ("CAST", "TRY_CAST", "EXTRACT")
        }


def parsed(sql: str) -> exp.Select:
    return parse_one(sql, read=Plain)


class Scope(msgspec.Struct):
    """What names stand for, in one record or in one group of them."""

    record: Mapping[str, Any]
    """By lower-case name."""
    group: list[Mapping[str, Any]] | None = None
    aliases: Mapping[str, exp.Expression] = {}
    nulled: tuple[exp.Expression, ...] = ()
    """Keys that a grouping set leaves out."""
    grouping_id: int = 0

    def of(self, record: Mapping[str, Any]) -> Scope:
        """One record of the group."""
        return Scope(record, aliases=self.aliases)


def evaluate(node: exp.Expression, scope: Scope) -> Any:
    if node in scope.nulled:
        return None
    found = NODES.get(type(node))
    if found is None:
        raise NotImplementedError(f"{type(node).__name__}: {node.sql()}")
    return found(node, scope)


def _literal(node: exp.Literal, scope: Scope) -> Any:
    text = node.this
    if node.is_string:
        return text
    kind = re.sub(r"^[-\d.eE]+", "", text).upper()
    number = text[: len(text) - len(kind)] if kind else text
    if kind == "D" or ("e" in number.lower()):
        return float(number)
    return Fraction(number) if kind == "BD" or "." in number else int(number)


def _column(node: exp.Column, scope: Scope) -> Any:
    name = node.name.lower()
    if isinstance(node.this, exp.Star):
        raise NotImplementedError("*")
    parts = [part.name for part in node.parts]
    if len(parts) > 1 and parts[0].lower() in scope.record:
        value = scope.record[parts[0].lower()]
        for part in parts[1:]:
            value = None if value is None else value[part]
        return plain(value)
    if name in scope.record:
        return plain(scope.record[name])
    if name in scope.aliases:
        return evaluate(scope.aliases[name], scope)
    raise KeyError(f"no column {name}")


def _dot(node: exp.Dot, scope: Scope) -> Any:
    value = evaluate(node.this, scope)
    return None if value is None else value[node.expression.name]


def _call(node: exp.Anonymous, scope: Scope) -> Any:
    name = node.name.lower()
    if name in AGGREGATES and scope.group is not None:
        return _aggregate(node, scope, None)
    if name == "window" and "window" in scope.record:
        return scope.record["window"]
    if name in ("grouping_id", "grouping__id"):
        return scope.grouping_id
    if name == "grouping":
        return int(node.expressions[0] in scope.nulled)
    if name in ("transform", "filter", "exists", "forall", "aggregate", "any_match"):
        return _higher(name, node.expressions, scope)
    if name in ("struct", "named_struct") and name == "struct":
        return {
            _name(one, n): evaluate(one.unalias(), scope)
            for n, one in enumerate(node.expressions, 1)
        }
    values = [evaluate(one, scope) for one in node.expressions]
    if name in TAKE_NULLS:
        return TAKE_NULLS[name](*values)
    return None if None in values else FUNCTIONS[name](*values)


def _name(node: exp.Expression, place: int) -> str:
    return node.alias_or_name or f"col{place}"


def _higher(name: str, nodes: list[exp.Expression], scope: Scope) -> Any:
    values, last = evaluate(nodes[0], scope), nodes[-1]
    if values is None:
        return None
    assert isinstance(last, exp.Lambda)
    names = [one.name.lower() for one in last.expressions]

    def call(*given: Any) -> Any:
        inner = Scope(
            {**scope.record, **dict(zip(names, given, strict=False))}, aliases=scope.aliases
        )
        return evaluate(_unaliased_columns(last.this), inner)

    if name == "transform":
        return [call(one, n) for n, one in enumerate(values)]
    if name == "filter":
        return [one for n, one in enumerate(values) if call(one, n)]
    if name == "aggregate":
        found = evaluate(nodes[1], scope)
        for one in values:
            found = call(found, one)
        return found
    found_all = [call(one) for one in values]
    return any(found_all) if name == "exists" else all(found_all)


def _unaliased_columns(node: exp.Expression) -> exp.Expression:
    """Names of a lambda are bare identifiers to the parser."""
    return node.transform(
        lambda one: (
            exp.column(one.this)
            if isinstance(one, exp.Identifier)
            and not isinstance(one.parent, exp.Column | exp.Lambda | exp.Dot)
            else one
        )
    )


def _aggregate(node: exp.Anonymous, scope: Scope, condition: exp.Expression | None) -> Any:
    assert scope.group is not None
    arguments = node.expressions
    is_distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
    if is_distinct:
        arguments = arguments[0].expressions
    records = [scope.of(one) for one in scope.group]
    if condition is not None:
        records = [one for one in records if evaluate(condition, one)]
    if not arguments or isinstance(arguments[0], exp.Star):
        return len(records)
    rows = [tuple(evaluate(one, record) for one in arguments) for record in records]
    return aggregate(node.name.lower(), rows, is_distinct=is_distinct)


def _filter(node: exp.Filter, scope: Scope) -> Any:
    call = node.this
    if isinstance(call, exp.WithinGroup):
        call = _in_order_of_values(call)
    return _aggregate(call, scope, node.expression.this)


def _within_group(node: exp.WithinGroup, scope: Scope) -> Any:
    return _aggregate(_in_order_of_values(node), scope, None)


def _in_order_of_values(node: exp.WithinGroup) -> exp.Anonymous:
    """Lists are sorted by their values; no other order is asked for."""
    (term,), listed = node.expression.expressions, node.this.expressions[0]
    listed = listed.expressions[0] if isinstance(listed, exp.Distinct) else listed
    assert term.this == listed, node.sql()
    assert not term.args.get("desc"), node.sql()
    return node.this


def _strict(of: Callable[[Any, Any], Any]) -> Callable[[Any, Scope], Any]:
    """Of two values that are there."""

    def found(node: exp.Binary, scope: Scope) -> Any:
        left, right = evaluate(node.left, scope), evaluate(node.right, scope)
        return None if left is None or right is None else of(left, right)

    return found


def _comparison(holds: Callable[[int], bool]) -> Callable[[Any, Scope], Any]:
    return _strict(lambda left, right: holds(compare(*_alike(left, right))))


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """A text beside something else is read as that."""
    if isinstance(left, str) and not isinstance(right, str):
        return cast(left, _type_of(right)), right
    if isinstance(right, str) and not isinstance(left, str):
        return left, cast(right, _type_of(left))
    return left, right


def _type_of(value: Any) -> str:
    kinds = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", Fraction: "DECIMAL", dt.date: "DATE"}
    return kinds.get(type(value), "TIMESTAMP")


def _and(node: exp.And, scope: Scope) -> Any:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(node: exp.Or, scope: Scope) -> Any:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _not(node: exp.Not, scope: Scope) -> Any:
    value = evaluate(node.this, scope)
    return None if value is None else not value


def _in(node: exp.In, scope: Scope) -> Any:
    value = evaluate(node.this, scope)
    if value is None:
        return None
    others = [evaluate(one, scope) for one in node.expressions]
    if any(one is not None and compare(*_alike(value, one)) == 0 for one in others):
        return True
    return None if None in others else False


def _between(node: exp.Between, scope: Scope) -> Any:
    value, low, high = (evaluate(node.args[name], scope) for name in ("this", "low", "high"))
    if None in (value, low, high):
        return None
    return compare(*_alike(value, low)) >= 0 and compare(*_alike(value, high)) <= 0


def _is(node: exp.Is, scope: Scope) -> bool:
    value, wanted = evaluate(node.this, scope), node.expression
    return value is None if isinstance(wanted, exp.Null) else value is evaluate(wanted, scope)


def _case(node: exp.Case, scope: Scope) -> Any:
    subject = node.this and evaluate(node.this, scope)
    for one in node.args["ifs"]:
        condition = evaluate(one.this, scope)
        if node.this is not None:
            condition = None not in (condition, subject) and compare(condition, subject) == 0
        if condition:
            return evaluate(one.args["true"], scope)
    default = node.args.get("default")
    return None if default is None else evaluate(default, scope)


def _if(node: exp.If, scope: Scope) -> Any:
    return evaluate(node.args["true"] if evaluate(node.this, scope) else node.args["false"], scope)


def _any(node: exp.Any, scope: Scope) -> Any:
    """The aggregate, of which the parser makes something of its own."""
    argument = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
    return _call(exp.Anonymous(this="bool_or", expressions=[argument]), scope)


def _like(left: str, right: str) -> bool:
    pattern = "".join({"%": ".*", "_": "."}.get(one) or re.escape(one) for one in right)
    return re.fullmatch(pattern, left, re.S) is not None


def _negated(of: Callable[[Any, Scope], Any]) -> Callable[[Any, Scope], Any]:
    """A NOT that the parser keeps in the node."""

    def found(node: exp.Expression, scope: Scope) -> Any:
        value = of(node, scope)
        return value if value is None or not node.args.get("negate") else not value

    return found


def _cast_node(node: exp.Cast, scope: Scope) -> Any:
    value = evaluate(node.this, scope)
    return None if value is None else cast(value, node.to.sql(dialect="spark").upper())


def cast(value: Any, kind: str) -> Any:
    if kind in ("INT", "BIGINT", "SMALLINT", "TINYINT", "LONG", "INTEGER"):
        return int(value)
    if kind in ("DOUBLE", "FLOAT"):
        return float(value)
    if kind == "BOOLEAN":
        return (
            value.lower() in ("true", "t", "yes", "y", "1")
            if isinstance(value, str)
            else bool(value)
        )
    if kind.startswith("DECIMAL"):
        scale = re.search(r",\s*(\d+)", kind)
        exact = Fraction(Decimal(repr(value)) if isinstance(value, float) else value)
        return FUNCTIONS["round"](exact, int(scale[1])) if scale else exact
    if kind == "DATE":
        return FUNCTIONS["date"](value)
    if kind == "TIMESTAMP":
        return FUNCTIONS["to_timestamp"](value)
    assert kind == "STRING", f"CAST AS {kind}"
    return text_of(value)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S") + (
            f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
        )
    assert not isinstance(value, Fraction | float), "the text of such a number depends on its type"
    return str(value)


def _neg(node: exp.Neg, scope: Scope) -> Any:
    value = evaluate(node.this, scope)
    return None if value is None else -value


def _add(left: Any, right: Any) -> Any:
    return left + right


def _interval(node: exp.Interval, scope: Scope) -> dt.timedelta:
    unit = node.args["unit"].name.lower().rstrip("s")
    text = node.this.this if isinstance(node.this, exp.Literal) else str(evaluate(node.this, scope))
    return dt.timedelta(**{f"{unit}s": int(text)})


def _extract(node: exp.Extract, scope: Scope) -> Any:
    value, field = evaluate(node.expression, scope), node.this.name.lower()
    return None if value is None else FUNCTIONS[field](value)


def _bracket(node: exp.Bracket, scope: Scope) -> Any:
    value, at = evaluate(node.this, scope), evaluate(node.expressions[0], scope)
    if value is None or at is None:
        return None
    if isinstance(value, dict):
        return value.get(at)
    return value[at] if 0 <= at < len(value) else None


NODES: dict[type[exp.Expression], Callable[[Any, Scope], Any]] = {
    exp.Literal: _literal,
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Anonymous: _call,
    exp.Filter: _filter,
    exp.WithinGroup: _within_group,
    exp.Null: lambda node, scope: None,
    exp.Boolean: lambda node, scope: node.this,
    exp.Paren: lambda node, scope: evaluate(node.this, scope),
    exp.Alias: lambda node, scope: evaluate(node.this, scope),
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.In: _in,
    exp.Between: _between,
    exp.Is: _is,
    exp.Case: _case,
    exp.Cast: _cast_node,
    exp.Neg: _neg,
    exp.Interval: _interval,
    exp.Extract: _extract,
    exp.Bracket: _bracket,
    exp.TryCast: _cast_node,
    exp.If: _if,
    exp.Any: _any,
    exp.Transform: lambda node, scope: _higher("transform", [node.this, node.expression], scope),
    exp.Add: _strict(_add),
    exp.Sub: _strict(lambda x, y: x - y),
    exp.Mul: _strict(lambda x, y: x * y),
    exp.Div: _strict(divide),
    exp.IntDiv: _strict(whole_division),
    exp.Mod: _strict(remainder),
    exp.EQ: _comparison(lambda c: c == 0),
    exp.NEQ: _comparison(lambda c: c != 0),
    exp.LT: _comparison(lambda c: c < 0),
    exp.LTE: _comparison(lambda c: c <= 0),
    exp.GT: _comparison(lambda c: c > 0),
    exp.GTE: _comparison(lambda c: c >= 0),
    exp.NullSafeEQ: lambda node, scope: TAKE_NULLS["equal_null"](
        evaluate(node.left, scope), evaluate(node.right, scope)
    ),
    exp.Like: _negated(_strict(_like)),
    exp.ILike: _negated(_strict(lambda x, y: _like(x.lower(), y.lower()))),
    exp.RegexpLike: _strict(lambda x, y: re.search(y, x) is not None),
    exp.DPipe: _strict(lambda x, y: x + y),
    exp.BitwiseAnd: _strict(lambda x, y: x & y),
    exp.BitwiseOr: _strict(lambda x, y: x | y),
    exp.BitwiseXor: _strict(lambda x, y: x ^ y),
    exp.BitwiseNot: lambda node, scope: ~evaluate(node.this, scope),
}
