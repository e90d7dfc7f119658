"""The scalar functions that a query may call: one list, for the compiler and for every site.

A function is listed when it gives the same value for the same arguments whenever and wherever it
runs, reaches nothing outside its arguments, and its type is known. Whatever is not listed is
refused: on Spark, ``reflect`` and ``java_method`` run any Java code.

An entry reads ``names(argument kinds) result``, of all functions that take and give this. A kind
says which types Spark takes as they are, or converts without loss; ``?`` marks an argument that may
be left out, ``...`` one that repeats. A result is a type, ``$1`` for that of the first argument, or
a rule that starts with ``$``.
"""

import re

import msgspec

from headwater.algebra.rows.types import FLOATS, INTEGERS
from headwater.sql.types.type_rules import TIMES, VOID, is_number

ENTRIES = """
    ascii char_length character_length(string) int
    base64 hex md5 sha sha1(bytes) string
    bit_length length octet_length(bytes) int
    btrim(string, string?) string
    char chr(bigint) string
    concat(string...) string
    concat_ws(string, string...) string
    contains endswith regexp_like startswith(string, string) boolean
    crc32(bytes) bigint
    decode(binary, string) string
    elt(int, string...) string
    encode(string, string) binary
    find_in_set instr regexp_count(string, string) int
    format_string(string, any...) string
    hash(any...) int
    initcap lcase lower ltrim reverse rtrim soundex trim ucase upper(string) string
    left repeat right(string, int) string
    levenshtein locate position regexp_instr(string, string, int?) int
    lpad rpad(string, int, string?) string
    luhn_check(string) boolean
    overlay(string, string, int, int?) string
    regexp_extract(string, string, int?) string
    regexp_replace translate(string, string, string) string
    regexp_substr(string, string) string
    replace(string, string, string?) string
    sha2(bytes, int) string
    space(int) string
    split_part substring_index(string, string, int) string
    substr substring(string, int, int?) string
    unbase64 unhex(string) binary
    xxhash64(any...) bigint

    get_json_object(string, string) string
    json_array_length(string) int
    parse_url try_parse_url(string, string, string?) string
    try_url_decode url_decode url_encode(string) string

    coalesce(any...) $common
    equal_null(any, any) boolean
    greatest least(any, any...) $common
    if(boolean, any, any) $common_from_second
    ifnull nvl(any, any) $common
    isnan(float) boolean
    isnotnull isnull(any) boolean
    nanvl(float, float) $common
    nullif(any, any) $1
    nvl2(any, any, any) $common_from_second

    abs negative positive(number) $1
    acos acosh asin asinh atan atanh cbrt cos cosh cot csc degrees exp expm1 ln(number) double
    log10 log1p log2 radians rint sec sign signum sin sinh sqrt tan tanh(number) double
    atan2 hypot pow power(number, number) double
    bin(bigint) string
    bit_count(bigint) int
    bit_get(bigint, int) tinyint
    bround round(number, literal?) $round
    ceil ceiling floor(number) $whole
    conv(string, int, int) string
    e pi() double
    factorial(int) bigint
    log(number, number?) double
    mod pmod try_mod(number, number) $%
    shiftleft shiftright shiftrightunsigned(word, int) $1
    try_add(number, number) $+
    try_divide(number, number) $/
    try_multiply(number, number) $*
    try_subtract(number, number) $-
    width_bucket(number, number, number, bigint) bigint

    add_months date_add date_sub(date, int) date
    date_diff datediff(date, date) int
    date_format(timestamp, string) string
    date_from_unix_date(int) date
    date_trunc(string, timestamp) timestamp
    day dayofmonth dayofweek dayofyear month quarter weekday weekofyear year(date) int
    dayname monthname(date) string
    from_unixtime(bigint, string?) string
    from_utc_timestamp to_utc_timestamp(timestamp, string) timestamp
    hour minute second(timestamp) int
    last_day(date) date
    make_date(int, int, int) date
    months_between(timestamp, timestamp) double
    next_day trunc(date, string) date
    timestamp_micros timestamp_millis(bigint) timestamp
    timestamp_seconds(number) timestamp
    to_date try_to_date(moment, string?) date
    to_timestamp try_to_timestamp(moment, string?) timestamp
    to_unix_timestamp unix_timestamp(moment, string?) bigint
    unix_date(day) int
    unix_micros unix_millis unix_seconds(instant) bigint
"""

CAST_FUNCTIONS = ("boolean", *INTEGERS, *FLOATS, "string", "binary", "date", "timestamp")
"""Types that Spark can be called by, as in ``int(x)``: each is a CAST."""

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "string": ("a string", ("string",)),
    "bytes": ("a string or binary", ("string", "binary")),
    "binary": ("binary", ("binary",)),
    "int": ("an integer up to int", INTEGERS[:3]),
    "bigint": ("an integer", INTEGERS),
    "literal": ("an integer literal", INTEGERS[:3]),
    "word": ("an int or bigint", ("int", "bigint")),
    "number": ("a number", ()),
    "float": ("a float or double", FLOATS),
    "boolean": ("a condition (boolean)", ("boolean",)),
    "day": ("a date", ("date",)),
    "date": ("a date or timestamp", TIMES),
    "instant": ("a timestamp", ("timestamp",)),
    "timestamp": ("a timestamp or date", ("timestamp", "date")),
    "moment": ("a string, date or timestamp", ("string", "date", "timestamp")),
    "any": ("any value", ()),
}
"""In words, and the types; of numbers there are too many to be listed."""


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
    return is_number(type_name) if kind == "number" else type_name in KINDS[kind][1]


def _read(entry: str) -> list[Function]:
    match = re.fullmatch(r"([\w ]+)\(([^)]*)\) (\S+)", entry)
    assert match is not None, f"not an entry: {entry}"
    words = [word.strip() for word in match[2].split(",") if word.strip()]
    kinds = tuple(word.rstrip("?.") for word in words)
    assert all(kind in KINDS for kind in kinds), f"not kinds: {entry}"
    required = sum(not word.endswith("?") for word in words)
    repeats = bool(words) and words[-1].endswith("...")
    return [Function(name, kinds, required, repeats, match[3]) for name in match[1].split()]


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for line in ENTRIES.splitlines()
    if line.strip()
    for function in _read(line.strip())
}
