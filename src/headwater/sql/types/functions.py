"""The scalar functions that a query may call: one list, for the compiler and for every site.

A function is listed when it gives the same value for the same arguments whenever and wherever it
runs, reaches nothing outside its arguments, and its type is known. Whatever is not listed is
refused: on Spark, ``reflect`` and ``java_method`` run any Java code.

An entry reads ``names(argument kinds) result``, of all functions that take and give this. A kind
says which types Spark takes as they are, or converts without loss; ``?`` marks an argument that may
be left out, ``...`` one that repeats. A result is a type, ``$1`` for that of the first argument, or
a rule that starts with ``$`` (``result_types``). A function with several entries has several
forms, and takes the first that its arguments fit.
"""

import re

import msgspec

from headwater.algebra.rows.nested_types import (
    element_type,
    has_map,
    is_nested,
    key_type,
    leaf_types,
)
from headwater.algebra.rows.types import FLOATS, INTEGERS, decimal_digits
from headwater.sql.types.interval_types import family_of
from headwater.sql.types.type_rules import (
    NTZ,
    TIMES,
    VARIANT,
    VOID,
    can_compare,
    common_type,
    is_number,
    is_orderable,
)

ENTRIES = """
    ascii char_length character_length(string) int
    base64 hex md5 sha sha1(bytes) string
    hex(bigint) string
    bit_length length len octet_length(bytes) int
    bitmap_bit_position bitmap_bucket_number(bigint) bigint
    bitmap_count(binary) bigint
    btrim(string, string?) string
    char chr(bigint) string
    concat(binary...) binary
    concat(array...) $common
    concat(text...) string
    concat_ws(string, texts...) string
    contains endswith regexp regexp_like rlike startswith(string, string) boolean
    crc32(bytes) bigint
    decode(binary, string) string
    elt(int, string...) string
    encode(string, string) binary
    find_in_set instr regexp_count(string, string) int
    format_number(number, literal) string
    format_string printf(string, plain...) string
    hash(hashable...) int
    initcap lcase lower ltrim reverse rtrim soundex trim ucase upper(string) string
    is_valid_utf8(string) boolean
    make_valid_utf8 try_validate_utf8 validate_utf8(string) string
    left repeat right(string, int) string
    levenshtein(string, string, int?) int
    locate position regexp_instr(string, string, int?) int
    lpad rpad(string, int, string?) string
    luhn_check(string) boolean
    mask(string, quoted?, quoted?, quoted?, quoted?) string
    overlay(string, string, int, int?) string
    quote(string) string
    regexp_extract(string, string, int?) string
    regexp_extract_all(string, string, int?) array<string>
    regexp_replace translate(string, string, string) string
    regexp_substr(string, string) string
    replace(string, string, string?) string
    sentences(string, string?, string?) array<array<string>>
    sha2(bytes, int) string
    space(int) string
    split(string, string, int?) array<string>
    split_part substring_index(string, string, int) string
    str_to_map(string, string?, string?) map<string,string>
    substr substring(string, int, int?) string
    to_binary try_to_binary(string, quoted?) binary
    to_char to_varchar(number, quoted) string
    to_char to_varchar(timestamp, quoted) string
    to_char to_varchar(binary, quoted) string
    to_number try_to_number(string, quoted) $digits
    typeof(any) string
    from_base32 unbase64 unhex(string) binary
    jaro_winkler_similarity(string, string) double
    to_base32(bytes) string
    xxhash64(hashable...) bigint

    from_csv from_json(string, quoted) $schema
    get_json_object(string, string) string
    is_variant_null(variant) boolean
    json_array_length(string) int
    json_object_keys(string) array<string>
    parse_json try_parse_json(string) variant
    parse_url try_parse_url(string, string, string?) string
    schema_of_csv schema_of_json(quoted) string
    schema_of_variant(variant) string
    to_csv(struct) string
    to_json(nested) string
    try_url_decode url_decode url_encode(string) string
    try_variant_get variant_get(variant, quoted, quoted) $named_type

    hll_sketch_estimate theta_sketch_estimate(binary) bigint
    theta_difference theta_intersection theta_union(binary, binary) binary
    kll_sketch_get_n_bigint(binary) bigint
    kll_sketch_get_n_double kll_sketch_get_n_float(binary) bigint
    kll_sketch_get_quantile_bigint(binary, number) bigint
    kll_sketch_get_quantile_double(binary, number) double
    kll_sketch_get_quantile_float(binary, number) float

    coalesce(any...) $common
    equal_null(orderable, comparable) boolean
    greatest least(orderable, orderable...) $common
    if(boolean, any, any) $common_from_second
    ifnull nvl(any, any) $common
    isnan(float) boolean
    isnotnull isnull(any) boolean
    nanvl(float, float) $common
    nullif(orderable, comparable) $1
    nullifzero(number) $1
    nvl2(any, any, any) $common_from_second
    zeroifnull(number) $or_zero

    abs negative positive(number) $1
    abs negative positive(interval) $1
    sign signum(interval) double
    acos acosh asin asinh atan atanh cbrt cos cosh cot csc degrees exp expm1 ln(number) double
    log10 log1p log2 radians rint sec sign signum sin sinh sqrt tan tanh(number) double
    atan2 hypot pow power(number, number) double
    bin(bigint) string
    bit_count(bigint) int
    bit_count(boolean) int
    bit_get getbit(bigint, int) tinyint
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

    add_months date_add date_sub dateadd(date, int) date
    convert_timezone(string, string, ntz) timestamp_ntz
    date_diff datediff(date, date) int
    date_format(timestamp, string) string
    date_from_unix_date(int) date
    date_part datepart(quoted, date) $part
    date_part datepart(quoted, interval) $part
    date_trunc(string, timestamp) timestamp
    day dayofmonth dayofweek dayofyear month quarter weekday weekofyear year(date) int
    dayname monthname(date) string
    from_unixtime(bigint, string?) string
    from_utc_timestamp to_utc_timestamp(timestamp, string) timestamp
    hour minute second(timestamp) int
    last_day(date) date
    make_date(int, int, int) date
    make_dt_interval(int?, int?, int?, exact?) interval day to second
    make_timestamp make_timestamp_ltz(int, int, int, int, int, exact, string?) timestamp
    make_timestamp_ntz try_make_timestamp_ntz(int, int, int, int, int, exact) timestamp_ntz
    make_ym_interval(int?, int?) interval year to month
    months_between(timestamp, timestamp, boolean?) double
    next_day trunc(date, string) date
    timestamp_micros timestamp_millis(bigint) timestamp
    timestamp_seconds(number) timestamp
    to_date try_to_date(moment, string?) date
    to_timestamp to_timestamp_ltz try_to_timestamp(moment, string?) timestamp
    to_timestamp_ntz(string, string?) timestamp_ntz
    to_unix_timestamp unix_timestamp(moment, string?) bigint
    try_make_timestamp try_make_timestamp_ltz(int, int, int, int, int, exact, string?) timestamp
    unix_date(day) int
    unix_micros unix_millis unix_seconds(instant) bigint

    array(any...) $array
    array_append array_prepend array_remove(array, member) $1
    array_compact array_distinct(array) $1
    array_contains(array, member) boolean
    array_except array_intersect array_union(array, array) $common
    array_insert(array, literal, member) $1
    array_join(strings, string, string?) string
    array_max array_min(ordered) $element
    array_position(array, member) bigint
    array_repeat(any, literal) $repeated
    array_size(array) int
    array_sort(ordered) $1
    arrays_overlap(array, alike) boolean
    cardinality size(array) int
    cardinality size(map) int
    element_at get try_element_at(array, int) $element
    element_at try_element_at(map, key) $element
    flatten(arrays) $element
    map(any...) $map
    map_concat(map...) $common
    map_contains_key(map, key) boolean
    map_entries(map) $entries
    map_from_arrays(array, array) $of_arrays
    map_from_entries(array) $of_entries
    map_keys(map) $keys
    map_values(map) $values
    named_struct(any...) $named
    reverse(array) $1
    sequence(literal, literal, literal?) $sequence
    slice(array, int, int) $1
    vector_cosine_similarity vector_inner_product vector_l2_distance(vector, vector) float
    vector_norm(vector, single?) float
    vector_normalize(vector, single?) array<float>
    sort_array(ordered, flag?) $1
"""

_OPERATORS = """
    ! != % & * + - / < << <= <=> <> = == > >= >> ^ | || ~ and between case cast extract ilike in
    like not or when
"""
OPERATORS = frozenset([*_OPERATORS.split(), ">" * 3])
"""What Spark lists as functions, and people write between or around their arguments."""

SKETCH_READERS = (
    "hll_sketch_estimate",
    "theta_sketch_estimate",
    *(f"kll_sketch_get_n_{kind}" for kind in ("bigint", "double", "float")),
    *(f"kll_sketch_get_quantile_{kind}" for kind in ("bigint", "double", "float")),
)
"""They take a sketch that an aggregate of the query makes, and no other bytes."""
SKETCH_SETS = ("theta_difference", "theta_intersection", "theta_union")
"""They take two, and make one of them."""

CAST_FUNCTIONS = ("boolean", *INTEGERS, *FLOATS, "string", "binary", "date", "timestamp")
"""Types that Spark can be called by, as in ``int(x)``: each is a CAST."""

KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "string": ("a string", ("string",)),
    "bytes": ("a string or binary", ("string", "binary")),
    "binary": ("binary", ("binary",)),
    "int": ("an integer up to int", INTEGERS[:3]),
    "bigint": ("an integer", INTEGERS),
    "literal": ("an integer literal", INTEGERS[:3]),
    "quoted": ("a text in quotes", ("string",)),
    "word": ("an int or bigint", ("int", "bigint")),
    "number": ("a number", ()),
    "exact": ("an integer or decimal", ()),
    "float": ("a float or double", FLOATS),
    "single": ("a float", ("float",)),
    "flag": ("TRUE or FALSE", ("boolean",)),
    "boolean": ("a condition (boolean)", ("boolean",)),
    "day": ("a date", ("date",)),
    "date": ("a date or timestamp", TIMES),
    "instant": ("a timestamp", ("timestamp",)),
    "timestamp": ("a timestamp or date", ("timestamp", "date")),
    "ntz": ("a timestamp without a zone", (NTZ,)),
    "moment": ("a string, date or timestamp", ("string", "date", "timestamp")),
    "interval": ("an interval", ()),
    "variant": ("a variant, as parse_json makes it", (VARIANT,)),
    "vector": ("an array of floats", ("array<float>",)),
    "text": ("a string, whole number, decimal, truth or time", ()),
    "strings": ("an array of strings", ("array<string>",)),
    "texts": ("a string or an array of strings", ("string", "array<string>")),
    "array": ("an array", ()),
    "arrays": ("an array of arrays", ()),
    "ordered": ("an array of values that have an order", ()),
    "map": ("a map", ()),
    "struct": ("a struct", ()),
    "nested": ("an array, map or struct", ()),
    "member": ("a value of the type that the array has", ()),
    "key": ("a value of the type that the map's keys have", ()),
    "alike": ("a value of the first argument's type", ()),
    "comparable": ("a value that the first can be compared with", ()),
    "orderable": ("a value that can be compared", ()),
    "hashable": ("a value without maps", ()),
    "plain": ("a value that is not nested", ()),
    "any": ("any value", ()),
}
"""In words, and the types; where these are empty there are too many to be listed."""


class Function(msgspec.Struct, frozen=True):
    """One form of a function on the list."""

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


def takes(kind: str, type_name: str, first: str = VOID) -> bool:
    """True when an argument of this kind may have this type, beside a first argument of its own."""
    if type_name == VOID:
        return kind not in ("array", "arrays", "ordered", "map", "struct", "nested")
    element = element_type(type_name)
    is_map, is_array = key_type(type_name) is not None, type_name.startswith("array<")
    match kind:
        case "any":
            return True
        case "number":
            return is_number(type_name)
        case "text":
            return is_written(type_name)
        case "exact":
            return type_name in INTEGERS[:3] or decimal_digits(type_name) is not None
        case "interval":
            return family_of(type_name) is not None
        case "array":
            return is_array
        case "arrays":
            return is_array and (element or "").startswith("array<")
        case "ordered":
            return is_array and is_orderable(element or "")
        case "map":
            return is_map
        case "struct":
            return type_name.startswith("struct<")
        case "nested":
            return is_nested(type_name) and VARIANT not in leaf_types(type_name)
        case "member":
            wanted = element_type(first) or ""
            return is_orderable(wanted) and common_type(wanted, type_name) == wanted
        case "key":
            wanted = key_type(first) or ""
            return common_type(wanted, type_name) == wanted
        case "alike":
            return common_type(first, type_name) is not None
        case "comparable":
            return can_compare(first, type_name)
        case "orderable":
            return is_orderable(type_name)
        case "hashable":
            return not has_map(type_name) and VARIANT not in leaf_types(type_name)
        case "plain":
            return not is_nested(type_name) and type_name != VARIANT and not family_of(type_name)
    return type_name in KINDS[kind][1]


def is_written(type_name: str) -> bool:
    """True where Spark makes the same text of a value everywhere, and does so by itself beside
    other texts. A double has as many digits as the Java of its machine gives it."""
    is_decimal = decimal_digits(type_name) is not None
    return is_decimal or type_name in ("string", "boolean", "date", "timestamp", VOID, *INTEGERS)


def _read(entry: str) -> list[Function]:
    match = re.fullmatch(r"([\w ]+)\(([^)]*)\) (.+)", entry)
    assert match is not None, f"not an entry: {entry}"
    words = [word.strip() for word in match[2].split(",") if word.strip()]
    kinds = tuple(word.rstrip("?.") for word in words)
    assert all(kind in KINDS for kind in kinds), f"not kinds: {entry}"
    required = sum(not word.endswith("?") for word in words)
    repeats = bool(words) and words[-1].endswith("...")
    return [Function(name, kinds, required, repeats, match[3]) for name in match[1].split()]


FUNCTIONS: dict[str, tuple[Function, ...]] = {}
"""By name, with all forms."""
for _line in filter(None, map(str.strip, ENTRIES.splitlines())):
    for _form in _read(_line):
        FUNCTIONS[_form.name] = (*FUNCTIONS.get(_form.name, ()), _form)
