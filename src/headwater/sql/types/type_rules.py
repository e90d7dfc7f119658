"""Spark's rules for the types of operators, under ANSI, for the types that columns have.

The type of every expression is known before anything runs, because sites, relays and root must
agree on it without asking a Spark. The rules are Spark's own (decimal precision as in Hive and SQL
Server, integers beside floats become doubles); tests hold each against a running Spark. Where
Spark would convert strings to numbers by itself, nothing is said here: such an expression is
refused with the CAST to write.
"""

from headwater.algebra.rows.nested_types import (
    element_type,
    field_types,
    has_map,
    is_nested,
    key_type,
    leaf_types,
    struct_type,
)
from headwater.algebra.rows.types import (
    DECIMAL_DIGITS_MAX,
    FLOATS,
    INTEGERS,
    decimal_digits,
    decimal_type,
)
from headwater.sql.read.sql_text import name_sql
from headwater.sql.types.interval_types import common_interval, family_of

VOID = "void"
"""The type of NULL, which goes with every other."""

TIMES = ("date", "timestamp")
NTZ = "timestamp_ntz"
VARIANT = "variant"

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_SCALE_KEPT = 6
"""Of a decimal that would need more than 38 digits, so many stay after the point."""

_TYPE_NAMES = {
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}
PLAIN_TYPES = ("boolean", *INTEGERS, *FLOATS, "string", "binary", *TIMES)


def is_number(type_name: str) -> bool:
    return type_name in INTEGERS or type_name in FLOATS or decimal_digits(type_name) is not None


def named_type(text: str) -> str | None:
    """The type that a person calls so; None where there is none.

    >>> named_type("INTEGER"), named_type("Decimal( 10, 2 )"), named_type("dec"), named_type("text")
    ('int', 'decimal(10,2)', 'decimal(10,0)', None)
    """
    word, _, rest = "".join(text.lower().split()).partition("(")
    word = _TYPE_NAMES.get(word, word)
    if word != "decimal":
        return word if word in PLAIN_TYPES and not rest else None
    if not rest:
        return "decimal(10,0)"
    digits = rest.removesuffix(")").split(",")
    name = f"decimal({digits[0]},{digits[1] if len(digits) == 2 else 0})"
    is_decimal = len(digits) <= 2 and rest.endswith(")") and decimal_digits(name) is not None
    return name if is_decimal else None


def type_sql(type_name: str) -> str:
    """As SQL writes it: the words of types in capitals, names as they are.

    >>> type_sql("array<struct<a:int,`b c`:decimal(10,2)>>")
    'ARRAY<STRUCT<a: INT, `b c`: DECIMAL(10, 2)>>'
    """
    key, element, fields = key_type(type_name), element_type(type_name), field_types(type_name)
    if key is not None:
        return f"MAP<{type_sql(key)}, {type_sql(element or '')}>"
    if element is not None:
        return f"ARRAY<{type_sql(element)}>"
    if fields:
        texts = [f"{name_sql(name)}: {type_sql(one)}" for name, one in fields.items()]
        return f"STRUCT<{', '.join(texts)}>"
    return type_name.upper().replace(",", ", ")


def as_decimal(type_name: str) -> tuple[int, int]:
    """The digits of an integer or decimal."""
    digits = decimal_digits(type_name)
    return digits if digits is not None else (_INTEGER_DIGITS[type_name], 0)


def arithmetic_type(operator: str, left: str, right: str) -> str | None:
    """The type of ``left operator right`` for + - * / % and DIV; None where there is none.

    Integer literals beside a decimal count as decimals of their own digits; the caller says so by
    passing such a type.

    >>> arithmetic_type("+", "int", "bigint"), arithmetic_type("/", "int", "int")
    ('bigint', 'double')
    >>> arithmetic_type("*", "decimal(10,2)", "int"), arithmetic_type("+", "int", "float")
    ('decimal(21,2)', 'double')
    """
    if not (is_number(left) and is_number(right)):
        return None
    if operator == "DIV":
        return None if left in FLOATS or right in FLOATS else "bigint"
    if left in FLOATS or right in FLOATS:
        is_float = left == right == "float" and operator != "/"
        return "float" if is_float else "double"
    if left in INTEGERS and right in INTEGERS:
        return "double" if operator == "/" else max(left, right, key=INTEGERS.index)
    return _decimal_arithmetic(operator, left, right)


def _decimal_arithmetic(operator: str, left: str, right: str) -> str:
    (p1, s1), (p2, s2) = as_decimal(left), as_decimal(right)
    scale = max(s1, s2)
    if operator in ("+", "-"):
        return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
    if operator == "*":
        return _adjusted(p1 + p2 + 1, s1 + s2)
    if operator == "%":
        return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)
    scale = max(_SCALE_KEPT, s1 + p2 + 1)
    return _adjusted(p1 - s1 + s2 + scale, scale)


def _adjusted(precision: int, scale: int) -> str:
    if precision <= DECIMAL_DIGITS_MAX:
        return decimal_type(precision, scale)
    kept = max(DECIMAL_DIGITS_MAX - (precision - scale), min(scale, _SCALE_KEPT))
    return decimal_type(DECIMAL_DIGITS_MAX, kept)


def common_type(left: str, right: str) -> str | None:
    """The type of CASE, coalesce and their kind over both; None where a CAST must decide.

    >>> common_type("int", "decimal(5,2)"), common_type("date", "timestamp")
    ('decimal(12,2)', 'timestamp')
    >>> common_type("string", "int")
    """
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    if {left, right} == {"date", "timestamp"}:
        return "timestamp"
    return _common_nested(left, right) if is_nested(left) else common_interval(left, right)


def _common_nested(left: str, right: str) -> str | None:
    """Of two arrays, two maps, or two structs with the same names.

    >>> common_type("array<int>", "array<bigint>"), common_type("struct<a:int>", "struct<b:int>")
    ('array<bigint>', None)
    """
    mine, theirs = field_types(left), field_types(right)
    if mine and list(mine) == list(theirs):
        fields = {name: common_type(mine[name], theirs[name]) for name in mine}
        found = {name: one for name, one in fields.items() if one is not None}
        # A name is written as it came: it is that of a declared type, or of named_struct.
        return struct_type(found, name_sql) if len(found) == len(fields) else None
    if left.partition("<")[0] != right.partition("<")[0] or mine or theirs:
        return None
    element = common_type(element_type(left) or "", element_type(right) or "")
    key = common_type(key_type(left) or "", key_type(right) or "")
    if element is None or key is None:
        return None
    return f"map<{key},{element}>" if key else f"array<{element}>"


def _common_number(left: str, right: str) -> str | None:
    if left in FLOATS or right in FLOATS:
        return "double"
    if left in INTEGERS and right in INTEGERS:
        return max(left, right, key=INTEGERS.index)
    (p1, s1), (p2, s2) = as_decimal(left), as_decimal(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return decimal_type(precision, scale) if precision <= DECIMAL_DIGITS_MAX else None


def can_compare(left: str, right: str) -> bool:
    """Spark compares both as they are, or reads a string as the other's type."""
    if not is_orderable(left) or not is_orderable(right):
        return False
    if left == right or VOID in (left, right):
        return True
    if is_nested(left) or family_of(left):
        return common_type(left, right) is not None
    if is_nested(right) or family_of(right) or NTZ in (left, right):
        return False
    if "string" in (left, right):
        return "binary" not in (left, right)
    both = (left, right)
    return all(is_number(type_) for type_ in both) or all(type_ in TIMES for type_ in both)


def is_orderable(type_name: str) -> bool:
    """Spark compares, orders and groups by it."""
    return not has_map(type_name) and VARIANT not in leaf_types(type_name)


def can_cast(source: str, target: str) -> bool:
    """True where Spark, under ANSI, admits CAST(source AS target)."""
    if source in (target, VOID):
        return True
    if is_nested(source) or is_nested(target):
        return _can_cast_nested(source, target)
    if VARIANT in (source, target):
        return False
    if source == "string":
        return True
    if target == "string":
        return True
    if family_of(source) or family_of(target):
        return common_interval(source, target) is not None
    if NTZ in (source, target):
        return {source, target} <= {NTZ, *TIMES}
    if is_number(source):
        return is_number(target) or target in ("boolean", "timestamp")
    if source in TIMES:
        return target in TIMES or (source == "timestamp" and is_number(target))
    return source == "boolean" and is_number(target)


def _can_cast_nested(source: str, target: str) -> bool:
    """What is within is cast one by one; as a text every value can be written."""
    if target == "string":
        return VARIANT not in leaf_types(source)
    mine, theirs = field_types(source), field_types(target)
    if mine or theirs:
        pairs = zip(mine.values(), theirs.values(), strict=False)
        return len(mine) == len(theirs) and all(can_cast(*pair) for pair in pairs)
    if source.partition("<")[0] != target.partition("<")[0]:
        return False
    key = can_cast(key_type(source) or "", key_type(target) or "")
    return key and can_cast(element_type(source) or "", element_type(target) or "")


def no_arithmetic(operator: str, left: str, right: str) -> str:
    """What to say where ``arithmetic_type`` has none."""
    if "date" in (left, right) or "timestamp" in (left, right):
        return (
            f"`{operator}` has no meaning for {left} and {right}; write ts + INTERVAL '1' HOUR, "
            "a - b, date_add(d, 1) or datediff(a, b)"
        )
    if operator == "+" and "string" in (left, right):
        return f"`+` adds numbers, got {left} and {right}; write || to join strings, or a CAST"
    return f"`{operator}` takes numbers, got {left} and {right}; write a CAST"
