r"""Lines that are JSON objects, taken apart by the names in them.

Spark takes a number out of JSON as text by way of a double: of ``12345678901234567890.5`` it gives
``1.2345678901234567E19``, and of ``1.0000000000000000001`` the text ``1.0``. Up to fifteen digits
nothing is lost. So for columns where it matters, decimals and counts since 1970, a line that has
a longer number with a point or an exponent is read once more: as a variant, which keeps up to 38
digits, and, for what that too makes a double of, as a decimal of the line itself. A value that
neither way can vouch for is none. Other lines cost a search for such a number, and nothing where
no such column is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headwater.algebra.rows.nested_types import is_nested
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX, decimal_digits
from headwater.plan.sources.column_names import Step, json_path
from headwater.spark.lines.fields import CORRUPT, FIELDS, LINE, literal, option_map, quoted

LONG_NUMBER = r"(?=[0-9.]{16})[0-9]*+[.eE]"
"""More digits than a double surely keeps, with a point among them or an exponent behind."""
TEXTS, AGAIN = "texts", "again"
"""The fields as text; and, of a line with such a number, what was read once more."""
PERMISSIVE = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


class JsonFields(msgspec.Struct, frozen=True):
    """One JSON object a line. Values are taken as text, so that all formats convert alike. What
    lies deeper is taken from the text of the value that it lies in; what is not there is NULL."""

    paths: tuple[tuple[str, tuple[Step, ...]], ...]
    """For each column, where its value is."""
    exact: tuple[tuple[str, str], ...] = ()
    """Columns of which no digit may be lost, with their types."""
    is_rounded: bool = False
    """Digits beyond a decimal's scale are to be rounded."""
    is_empty_null: bool = False

    def before(self) -> list[str]:
        return []

    def of_line(self) -> str:
        names = dict.fromkeys(str(steps[0]) for _, steps in self.paths)
        schema = ", ".join(f"{quoted(name)} STRING" for name in (*names, CORRUPT))
        texts = _from_json(schema)
        if not self.exact:
            return texts
        again = [part for number, _ in enumerate(self.exact) for part in self._read_again(number)]
        is_long = f"regexp_like({LINE}, {literal(LONG_NUMBER)})"
        both = f"'{AGAIN}', if({is_long}, named_struct({', '.join(again)}), NULL)"
        return f"named_struct('{TEXTS}', {texts}, {both})"

    def _read_again(self, number: int) -> list[str]:
        """Of one column: its kind as a variant, the text of that, and what vouches for it."""
        name, type_ = self.exact[number]
        steps = dict(self.paths)[name]
        found = f"try_variant_get(try_parse_json({LINE}), {literal(_variant_path(steps))}"
        kind, text = f"schema_of_variant({found}, 'variant'))", f"{found}, 'string')"
        exact = f"if(startswith({kind}, 'DECIMAL'), {text}, NULL)"
        parts = [f"'kind_{number}', {kind}", f"'text_{number}', {exact}"]
        own = _own_type(type_, is_rounded=self.is_rounded)
        return parts if own is None else [*parts, f"'own_{number}', {_own(steps, own)}"]

    @property
    def _texts(self) -> str:
        return f"{FIELDS}.{TEXTS}" if self.exact else FIELDS

    def text(self, name: str) -> str:
        first, *rest = dict(self.paths)[name]
        whole = f"{self._texts}.{quoted(str(first))}"
        found = f"get_json_object({whole}, {literal(json_path(rest))})" if rest else whole
        number = self._number(name)
        return found if number is None else f"coalesce({FIELDS}.{AGAIN}.text_{number}, {found})"

    def vouched(self, name: str, value: str) -> str:
        """A converted value, or NULL where digits of it may be lost."""
        number = self._number(name)
        type_ = dict(self.exact).get(name, "")
        if number is None or _own_type(type_, is_rounded=self.is_rounded) is None:
            return value
        again = f"{FIELDS}.{AGAIN}"
        own, kind = f"{again}.own_{number}", f"{again}.kind_{number}"
        if is_nested(type_):
            return f"if({again} IS NULL, {value}, {own})"
        is_double = f"({again} IS NOT NULL AND coalesce({kind} = 'DOUBLE', true))"
        if self.is_rounded:
            return f"if({is_double}, {own}, {value})"
        digits = decimal_digits(type_)
        assert digits is not None, "it has a type of its own"
        fitted = f"try_cast({own} AS {type_})" if digits[0] < DECIMAL_DIGITS_MAX else value
        return f"if({is_double}, if({fitted} <=> {own}, {fitted}, NULL), {value})"

    def _number(self, name: str) -> int | None:
        return next((n for n, (one, _) in enumerate(self.exact) if one == name), None)

    def is_malformed(self) -> str:
        """NULL instead of an object is what a line with only a JSON null or blanks yields."""
        return f"({self._texts} IS NULL OR {self._texts}.{CORRUPT} IS NOT NULL)"

    def fault(self) -> str:
        return literal("wanted a JSON object in one line")

    def needs_head(self) -> bool:
        return False

    def is_passed_over(self) -> None:
        return None


def _from_json(schema: str) -> str:
    return f"from_json({LINE}, {literal(schema)}, {option_map(PERMISSIVE)})"


def _own_type(type_: str, *, is_rounded: bool) -> str | None:
    """What the line itself is read as: a decimal with all places that there can be beside its
    digits before the point, unless it is to be rounded. None: nothing vouches for a count."""
    if is_nested(type_):
        return type_
    digits = decimal_digits(type_)
    if digits is None or is_rounded:
        return None if digits is None else type_
    return f"decimal({DECIMAL_DIGITS_MAX},{DECIMAL_DIGITS_MAX - (digits[0] - digits[1])})"


def _own(steps: Sequence[Step], type_: str) -> str:
    """Of the line by its path, in this type; NULL where any part of it does not fit."""
    first, *rest = steps
    for step in reversed(rest):
        type_ = f"array<{type_}>" if isinstance(step, int) else f"struct<{quoted(step)}:{type_}>"
    read = _from_json(f"{quoted(str(first))} {type_}, {CORRUPT} STRING")
    found = f"{read}.{quoted(str(first))}"
    for step in rest:
        found = f"get({found}, {step})" if isinstance(step, int) else f"{found}.{quoted(step)}"
    return f"if({read}.{CORRUPT} IS NULL, {found}, NULL)"


def _variant_path(steps: Sequence[Step]) -> str:
    """
    >>> _variant_path(("a b", 0, "it's"))
    '$["a b"][0]["it\\'s"]'
    """
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f'["{step}"]' for step in steps)
