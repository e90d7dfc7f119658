"""How large a value may become: a bound for every expression, known before anything runs.

``repeat(host, 700000000)`` is a short text and a value of gigabytes for each record, which ends the
JVM of every site, and again after each restart. So each expression has a size, of the form

    at most so many bytes, and so many copies of the record

where columns are disjoint pieces of the record: joining twenty of them is one copy. Functions whose
result may be much larger than their arguments take literals where these say how large; what would
multiply a record by a record is refused. (A letter may take more bytes in the other case; that is
within the slack of the limits, as is what a pattern puts where it matches nothing.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

import msgspec
from sqlglot import exp

from headwater.sql.read.objection import Objection
from headwater.sql.read.sql_text import sql_of
from headwater.sql.types.call_types import is_integer_literal, name_of
from headwater.sql.types.functions import FUNCTIONS
from headwater.sql.types.refused_nodes import brief

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

TEXTS = ("string", "binary")
EITHER = ("coalesce", "elt", "greatest", "if", "ifnull", "least", "nullif", "nvl", "nvl2")
GROWING = {"base64": 2, "decode": 3, "encode": 4, "hex": 2, "url_encode": 3}
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


def check_sizes(node: exp.Expr) -> None:
    """Raises ``Objection`` for what may become too large, anywhere in the expression."""
    _Sizing().of(node)


class _Sizing:
    """One walk, each node once."""

    def __init__(self) -> None:
        self._calls: dict[str, Callable[[exp.Anonymous, list[Size]], Size]] = {
            "concat_ws": _joined_with,
            "format_string": _formatted,
            "lpad": _padded,
            "overlay": lambda _, sizes: _sum(sizes),
            "regexp_replace": _pattern_replaced,
            "repeat": lambda call, sizes: sizes[0].times(_count(call, 1)),
            "replace": _replaced,
            "rpad": _padded,
            "space": lambda call, _: Size(_count(call, 0)),
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
            return Size(SCALAR_BYTES, {sql_of(node): 1})
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
        function = FUNCTIONS.get(name)
        is_text = function is None or function.result in TEXTS or function.result.startswith("$")
        return _sum(sizes) if is_text else SCALAR


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


def _joined_with(call: exp.Anonymous, sizes: list[Size]) -> Size:
    return _sum(sizes[1:]).plus(sizes[0].times(max(0, len(sizes) - 2)))


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
