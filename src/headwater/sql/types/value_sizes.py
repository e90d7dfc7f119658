"""How large a value may become: a bound for every expression, known before anything runs.

``repeat(host, 700000000)`` is a short text and a value of gigabytes for each record, which ends the
JVM of every site, and again after each restart. So each expression has a size, of the form

    at most so many bytes, and so many copies of the record

where columns are disjoint pieces of the record: joining twenty of them is one copy. Functions whose
result may be much larger than their arguments take literals where these say how large; what would
multiply a record by a record is refused. What a lambda makes of each element counts as often as the
array can have elements, and that is once for each byte of it. (A letter may take more bytes in the
other case; that is within the slack of the limits, as is what a pattern puts where it matches
nothing.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import msgspec
from sqlglot import exp

from headwater.algebra.rows.nested_types import element_type, field_types, is_nested, leaf_types
from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.call_types import is_integer_literal, name_of
from headwater.sql.types.functions import FUNCTIONS
from headwater.sql.types.interval_types import family_of
from headwater.sql.types.lambda_types import takes_lambda
from headwater.sql.types.refused_nodes import brief
from headwater.sql.types.result_types import schema_type

VALUE_BYTES_MAX = 1 << 20
"""Of one value, beside what it has of the record."""
VALUE_COPIES_MAX = 256
"""Of the record, or of a piece of it, in one value: a line has at most ``line_bytes_max``."""
SCALAR_BYTES = 64
"""A number, a time, a truth, a digest, also as text."""
CHARACTER_BYTES = 4
COUNT_DIGITS_MAX = 12
"""Of a literal that says how much: more is beyond every limit."""
FORMAT_WIDTH_MAX = 1_000
FIXED_BYTES = 8
"""A number, a time or a truth within an array."""
NUMBER_DIGITS_MAX = 400
"""Before the point, of a double as text with a comma after each third."""

TEXTS = ("string", "binary", "variant")
EITHER = ("coalesce", "elt", "greatest", "if", "ifnull", "least", "nullif", "nvl", "nvl2")
_TWOFOLD = ("base64", "hex", "quote", "to_base32", "to_csv")
_FOURFOLD = ("encode", "mask", "parse_json", "try_parse_json")
GROWING = {
    **dict.fromkeys(_TWOFOLD, 2),
    **dict.fromkeys(("decode", "url_encode"), 3),
    **dict.fromkeys(_FOURFOLD, 4),
}
"""Bytes of the result for each byte of the arguments."""
GROUP_TWICE = re.compile(r"\(\?<?=")
"""A group in it may hold the same piece of a text again and again."""


class Size(msgspec.Struct, frozen=True):
    bytes: int = 0
    copies: Mapping[str, int] = {}
    """By column."""

    @property
    def copies_max(self) -> int:
        return max(self.copies.values(), default=0)

    def plus(self, other: Size) -> Size:
        names = {*self.copies, *other.copies}
        both = {name: self.copies.get(name, 0) + other.copies.get(name, 0) for name in names}
        return Size(self.bytes + other.bytes, both)

    def either(self, other: Size) -> Size:
        names = {*self.copies, *other.copies}
        both = {name: max(self.copies.get(name, 0), other.copies.get(name, 0)) for name in names}
        return Size(max(self.bytes, other.bytes), both)

    def times(self, count: int) -> Size:
        return Size(self.bytes * count, {name: n * count for name, n in self.copies.items()})


SCALAR = Size(SCALAR_BYTES)
TypeOf = Callable[[exp.Expr], str]
IN_RESULT = ("transform", "zip_with", "transform_keys", "transform_values", "map_zip_with")
"""Functions in whose result is what their lambda yields."""


def check_sizes(node: exp.Expr, type_of: TypeOf = lambda _: "string") -> None:
    """Raises ``Objection`` for what may become too large, anywhere in the expression. ``type_of``
    knows every node of it."""
    _Sizing(type_of).of(node)


class _Sizing:
    """One walk, each node once."""

    def __init__(self, type_of: TypeOf) -> None:
        self._type_of = type_of
        self._variables: dict[str, Size] = {}
        """Of the lambdas around the node that is looked at."""
        self._calls: dict[str, Callable[[exp.Anonymous, list[Size]], Size]] = {
            "concat_ws": self._joined_with,
            "array_insert": _inserted,
            "array_join": _array_joined,
            "array_repeat": lambda call, sizes: sizes[0].times(_count(call, 1)),
            "format_number": lambda call, _: Size(NUMBER_DIGITS_MAX + _count(call, 1)),
            "format_string": _formatted,
            "from_csv": self._by_schema,
            "from_json": self._by_schema,
            "lpad": _padded,
            "overlay": lambda _, sizes: _sum(sizes),
            "printf": _formatted,
            "regexp_extract_all": _all_matches,
            "regexp_replace": _pattern_replaced,
            "repeat": lambda call, sizes: sizes[0].times(_count(call, 1)),
            "replace": _replaced,
            "rpad": _padded,
            "sequence": _sequence,
            "space": lambda call, _: Size(_count(call, 0)),
            "to_json": self._as_json,
            **dict.fromkeys(EITHER, lambda _, sizes: _largest(sizes)),
            **{name: _growing(factor) for name, factor in GROWING.items()},
        }

    def of(self, node: exp.Expr) -> Size:
        size = self._size(node)
        if size.bytes > VALUE_BYTES_MAX or size.copies_max > VALUE_COPIES_MAX:
            raise Objection(
                node,
                f"`{brief(node)}` can make a value of {size.bytes} bytes and {size.copies_max} "
                f"copies of the record; at most {VALUE_BYTES_MAX} and {VALUE_COPIES_MAX} are "
                "admitted",
            )
        return size

    def _size(self, node: exp.Expr) -> Size:
        if isinstance(node, exp.Column):
            is_each_time = bool(self._variables) and _is_fixed(self._type_of(node))
            return SCALAR if is_each_time else Size(SCALAR_BYTES, {sql_of(node): 1})
        if isinstance(node, exp.Identifier) and node.name in self._variables:
            return self._variables[node.name]
        if isinstance(node, exp.Anonymous) and takes_lambda(node):
            return self._lambda_call(node)
        if isinstance(node, exp.Literal):
            return Size(max(len(node.name.encode("utf-8", "replace")), 1))
        below = [self.of(child) for child in node.iter_expressions()]
        if isinstance(node, exp.Anonymous):
            return self._call(node, below[-len(node.expressions) :] if node.expressions else [])
        if isinstance(node, exp.DPipe):
            return _sum(below)
        if isinstance(node, exp.Paren | exp.Cast | exp.TryCast | exp.Case | exp.If | exp.Bracket):
            return _largest([SCALAR, *below])
        return SCALAR

    def _call(self, call: exp.Anonymous, sizes: list[Size]) -> Size:
        name = name_of(call)
        rule = self._calls.get(name)
        if rule is not None:
            return rule(call, sizes)
        forms = FUNCTIONS.get(name, ())
        is_large = not forms or not all(_is_scalar(form.result) for form in forms)
        return _sum(sizes) if is_large else SCALAR

    def _joined_with(self, call: exp.Anonymous, sizes: list[Size]) -> Size:
        """The separator stands between arguments, and between the elements of those that are
        arrays: so what may come from a record is not put there."""
        if not any(is_nested(self._type_of(one)) for one in call.expressions):
            return _sum(sizes[1:]).plus(sizes[0].times(max(0, len(sizes) - 2)))
        separator = _literal_text(call, 0).encode("utf-8", "replace")
        return _sum(sizes[1:]).times(1 + len(separator))

    def _by_schema(self, call: exp.Anonymous, sizes: list[Size]) -> Size:
        """Each field of a schema is there for each object, however short that is."""
        found = schema_type(call.expressions[1].name) or ""
        return sizes[0].times(max(1, len(list(leaf_types(found)))))

    def _as_json(self, call: exp.Anonymous, sizes: list[Size]) -> Size:
        """The names of fields are written for each struct, and a sign may take six."""
        return sizes[0].times(6 + len("".join(_names(self._type_of(call.expressions[0])))))

    def _lambda_call(self, call: exp.Anonymous) -> Size:
        """Of each element its lambda makes something, and nothing tells how many there are."""
        name = name_of(call)
        values = [one for one in call.expressions if not isinstance(one, exp.Lambda)]
        taken = _sum([self.of(one) for one in values])
        if name in ("aggregate", "reduce") and not _is_fixed(self._type_of(values[1])):
            raise Objection(
                call,
                f"{name} begins with a text or an array, which could grow with each element; begin "
                "with a number, or write array_join(transform(xs, x -> …), ',')",
            )
        made = [self._made(one) for one in call.expressions if isinstance(one, exp.Lambda)]
        if name in ("aggregate", "reduce", "exists", "forall"):
            return SCALAR
        return taken.times(max(1, *made)) if name in IN_RESULT else taken

    def _made(self, node: exp.Lambda) -> int:
        """By how much a lambda's body is larger than the element that it is of."""
        names = [variable.name for variable in node.expressions]
        outer = dict(self._variables)
        self._variables |= {name: Size(FIXED_BYTES, {name: 1}) for name in names}
        size = self.of(node.this)
        self._variables = outer
        if _is_fixed(self._type_of(node.this)):
            return FIXED_BYTES
        parent = node.parent
        is_kept = isinstance(parent, exp.Anonymous) and name_of(parent) in IN_RESULT
        others = [name for name, count in size.copies.items() if count and name not in names]
        if others and is_kept:
            raise Objection(
                node,
                f"`{brief(node.this)}` has `{others[0][:60]}` in it for each element, however many "
                "there are; a lambda may put together its own variables, numbers and short texts",
            )
        return size.bytes + sum(size.copies.values())


def _is_fixed(type_: str) -> bool:
    """No value of it is larger than any other: numbers, times, truths, and structs of them."""
    has_many = element_type(type_) is not None
    return not has_many and all(
        _is_fixed(one) if is_nested(one) else one not in TEXTS
        for one in (field_types(type_).values() if is_nested(type_) else [type_])
    )


def _is_scalar(result: str) -> bool:
    """A result of the list that is a number, a time or a truth."""
    return not result.startswith("$") and (_is_fixed(result) or family_of(result) is not None)


def _names(type_: str) -> list[str]:
    """Of all fields within."""
    element, fields = element_type(type_), field_types(type_)
    below = [element] if element is not None else list(fields.values())
    return [*fields, *(name for one in below for name in _names(one))]


def _sum(sizes: Sequence[Size]) -> Size:
    return reduce(Size.plus, sizes, Size())


def _largest(sizes: Sequence[Size]) -> Size:
    return reduce(Size.either, sizes, Size())


def _growing(factor: int) -> Callable[[exp.Anonymous, list[Size]], Size]:
    return lambda _, sizes: _sum(sizes).times(factor)


def _count(call: exp.Anonymous, position: int) -> int:
    """What a literal says that says how much; below zero it says nothing."""
    node = call.expressions[position]
    if not is_integer_literal(node):
        raise Objection(
            call,
            f"{name_of(call)} takes an integer literal as argument {position + 1}, which says how "
            f"long its result may be, and got `{brief(node)}`",
        )
    digits = sql_of(node)
    return max(0, int(digits)) if len(digits) <= COUNT_DIGITS_MAX else 10**COUNT_DIGITS_MAX


def _padded(call: exp.Anonymous, sizes: list[Size]) -> Size:
    """Exactly so many characters, whatever is padded with what."""
    return Size(_count(call, 1) * CHARACTER_BYTES)


def _array_joined(call: exp.Anonymous, sizes: list[Size]) -> Size:
    texts = [_literal_text(call, position) for position in range(1, len(sizes))]
    return sizes[0].times(1 + len("".join(texts).encode("utf-8", "replace")))


def _inserted(call: exp.Anonymous, sizes: list[Size]) -> Size:
    """Up to the place that is named all is filled with NULL."""
    place = _count(call, 1)
    return _sum(sizes).plus(Size(FIXED_BYTES * (place or _count_below_zero(call))))


def _count_below_zero(call: exp.Anonymous) -> int:
    digits = sql_of(call.expressions[1]).lstrip("-( ")
    return int(digits) if len(digits) <= COUNT_DIGITS_MAX else 10**COUNT_DIGITS_MAX


def _sequence(call: exp.Anonymous, sizes: list[Size]) -> Size:
    texts = [sql_of(one) for one in call.expressions]
    if max(map(len, texts)) > COUNT_DIGITS_MAX:
        return Size(10**COUNT_DIGITS_MAX)
    first, last, *step = map(int, texts)
    return Size(FIXED_BYTES * (abs(last - first) // max(1, abs(step[0] if step else 1)) + 1))


def _all_matches(call: exp.Anonymous, sizes: list[Size]) -> Size:
    """Matches lie side by side, unless a group looks ahead."""
    if GROUP_TWICE.search(_literal_text(call, 1)):
        raise Objection(
            call, "regexp_extract_all: a pattern that looks ahead or behind is not available"
        )
    return sizes[0]


def _literal_text(call: exp.Anonymous, position: int) -> str:
    node = call.expressions[position]
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise Objection(
            call,
            f"{name_of(call)} takes a literal as argument {position + 1}, for a text from a record "
            f"could be put into it for each of its signs, and got `{brief(node)}`",
        )
    return str(node.name)


def _replaced(call: exp.Anonymous, sizes: list[Size]) -> Size:
    """Each sign may be what is looked for."""
    if len(sizes) < 3:
        return sizes[0]
    factor = max(1, len(_literal_text(call, 2).encode("utf-8", "replace")))
    searched = call.expressions[1]
    if isinstance(searched, exp.Literal) and searched.is_string and searched.name:
        factor = max(1, -(-factor // len(searched.name.encode("utf-8", "replace"))))
    return sizes[0].times(factor)


def _pattern_replaced(call: exp.Anonymous, sizes: list[Size]) -> Size:
    """A pattern may match before each sign, and what is put there may name groups of the match:
    these lie side by side, unless a group looks ahead."""
    text = _literal_text(call, 2)
    groups = text.count("$")
    if groups and GROUP_TWICE.search(_literal_text(call, 1)):
        raise Objection(
            call, "regexp_replace: a pattern that looks ahead or behind can't give groups ($1)"
        )
    return sizes[0].times(max(1, len(text.encode("utf-8", "replace")) + groups))


def _formatted(call: exp.Anonymous, sizes: list[Size]) -> Size:
    text = _literal_text(call, 0)
    if any(int(digits[:COUNT_DIGITS_MAX]) > FORMAT_WIDTH_MAX for digits in _numbers_in(text)):
        raise Objection(
            call, f"format_string: widths, places and positions are at most {FORMAT_WIDTH_MAX}"
        )
    count = text.count("%")
    room = Size(len(text.encode("utf-8", "replace")) + count * CHARACTER_BYTES * FORMAT_WIDTH_MAX)
    return _largest(sizes[1:]).times(count).plus(room)


def _numbers_in(text: str) -> list[str]:
    return re.findall(r"\d+", "".join(re.findall(r"%[^A-Za-z%]*", text)))
