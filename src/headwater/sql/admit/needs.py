"""Which rules, functions, types and kinds of grid a query uses that agents of 0.3 did not know.

What they knew is written down here and never changes. Whatever a later version adds to its tables
of rules and functions is named by the plans that use it, by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from sqlglot import exp

from headwater import __version__
from headwater.algebra.aggregates import AGGREGATES, FOLDS, RULES
from headwater.algebra.remainders.meaning import Meaning
from headwater.algebra.rows.columns import folded_columns, set_keys
from headwater.errors import QueryRefused
from headwater.plan.needs import missing
from headwater.plan.program import Program
from headwater.plan.query import Query, TimeKind
from headwater.plan.sources.source import SourceFormat
from headwater.sql.degrade.can_be_had import WHOLE
from headwater.sql.read.sql_text import parse
from headwater.sql.types.call_types import name_of
from headwater.sql.types.functions import CAST_FUNCTIONS, FUNCTIONS
from headwater.sql.types.lambda_types import FORMS
from headwater.sql.types.place_functions import PLACES
from headwater.sql.write.select_sql import RANK

_FUNCTIONS_OF_0_3 = """
    abs acos acosh add_months ascii asin asinh atan atan2 atanh base64 bin bit_count bit_get
    bit_length bround btrim cbrt ceil ceiling char char_length character_length chr coalesce
    concat concat_ws contains conv cos cosh cot crc32 csc date_add date_diff date_format
    date_from_unix_date date_sub date_trunc datediff day dayname dayofmonth dayofweek dayofyear
    decode degrees e elt encode endswith equal_null exp expm1 factorial find_in_set floor
    format_string from_unixtime from_utc_timestamp get_json_object greatest hash hex hour hypot
    if ifnull initcap instr isnan isnotnull isnull json_array_length last_day lcase least left
    length levenshtein ln locate log log10 log1p log2 lower lpad ltrim luhn_check make_date md5
    minute mod month monthname months_between nanvl negative next_day nullif nvl nvl2
    octet_length overlay parse_url pi pmod position positive pow power quarter radians
    regexp_count regexp_extract regexp_instr regexp_like regexp_replace regexp_substr repeat
    replace reverse right rint round rpad rtrim sec second sha sha1 sha2 shiftleft shiftright
    shiftrightunsigned sign signum sin sinh soundex space split_part sqrt startswith substr
    substring substring_index tan tanh timestamp_micros timestamp_millis timestamp_seconds
    to_date to_timestamp to_unix_timestamp to_utc_timestamp translate trim trunc try_add
    try_divide try_mod try_multiply try_parse_url try_subtract try_to_date try_to_timestamp
    try_url_decode ucase unbase64 unhex unix_date unix_micros unix_millis unix_seconds
    unix_timestamp upper url_decode url_encode weekday weekofyear width_bucket xxhash64 year
    count count_if sum avg mean min max bool_and every bool_or any some
"""
NODE_SET = "node set"
_RULES_OF_0_3 = ("sum", "min", "max")
_TYPES = ("array", "map", "struct")
"""Of a summary's and an answer's columns, beside the plain ones that 0.3 had."""
_FORMS = ("rows", "ranks", "views", "sets")
"""Of SQL: a bag that the root unfolds, ranks that users ask for, LATERAL VIEWs at sites, and
grouping sets, of which the root makes the coarser ones."""


EXTENT = "option extent"
"""An agent that does not know it would read and answer for ever. A begin in the past needs nothing:
who does not know it declines what it has not read (not installed)."""

SESSIONS = "grid session"
"""A root that does not know it would answer every window of fragments as if they were groups."""


SEQUENCE = "grid sequence"
"""Who does not know it would take numbers for times."""

OWN_COUNT = "grid own count"
ERROR = "option error"
"""Who does not know it would look for a column of the source."""
ERROR_MEANINGS = "option error by meaning"
"""Who does not know what else than values a bound may be about would keep back by another one, and
a root that does not know conditions would call rows sure that are not."""
ANSWER = "option answer"
"""A root that does not know it would answer before the deadline."""
FIDELITY = "option fidelity"
"""A root that does not know it would wait for everything, and give rows below the demand."""
BUDGET = "option budget"
"""A site that does not know it would send as much as its links carry."""
DEGRADE = "degrade"
"""With the kind of each operator: a site that does not know one would send more than there is room
for, and a root would take what it sends for something else."""
LEVELS = "levels"
"""A site that does not know them would run it as a query of its own."""
RELAY_SHARE = "option relay_share"
"""A site that does not know it would use up the whole bound, and a root would take what relays have
left out for all that there is."""
RANDOM = "option fidelity random"
"""A site that does not know it would send all panes, and a root would wait for them."""


QUESTION = "option ask"
"""A site that does not know it would read its logs, and go on for ever."""

LAST_ROWS = "grid last rows"
"""Who does not know it would read the records of each pane for those of its state. (Agents of 0.3
knew what a state query is, and refuse it.)"""


def _words(kind: str, names: Iterable[str]) -> set[str]:
    return {f"{kind} {name}" for name in names}


OF_0_3 = (
    _words("rule", _RULES_OF_0_3)
    | _words("function", _FUNCTIONS_OF_0_3.split())
    | _words("function", CAST_FUNCTIONS)
)
KNOWN = (
    OF_0_3
    | _words("rule", RULES)
    | _words("function", FUNCTIONS)
    | {NODE_SET}
    | _words("function", FORMS)
    | _words("function", PLACES)
    | _words("function", AGGREGATES)
    | _words("type", _TYPES)
    | {EXTENT, SESSIONS, SEQUENCE, OWN_COUNT, LAST_ROWS, ERROR, ERROR_MEANINGS, ANSWER}
    | {FIDELITY, BUDGET, RANDOM, LEVELS, QUESTION, RELAY_SHARE}
    | _words(DEGRADE, WHOLE)
    | _words("fold", FOLDS)
    | _words("form", _FORMS)
)
"""What this version can read, carry and answer."""


def with_needs(query: Query) -> Query:
    """The query, naming what it needs; one that 0.3 knew all of is left as it is, so that its
    bytes are what they were."""
    needs = needs_of(query)
    return msgspec.structs.replace(query, needs=needs) if needs else query


def needs_of(query: Query) -> tuple[str, ...]:
    """In the order of the alphabet."""
    program = query.program
    called = {
        name_of(call)
        for text in (program.site_sql, program.root_sql)
        for call in parse(text).find_all(exp.Anonymous)
    }
    called |= {re.split(":", place.what)[0] for place in program.place_columns}
    types = [column.type for column in (*program.keys, *program.output)]
    types += [partial.type for partial in program.partials]
    heads = {re.split(r"[<(]", type_, maxsplit=1)[0] for type_ in types}
    used = (
        _words("rule", (partial.merge for partial in program.partials))
        | _words("function", (name for name in called if f"function {name}" in KNOWN))
        | _words("type", heads.intersection(_TYPES))
        | ({EXTENT} if query.ends_at is not None else set())
        | ({NODE_SET} if isinstance(query.node_set, str) else set())
        | _words("fold", (column.fold for column in folded_columns(program)))
        | _words("form", _forms_of(program))
        | (set() if query.sessions is msgspec.UNSET else {SESSIONS})
        | (set() if query.numbers is None else {SEQUENCE})
        | (set() if query.own_count is None else {OWN_COUNT})
        | ({LAST_ROWS} if query.holds_states else set())
        | (set() if query.tolerates is None else {ERROR})
        | ({ERROR_MEANINGS} if _has_meanings(query) else set())
        | ({ANSWER} if query.waits is True else set())
        | (set() if query.demanded is None else {FIDELITY})
        | (set() if query.link_share.bytes_per_s is None else {BUDGET})
        | ({QUESTION} if query.reads_cube else set())
        | ({RELAY_SHARE} if query.tolerates is not None and query.tolerates.relay_share else set())
        | _words(DEGRADE, _operators(query))
        | (set() if query.stands_for is None else {LEVELS})
        | ({RANDOM} if query.demanded is not None and query.demanded.is_random else set())
    )
    return tuple(sorted(used - OF_0_3))


def _operators(query: Query) -> list[str]:
    return [] if query.degrades is None else [one.kind for one in query.degrades.operators]


def _has_meanings(query: Query) -> bool:
    columns = () if query.tolerates is None else query.tolerates.columns
    has_conditions = query.tolerates is not None and isinstance(query.tolerates.conditions, tuple)
    return has_conditions or any(one.meaning is not Meaning.ADDED for one in columns)


def _forms_of(program: Program) -> Iterator[str]:
    site, root = parse(program.site_sql), parse(program.root_sql)
    if any(name_of(call) == "explode" for call in root.find_all(exp.Anonymous)):
        yield "rows"
    ranks = [one for one in root.find_all(exp.Alias) if isinstance(one.this, exp.Window)]
    if any(rank.alias != RANK for rank in ranks):
        yield "ranks"
    if site.args.get("laterals"):
        yield "views"
    if set_keys(program):
        yield "sets"


def check_forms(query: Query) -> None:
    """Raises ``QueryRefused`` for forms that the plan has and does not name: what is read off the
    names, as ``asks_for_all_rows``, holds of whoever sends a plan."""
    unnamed = sorted(_words("form", _forms_of(query.program)).difference(_named(query)))
    if unnamed:
        raise QueryRefused(
            f"needs: wanted {', '.join(unnamed)}, which this plan uses, among them; got a plan "
            "without; compile the statement anew"
        )


def asks_for_all_rows(query: Query) -> bool:
    """Whether records travel as they are, however many there are of them: as a bag, or with nothing
    computed of them, which is what SELECT DISTINCT asks for."""
    program = query.program
    has_only_keys = not program.partials and not folded_columns(program)
    is_of_rows = is_bag(query) or has_only_keys
    return is_of_rows and isinstance(program.first, msgspec.UnsetType)


def is_bag(query: Query) -> bool:
    """Whether beside each row stands how often it occurs."""
    counts = [one.type for one in query.program.partials]
    return "form rows" in _named(query) and counts == ["bigint"]


def copies_column(query: Query) -> str | None:
    """The partial column that says so; None: rows do not travel as a bag."""
    return query.program.partials[0].name if is_bag(query) else None


def check_needs(query: Query) -> None:
    """Raises ``QueryRefused`` with the sentence of a version that knows too little."""
    named = _named(query)
    if query.time is TimeKind.OTHER:
        named = (*named, "another kind of time")
    if query.program.source.format is SourceFormat.OTHER:
        named = (*named, "another format of the source")
    refused = missing(dict.fromkeys(named), KNOWN, __version__)
    if refused is not None:
        raise QueryRefused(refused)


def _named(query: Query) -> tuple[str, ...]:
    return () if isinstance(query.needs, msgspec.UnsetType) else query.needs
