"""The text of a field as a value of its declared type: SQL that is NULL where it does not fit.

No conversion may fail, for then one line would stop its source: whatever a text holds, the value is
there or is NULL. And none may guess. Spark's casts do so in places: a time without a date gets the
day of the run, a number with more digits than its scale is rounded, a zone is dropped where the
type has none. Such texts do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headwater.algebra.rows.nested_types import is_nested
from headwater.algebra.rows.types import DECIMAL_DIGITS_MAX, INTEGERS, decimal_digits
from headwater.plan.sources.time_formats import CALENDAR_US, EPOCHS, ISO, SAYS_ZONE, formats_of
from headwater.plan.sources.time_patterns import far_year, has_zone, with_full_years
from headwater.spark.lines.fields import CORRUPT, literal, option_map
from headwater.sql.types.declared_types import length_max
from headwater.sql.types.type_rules import is_number

UTC = "UTC"
DATE_LENGTH_MIN = 8
"""A colon before the ninth sign of a text: it has no date before its time."""
EPOCH_FRACTION = "DECIMAL(28, 9)"


def conversion(text: str, type_: str, options: Mapping[str, str]) -> str:
    """``text`` is an SQL expression; so is what is given back."""
    longest = length_max(type_)
    if longest is not None:
        return f"if(char_length({text}) <= {longest}, {text}, NULL)"
    if is_nested(type_):
        return _nested(text, type_)
    if type_ == "timestamp":
        return timestamp(text, options)
    if type_ == "timestamp_ntz":
        return _wall_clock(text, options)
    if type_ == "date" and "date_format" in options:
        return _first(_date(text, pattern) for pattern in formats_of(options["date_format"]))
    digits = decimal_digits(type_)
    is_rounded = options.get("round") == "true"
    if digits is not None and not is_rounded:
        return _exact(text, type_, scale=digits[1])
    if type_ in INTEGERS and is_rounded:
        return f"try_cast(try_cast({text} AS DECIMAL(38, 0)) AS {type_})"
    return f"try_cast({text} AS {type_})"


def time_conversion(text: str, type_: str, options: Mapping[str, str]) -> str:
    """The text of a field that is declared in another type, as the time of its record."""
    if type_ != "date" or "date_format" not in options:
        return timestamp(text, options)
    return timestamp(text, {**options, "timestamp_format": options["date_format"]})


def timestamp(text: str, options: Mapping[str, str]) -> str:
    """By the formats, tried in order; without a zone of its own in the source's."""
    zone = options.get("zone", UTC)
    formats = formats_of(options.get("timestamp_format", ISO))
    return _first(_timestamp(text, one, zone) for one in formats)


def with_year(text: str, year: str) -> str:
    """Of times that say none, as syslog's: ``May  1 12:00:00``."""
    is_short = f"regexp_like({text}, '^[A-Z]')"
    return f"if({is_short}, concat('{year} ', replace({text}, '  ', ' ')), {text})"


def taken_over(value: str, found: str, wanted: str, options: Mapping[str, str]) -> str:
    """A value of a file that has types: as it is, or made what is declared, without loss."""
    if found == wanted or (found == "string" and wanted == "string"):
        return value
    if is_nested(wanted):
        return f"try_cast({value} AS {wanted})"
    if is_number(found) and is_number(wanted):
        made = f"try_cast({value} AS {wanted})"
        if options.get("round") == "true":
            return f"try_cast(round({value}) AS {wanted})" if wanted in INTEGERS else made
        return f"if({made} = {value} OR isnan(try_cast({value} AS DOUBLE)), {made}, NULL)"
    if found in ("timestamp", "timestamp_ntz", "date") and wanted == "date":
        return f"try_cast({value} AS DATE)"
    text = f"CAST({value} AS STRING)"
    if found in ("timestamp", "timestamp_ntz", "date"):
        plain = {name: text for name, text in options.items() if not name.endswith("_format")}
        zone = "UTC" if found == "timestamp" else options.get("zone", "UTC")
        return conversion(text, wanted, {**plain, "zone": zone}) if wanted != "string" else text
    return text if wanted == "string" else conversion(text, wanted, options)


def _first(values: Iterable[str]) -> str:
    found = list(values)
    return found[0] if len(found) == 1 else f"coalesce({', '.join(found)})"


def _timestamp(text: str, format_: str, zone: str) -> str:
    if format_ in EPOCHS:
        return _since_1970(text, format_)
    if format_ == ISO:
        return _iso(text, zone)
    pattern = with_full_years(format_)
    told = text
    if zone != UTC and not has_zone(pattern):
        pattern, told = f"{pattern} VV", f"concat({text}, {literal(f' {zone}')})"
    return _near(text, pattern, f"try_to_timestamp({told}, {literal(pattern)})")


def _since_1970(text: str, unit: str) -> str:
    unit_us = EPOCHS[unit]
    if not unit_us:
        thousands = f"floor(try_cast({text} AS DECIMAL(28, 3)) / 1000)"
        return _in_calendar(f"try_cast({thousands} AS BIGINT)")
    whole = f"try_multiply(try_cast({text} AS BIGINT), {unit_us}L)"
    fraction = f"floor(try_cast({text} AS {EPOCH_FRACTION}) * {unit_us})"
    return _in_calendar(f"coalesce({whole}, try_cast({fraction} AS BIGINT))")


def _in_calendar(time_us: str) -> str:
    first_us, end_us = CALENDAR_US
    is_in = f"{time_us} >= {first_us}L AND {time_us} < {end_us}L"
    return f"if({is_in}, timestamp_micros({time_us}), NULL)"


def _iso(text: str, zone: str) -> str:
    """With a date: without one, Spark would take the day on which it reads the line."""
    plain = f"try_cast({text} AS TIMESTAMP)"
    if zone != UTC:
        at_time = f"try_cast(concat({text}, {literal(zone)}) AS TIMESTAMP)"
        at_midnight = f"try_cast(concat({text}, {literal(f' 00:00:00{zone}')}) AS TIMESTAMP)"
        says_zone = f"regexp_like({text}, {literal(SAYS_ZONE)})"
        plain = f"if({says_zone}, {plain}, coalesce({at_time}, {at_midnight}))"
    return f"if({_has_no_date(text)}, NULL, {plain})"


def _has_no_date(text: str) -> str:
    # Not with BETWEEN: Spark would compute what is compared in a step of its own, and with it the
    # fields of the line once more.
    return f"contains(left(ltrim({text}), {DATE_LENGTH_MIN}), ':')"


def _wall_clock(text: str, options: Mapping[str, str]) -> str:
    """A zone would be dropped, so a text that has one does not fit."""
    formats = formats_of(options.get("timestamp_format", ISO))
    if formats != (ISO,):
        in_utc = {**options, "zone": UTC}
        return f"try_cast({timestamp(text, in_utc)} AS TIMESTAMP_NTZ)"
    has_other = f"{_has_no_date(text)} OR regexp_like({text}, {literal(SAYS_ZONE)})"
    return f"if({has_other}, NULL, try_cast({text} AS TIMESTAMP_NTZ))"


def _date(text: str, pattern: str) -> str:
    if pattern == ISO:
        return f"try_cast({text} AS DATE)"
    full = with_full_years(pattern)
    return _near(text, full, f"try_to_date({text}, {literal(full)})")


def _nested(text: str, type_: str) -> str:
    """JSON within a field: NULL as a whole where any part of it does not fit."""
    schema = f"v {type_}, {CORRUPT} STRING"
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    wrapped = f"concat('{{\"v\":', {text}, '}}')"
    parsed = f"from_json({wrapped}, {literal(schema)}, {option_map(options)})"
    return f"if({parsed}.{CORRUPT} IS NULL, {parsed}.v, NULL)"


def _near(text: str, pattern: str, value: str) -> str:
    far = far_year(pattern)
    return value if far is None else f"if(regexp_like({text}, {literal(far)}), NULL, {value})"


def _exact(text: str, type_: str, *, scale: int) -> str:
    """Digits behind the scale are zeros. Most texts are short enough to be told at once; of one
    with an exponent the same number is read with as many places as there are."""
    digits = decimal_digits(type_)
    assert digits is not None
    places = DECIMAL_DIGITS_MAX - (digits[0] - scale)
    beyond = rf"\.\d{{{scale}}}\d*[1-9]"
    is_long = f"instr({text}, '.') > 0 AND octet_length({text}) - instr({text}, '.') > {scale}"
    has_more = f"({is_long} AND regexp_like({text}, {literal(beyond)}))"
    value = f"try_cast({text} AS {type_})"
    has_exponent = f"contains(lower({text}), 'e')"
    wide = f"try_cast({text} AS DECIMAL({DECIMAL_DIGITS_MAX}, {places}))"
    is_same = f"coalesce({wide} = {value}, false)" if places > scale else "false"
    is_other = f"({has_exponent} AND NOT {is_same})"
    return f"if({has_more} OR {is_other}, NULL, {value})"
