"""The scalar functions that a query may call: one list, for the compiler and for every site.

A function is listed when it gives the same value for the same arguments whenever and wherever it
runs, reaches nothing outside its arguments, and its type is known. Whatever is not listed is
refused: on Spark, ``reflect`` and ``java_method`` run any Java code.

An entry reads ``name(argument kinds) result``. A kind says which types Spark takes as they are, or
converts without loss; ``?`` marks an argument that may be left out, ``...`` one that repeats. A
result is a type, ``$1`` for the type of the first argument, or a rule that starts with ``$``.
"""

import re

import msgspec

from headwater.algebra.rows.types import FLOATS, INTEGERS
from headwater.sql.types.type_rules import TIMES, VOID, is_number

ENTRIES = """
    ascii(string) int
    base64(bytes) string
    bit_length(bytes) int
    btrim(string, string?) string
    char(bigint) string
    char_length(string) int
    character_length(string) int
    chr(bigint) string
    concat(string...) string
    concat_ws(string, string...) string
    contains(string, string) boolean
    crc32(bytes) bigint
    decode(binary, string) string
    elt(int, string...) string
    encode(string, string) binary
    endswith(string, string) boolean
    find_in_set(string, string) int
    format_string(string, any...) string
    hash(any...) int
    hex(bytes) string
    initcap(string) string
    instr(string, string) int
    lcase(string) string
    left(string, int) string
    length(bytes) int
    levenshtein(string, string, int?) int
    locate(string, string, int?) int
    lower(string) string
    lpad(string, int, string?) string
    ltrim(string) string
    luhn_check(string) boolean
    md5(bytes) string
    octet_length(bytes) int
    overlay(string, string, int, int?) string
    position(string, string, int?) int
    regexp_count(string, string) int
    regexp_extract(string, string, int?) string
    regexp_instr(string, string, int?) int
    regexp_like(string, string) boolean
    regexp_replace(string, string, string) string
    regexp_substr(string, string) string
    repeat(string, int) string
    replace(string, string, string?) string
    reverse(string) string
    right(string, int) string
    rpad(string, int, string?) string
    rtrim(string) string
    sha(bytes) string
    sha1(bytes) string
    sha2(bytes, int) string
    soundex(string) string
    space(int) string
    split_part(string, string, int) string
    startswith(string, string) boolean
    substr(string, int, int?) string
    substring(string, int, int?) string
    substring_index(string, string, int) string
    translate(string, string, string) string
    trim(string) string
    ucase(string) string
    unbase64(string) binary
    unhex(string) binary
    upper(string) string
    xxhash64(any...) bigint

    get_json_object(string, string) string
    json_array_length(string) int
    parse_url(string, string, string?) string
    try_parse_url(string, string, string?) string
    try_url_decode(string) string
    url_decode(string) string
    url_encode(string) string

    coalesce(any...) $common
    equal_null(any, any) boolean
    greatest(any, any...) $common
    if(boolean, any, any) $common_from_second
    ifnull(any, any) $common
    isnan(float) boolean
    isnotnull(any) boolean
    isnull(any) boolean
    least(any, any...) $common
    nanvl(float, float) $common
    nullif(any, any) $1
    nvl(any, any) $common
    nvl2(any, any, any) $common_from_second

    abs(number) $1
    acos(number) double
    acosh(number) double
    asin(number) double
    asinh(number) double
    atan(number) double
    atan2(number, number) double
    atanh(number) double
    bin(bigint) string
    bit_count(bigint) int
    bit_get(bigint, int) tinyint
    bround(number, literal?) $round
    cbrt(number) double
    ceil(number) $whole
    ceiling(number) $whole
    conv(string, int, int) string
    cos(number) double
    cosh(number) double
    cot(number) double
    csc(number) double
    degrees(number) double
    e() double
    exp(number) double
    expm1(number) double
    factorial(int) bigint
    floor(number) $whole
    hypot(number, number) double
    ln(number) double
    log(number, number?) double
    log10(number) double
    log1p(number) double
    log2(number) double
    mod(number, number) $%
    negative(number) $1
    pi() double
    pmod(number, number) $%
    positive(number) $1
    pow(number, number) double
    power(number, number) double
    radians(number) double
    rint(number) double
    round(number, literal?) $round
    sec(number) double
    shiftleft(word, int) $1
    shiftright(word, int) $1
    shiftrightunsigned(word, int) $1
    sign(number) double
    signum(number) double
    sin(number) double
    sinh(number) double
    sqrt(number) double
    tan(number) double
    tanh(number) double
    try_add(number, number) $+
    try_divide(number, number) $/
    try_mod(number, number) $%
    try_multiply(number, number) $*
    try_subtract(number, number) $-
    width_bucket(number, number, number, bigint) bigint

    add_months(date, int) date
    date_add(date, int) date
    date_diff(date, date) int
    date_format(timestamp, string) string
    date_from_unix_date(int) date
    date_sub(date, int) date
    date_trunc(string, timestamp) timestamp
    datediff(date, date) int
    day(date) int
    dayname(date) string
    dayofmonth(date) int
    dayofweek(date) int
    dayofyear(date) int
    from_unixtime(bigint, string?) string
    from_utc_timestamp(timestamp, string) timestamp
    hour(timestamp) int
    last_day(date) date
    make_date(int, int, int) date
    minute(timestamp) int
    month(date) int
    monthname(date) string
    months_between(timestamp, timestamp) double
    next_day(date, string) date
    quarter(date) int
    second(timestamp) int
    timestamp_micros(bigint) timestamp
    timestamp_millis(bigint) timestamp
    timestamp_seconds(number) timestamp
    to_date(moment, string?) date
    to_timestamp(moment, string?) timestamp
    to_unix_timestamp(moment, string?) bigint
    to_utc_timestamp(timestamp, string) timestamp
    trunc(date, string) date
    try_to_date(moment, string?) date
    try_to_timestamp(moment, string?) timestamp
    unix_date(day) int
    unix_micros(instant) bigint
    unix_millis(instant) bigint
    unix_seconds(instant) bigint
    unix_timestamp(moment, string?) bigint
    weekday(date) int
    weekofyear(date) int
    year(date) int
"""

CAST_FUNCTIONS = ("boolean", *INTEGERS, *FLOATS, "string", "binary", "date", "timestamp")
"""Types that Spark can be called by, as in ``int(x)``: each is a CAST."""

KINDS: dict[str, str] = {
    "string": "a string",
    "bytes": "a string or binary",
    "binary": "binary",
    "int": "an integer up to int",
    "bigint": "an integer",
    "literal": "an integer literal",
    "word": "an int or bigint",
    "number": "a number",
    "float": "a float or double",
    "boolean": "a condition (boolean)",
    "day": "a date",
    "date": "a date or timestamp",
    "instant": "a timestamp",
    "timestamp": "a timestamp or date",
    "moment": "a string, date or timestamp",
    "any": "any value",
}


class Function(msgspec.Struct, frozen=True):
    """One entry of the list."""

    name: str
    kinds: tuple[str, ...]
    required: int
    repeats: bool
    result: str

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.kinds)}{', …' if self.repeats else ''})"

    def takes_count(self, count: int) -> bool:
        return self.required <= count and (self.repeats or count <= len(self.kinds))

    def kind_of(self, position: int) -> str:
        return self.kinds[min(position, len(self.kinds) - 1)]


def takes(kind: str, type_name: str) -> bool:
    """True when an argument of this kind may have this type."""
    if type_name == VOID or kind == "any":
        return True
    match kind:
        case "bytes":
            return type_name in ("string", "binary")
        case "int" | "literal":
            return type_name in ("tinyint", "smallint", "int")
        case "bigint":
            return type_name in INTEGERS
        case "word":
            return type_name in ("int", "bigint")
        case "number":
            return is_number(type_name)
        case "float":
            return type_name in FLOATS
        case "day":
            return type_name == "date"
        case "date":
            return type_name in TIMES
        case "instant":
            return type_name == "timestamp"
        case "timestamp":
            return type_name in ("timestamp", "date")
        case "moment":
            return type_name in ("string", "date", "timestamp")
        case _:
            return kind == type_name


def _read(entry: str) -> Function:
    match = re.fullmatch(r"(\w+)\(([^)]*)\) (\S+)", entry)
    assert match is not None, f"not an entry: {entry}"
    words = [word.strip() for word in match[2].split(",") if word.strip()]
    kinds = tuple(word.rstrip("?.") for word in words)
    assert all(kind in KINDS for kind in kinds), f"not kinds: {entry}"
    required = sum(not word.endswith("?") for word in words)
    repeats = bool(words) and words[-1].endswith("...")
    return Function(match[1], kinds, required, repeats, match[3])


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (_read(line.strip()) for line in ENTRIES.splitlines() if line.strip())
}
