"""The type of an expression, from the types of its columns; what has none is not admitted.

One walk does both: it knows every kind of node that may occur in a query, so a node it does not
know, a function that is not listed, or arguments that Spark would have to guess about end in an
``Objection`` that says what to write instead. Only what passes here is ever run.
"""

from collections.abc import Callable, Mapping

from sqlglot import exp

from headwater.algebra.rows.nested_types import element_type, field_types, is_nested, key_type
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX, INTEGERS, decimal_digits, decimal_type
from headwater.sql.read.objection import Objection
from headwater.sql.read.refusal import choices
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.call_types import call_type, is_integer_literal, name_of
from headwater.sql.types.declared_types import declared_type, value_type
from headwater.sql.types.functions import is_written
from headwater.sql.types.interval_types import (
    family_of,
    interval_arithmetic,
    literal_interval,
    named_interval,
)
from headwater.sql.types.lambda_types import DEPTH_MAX, lambda_call_type, takes_lambda
from headwater.sql.types.literal_checks import check_literals
from headwater.sql.types.literal_type import literal_type
from headwater.sql.types.refused_nodes import brief, unknown_node
from headwater.sql.types.result_types import part_type
from headwater.sql.types.type_rules import (
    TIMES,
    VOID,
    arithmetic_type,
    can_cast,
    can_compare,
    common_type,
    is_number,
    named_type,
    no_arithmetic,
)
from headwater.sql.types.value_sizes import check_sizes

ColumnTypes = Callable[[exp.Column], str]
"""The type of a column, or an ``Objection`` if there is no such column."""

AVAILABLE_TYPES = "boolean, tinyint, smallint, int, bigint, float, double, decimal(p,s), string, …"
ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
UNIT_FUNCTIONS = {
    **dict.fromkeys(("date_add", "dateadd", "timestampadd"), "timestamp"),
    **dict.fromkeys(("date_diff", "datediff", "timestampdiff"), "bigint"),
}
"""With a word for the unit as their first argument, and what they then yield."""
CLOCK_UNITS = ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR")
UNITS = (*CLOCK_UNITS, "DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR")
PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike)
BITWISE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)


def type_of(node: exp.Expr, columns: ColumnTypes) -> str:
    """The Spark type of this expression. Raises ``Objection``, also for one whose value may become
    too large, or whose literals Spark would refuse when it runs."""
    typing = _Typing(columns)
    found = typing.of(node)
    check_sizes(node, typing.of)
    check_literals(node)
    return found


class _Typing:
    def __init__(self, columns: ColumnTypes) -> None:
        self._found: dict[int, str] = {}
        """By the identity of the node; the tree outlives this walk."""
        self._variables: list[Mapping[str, str]] = []
        """Of the lambdas around the node that is looked at, the innermost last."""
        self._rules: dict[type[exp.Expr], Callable[..., str]] = {
            exp.Column: columns,
            exp.Literal: literal_type,
            exp.Boolean: lambda _: "boolean",
            exp.Null: lambda _: VOID,
            exp.Paren: lambda node: self.of(node.this),
            exp.Neg: self._negated,
            exp.BitwiseNot: self._bits,
            exp.DPipe: self._joined,
            exp.And: self._logic,
            exp.Or: self._logic,
            exp.Not: self._logic,
            exp.In: self._member,
            exp.Between: self._between,
            exp.Is: self._is,
            exp.Escape: self._escape,
            exp.Case: self._case,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Anonymous: self._call,
            exp.Bracket: self._reached,
            exp.Extract: self._part,
            exp.Identifier: self._variable,
            exp.Interval: literal_interval,
            **dict.fromkeys(ARITHMETIC, self._arithmetic),
            **dict.fromkeys(COMPARISONS, self._compared),
            **dict.fromkeys(PATTERNS, self._pattern),
            **dict.fromkeys(BITWISE, self._bits),
        }

    def of(self, node: exp.Expr) -> str:
        """Worked out once for each node: operators ask for the types of their operands more than
        once, and a tower of them would double the work with every floor."""
        found = self._found.get(id(node))
        if found is None:
            rule = self._rules.get(type(node))
            if rule is None:
                raise Objection(node, unknown_node(node))
            found = self._found[id(node)] = rule(node)
        return found

    def _wants(self, node: exp.Expr, wanted: str, what: str) -> None:
        found = self.of(node)
        if found not in (wanted, VOID):
            raise Objection(
                node, f"{what} takes {wanted}, and `{brief(node)}` is {found}; write a CAST"
            )

    def _negated(self, node: exp.Neg) -> str:
        found = self.of(node.this)
        if not is_number(found) and family_of(found) is None:
            raise Objection(node, f"a minus takes a number, and `{brief(node.this)}` is {found}")
        return found

    def _arithmetic(self, node: exp.Binary) -> str:
        operator = ARITHMETIC[type(node)]
        if isinstance(node.right, exp.Add | exp.Sub):
            raise Objection(
                node, f"write brackets: ({brief(node.right)}), or one INTERVAL for each sign"
            )
        left, right = self._operand(node.left, node.right), self._operand(node.right, node.left)
        has_number = is_number(left) or is_number(right)
        found = arithmetic_type(operator, left, right) or interval_arithmetic(
            operator, left, right, is_number=has_number
        )
        if found is None and left == "date" and right in INTEGERS[:3] and operator in "+-":
            found = "date"
        if found is None:
            raise Objection(node, no_arithmetic(operator, left, right))
        return found

    def _operand(self, node: exp.Expr, other: exp.Expr) -> str:
        """An integer literal beside a decimal has as many digits as it is written with."""
        found = self.of(node)
        digits = (sql_of(node).lstrip("-( ").lstrip("0") or "0") if is_integer_literal(node) else ""
        if digits and decimal_digits(self.of(other)) is not None:
            return decimal_type(min(len(digits), DECIMAL_DIGITS_MAX), 0)
        return found

    def _bits(self, node: exp.Expr) -> str:
        operands = _operands(node)
        for operand in operands:
            _require_brackets(node, operand)
        types = [self.of(operand) for operand in operands]
        if not all(found in INTEGERS for found in types):
            raise Objection(node, f"bit operators take integers, got {' and '.join(types)}")
        return max(types, key=INTEGERS.index)

    def _joined(self, node: exp.DPipe) -> str:
        for operand in (node.left, node.right):
            if not isinstance(operand, exp.DPipe):
                _require_brackets(node, operand)
            found = self.of(operand)
            if not is_written(found):
                raise Objection(
                    operand,
                    f"|| takes strings, whole numbers, decimals, truths and times, and "
                    f"`{brief(operand)}` is {found}; write CAST(… AS STRING)",
                )
        return "string"

    def _logic(self, node: exp.Expr) -> str:
        for operand in _operands(node):
            self._wants(operand, "boolean", type(node).__name__.upper())
        return "boolean"

    def _compared(self, node: exp.Binary) -> str:
        self._check_comparable(node, node.left, node.right)
        return "boolean"

    def _check_comparable(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> None:
        types = self.of(left), self.of(right)
        if not can_compare(*types):
            raise Objection(
                node,
                f"`{brief(left)}` is {types[0]} and `{brief(right)}` is {types[1]}, "
                "which can't be compared; write a CAST",
            )

    def _member(self, node: exp.In) -> str:
        if node.args.get("query") is not None or not node.expressions:
            raise Objection(node, "IN takes a list of values, as in x IN ('a', 'b'); no subqueries")
        for value in node.expressions:
            self._check_comparable(node, node.this, value)
        return "boolean"

    def _between(self, node: exp.Between) -> str:
        if node.args.get("symmetric"):
            raise Objection(node, "BETWEEN SYMMETRIC is not available; write the lower bound first")
        for bound in (node.args["low"], node.args["high"]):
            self._check_comparable(node, node.this, bound)
        return "boolean"

    def _is(self, node: exp.Is) -> str:
        if isinstance(node.expression, exp.Boolean):
            self._wants(node.this, "boolean", "IS TRUE")
        elif not isinstance(node.expression, exp.Null):
            raise Objection(node, "IS takes NULL, TRUE or FALSE")
        else:
            self.of(node.this)
        return "boolean"

    def _pattern(self, node: exp.Binary) -> str:
        self._wants(node.left, "string", "a pattern match")
        self._wants(node.right, "string", "a pattern match")
        return "boolean"

    def _escape(self, node: exp.Escape) -> str:
        symbol = node.expression
        if not (isinstance(symbol, exp.Literal) and symbol.is_string and len(symbol.name) == 1):
            raise Objection(node, "ESCAPE takes one character, as in x LIKE 'a/%' ESCAPE '/'")
        return self.of(node.this)

    def _case(self, node: exp.Case) -> str:
        branches = node.args["ifs"]
        for branch in branches:
            if node.this is None:
                self._wants(branch.this, "boolean", "WHEN")
            else:
                self._check_comparable(node, node.this, branch.this)
        values = [branch.args["true"] for branch in branches]
        default = node.args.get("default")
        return self._common(node, values + ([default] if default is not None else []))

    def _common(self, node: exp.Expr, values: list[exp.Expr]) -> str:
        found = VOID
        for value in values:
            both = common_type(found, self.of(value))
            if both is None:
                raise Objection(
                    node, f"values of types {found} and {self.of(value)} meet here; write a CAST"
                )
            found = both
        return found

    def _cast(self, node: exp.Cast | exp.TryCast) -> str:
        extra = [name for name in ("format", "action", "default") if node.args.get(name)]
        wanted = None if extra else cast_target(sql_of(node.args["to"]))
        if wanted is None:
            raise Objection(node, f"no CAST to {sql_of(node.args['to'])}; types: {AVAILABLE_TYPES}")
        found = self.of(node.this)
        if not can_cast(found, wanted):
            raise Objection(node, f"Spark has no CAST from {found} to {wanted}")
        return wanted

    def _call(self, node: exp.Anonymous) -> str:
        if takes_lambda(node):
            return lambda_call_type(node, self.of, self._within)
        if name_of(node) in UNIT_FUNCTIONS and _unit(node) is not None:
            return self._by_unit(node)
        return call_type(node, [self.of(argument) for argument in node.expressions])

    def _within(self, body: exp.Expr, variables: Mapping[str, str]) -> str:
        """The type of what a lambda yields."""
        if len(self._variables) == DEPTH_MAX:
            raise Objection(body, f"lambdas within lambdas, at most {DEPTH_MAX} deep")
        self._variables.append(variables)
        found = self.of(body)
        self._variables.pop()
        return found

    def _variable(self, node: exp.Identifier) -> str:
        for variables in reversed(self._variables):
            if node.name in variables:
                return variables[node.name]
        raise Objection(node, f"`{node.name[:60]}` is neither a column nor a variable of a lambda")

    def _part(self, node: exp.Extract) -> str:
        return part_type(node, node.this.name, self.of(node.expression))

    def _by_unit(self, node: exp.Anonymous) -> str:
        """``timestampadd(HOUR, 2, ts)`` and ``timestampdiff(MINUTE, a, b)``."""
        name, result = name_of(node), UNIT_FUNCTIONS[name_of(node)]
        unit, (first, second) = _unit(node), [self.of(one) for one in node.expressions[1:]]
        is_added = result == "timestamp"
        is_fit = first in INTEGERS if is_added else first in TIMES
        if unit not in UNITS or not is_fit or second not in TIMES:
            wanted = "HOUR, 2, ts" if is_added else "MINUTE, a, b"
            raise Objection(
                node,
                f"wanted {name}({wanted}), with a unit of {', '.join(UNITS)}; got {unit}, "
                f"{first} and {second}",
            )
        return result

    def _reached(self, node: exp.Bracket) -> str:
        """A value within another: an array's by its index, a map's by its key, a struct's by its
        name. A name of an array of structs gives all their fields of that name."""
        found = self.of(node.this)
        within = node.expressions[0] if len(node.expressions) == 1 else None
        is_text = isinstance(within, exp.Literal) and within.is_string
        if within is None or not is_nested(found):
            raise Objection(
                node,
                f"`{brief(node.this)}` is {found}, with nothing in it to reach by […]; of JSON in "
                "a string write get_json_object(x, '$.a[0]')",
            )
        if field_types(found):
            return value_type(self._field(node, found, within.name if is_text else ""))
        if is_text and found.startswith("array<struct<"):
            return f"array<{self._field(node, element_type(found) or '', within.name)}>"
        index, key = self.of(within), key_type(found)
        if key is not None and common_type(key, index) != key:
            raise Objection(
                node, f"this map takes a key of type {key}, as in m['key'], got {index}"
            )
        if key is None and index not in INTEGERS:
            raise Objection(node, "an array takes an index, as in tags[0]")
        return value_type(element_type(found) or "")

    def _field(self, node: exp.Expr, struct: str, name: str) -> str:
        fields = {known.lower(): type_ for known, type_ in field_types(struct).items()}
        if name.lower() not in fields:
            known = choices("fields", field_types(struct), near=name)
            raise Objection(node, f"no `{name}` in it{known}")
        return fields[name.lower()]


def cast_target(text: str) -> str | None:
    """The type that a CAST names; None: there is none to cast to.

    >>> cast_target("ARRAY<STRUCT<a: INT>>"), cast_target("DOUBLE"), cast_target("VARCHAR(3)")
    ('array<struct<a:int>>', 'double', None)
    """
    found = named_type(text) or named_interval(text)
    if found is None:
        declared = declared_type(text)
        is_one = declared is not None and value_type(declared) == declared
        found = declared if is_one else None
    return found


def _unit(call: exp.Anonymous) -> str | None:
    """The word before the arguments of ``timestampadd``; None: there is none."""
    first = call.expressions[0] if len(call.expressions) == 3 else None
    return str(first.name).upper() if type(first) is exp.Var else None


def _operands(node: exp.Expr) -> list[exp.Expr]:
    return [node.left, node.right] if isinstance(node, exp.Binary) else [node.this]


def _require_brackets(node: exp.Expr, operand: exp.Expr) -> None:
    """Parsers differ in how tightly | & ^ ~ || bind; with brackets nobody has to know."""
    if isinstance(operand, exp.Binary | exp.Not | exp.Is | exp.In | exp.Between | exp.Escape):
        raise Objection(
            operand, f"write brackets: ({brief(operand)}) beside the operator in `{brief(node)}`"
        )
