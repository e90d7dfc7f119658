"""Draws worlds and cases, each from a number.

Which aggregates there are, and what they take, is read off the registry: one that is added is drawn
from then on.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import msgspec

from fuzz_sql.case import TIME, Case, World
from fuzz_sql.expressions import ANY, FORMS, HOLE, LITERALS, NESTED, Made, draw_expression
from fuzz_sql.values import CHOICES, STEADY_TYPE, draw_time, draw_value, spark_type
from headwater.algebra.aggregates import AGGREGATES, DISTINCT
from headwater.algebra.aggregates.aggregate import Aggregate, UnfitArguments

CASES_A_WORLD = 30
"""They share its records, so that these are made once."""
RECORDS_MAX = 60
PARTS_MAX = 6
NAMES = ("a", "b", "c", "d", "e", "f", "g", "`h i`", "`ä`", "`order`", "m", "n")
ALWAYS = ("boolean", "int", "bigint", "string", "double", STEADY_TYPE, "decimal(10,2)", *NESTED)
"""Types of which every world has a column."""
WINDOWS = (
    "window(ts, '10 seconds')",
    "window(ts, '1 minute')",
    "window(ts, '1 hour')",
    "window(ts, '1 day')",
    "window(ts, '20 seconds', '5 seconds')",
    "window(ts, '30 seconds', '20 seconds')",
    "window(ts, '15 seconds', '5 seconds', '2 seconds')",
    "window(ts, '1 day', '6 hours')",
    "window(ts, '7 seconds')",
)
SESSIONS = tuple(f"session_window(ts, '{gap}')" for gap in ("7 seconds", "1 minute", "1 hour"))
WINDOWS_OF_ROWS = (
    "10 seconds",
    "1 hour",
    "1 day",
    "20 seconds every 5 seconds",
    "1 day every 6 hours",
)
DIRECTIONS = ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
RANKS = ("row_number", "row_number", "rank", "dense_rank")
LITERAL_ARGUMENTS = {
    "listagg": ("'|'",),
    "string_agg": ("'|'",),
    "percentile_approx": ("0.5", "100"),
    "approx_percentile": ("array(0, 0.25, 1)", "50"),
}
"""Of aggregates that are not called without."""
ROUNDED_TYPES = ("tinyint", STEADY_TYPE)
"""What moments are taken of: their rounding shows with anything larger, in one Spark too."""
FAILING = {
    "bigint": ("(10 / {bigint})", "CAST({bigint} AS INT)", "(7 % {bigint})"),
    "int": ("(10 / {int})", "({int} * 1000000)"),
    "string": ("CAST({string} AS INT)",),
}
"""Over a group, where what fails is the group's own."""


class Call(msgspec.Struct, frozen=True):
    """An aggregate with arguments that it takes."""

    name: str
    arguments: tuple[str, ...]
    type: str
    is_rounded: bool
    """Or bounded: nothing is chosen by its value."""
    is_distinct: bool = False
    literals: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        inner = ", ".join([*(f"{{{one}}}" for one in self.arguments), *self.literals]) or "*"
        return f"{self.name}({'DISTINCT ' if self.is_distinct else ''}{inner})"


def draw_world(seed: int) -> World:
    chance = random.Random(f"world {seed}")
    types = [*CHOICES, "timestamp"]
    drawn = [*ALWAYS, *chance.choices(types, k=len(NAMES) - len(ALWAYS))]
    chance.shuffle(drawn)
    columns = dict(zip(NAMES, drawn, strict=True))
    count = chance.choice([1, 8, *[RECORDS_MAX] * 6])
    rows = [
        (
            None if chance.random() < 0.05 else draw_time(chance),
            *(draw_value(one, chance) for one in columns.values()),
        )
        for _ in range(count)
    ]
    weights = [chance.choice([1, 1, 20, 0.05]) for _ in range(chance.randint(1, PARTS_MAX))]
    parts = chance.choices(range(len(weights)), weights, k=count)
    return World(columns, tuple(rows), tuple(parts))


def draw_case(seed: int) -> Case:
    """Of groups, and every fifth of rows."""
    world, chance = draw_world(seed // CASES_A_WORLD), random.Random(f"case {seed}")
    columns = {TIME: "timestamp"} | world.columns
    if chance.random() < 0.2:
        case, exact = _draw_rows(seed, world, columns, chance)
    else:
        case, exact = _draw_groups(seed, world, columns, chance)
    if chance.random() < 0.4:
        where = draw_expression("boolean", columns, chance)
        case = msgspec.structs.replace(case, where=where)
    if not exact:
        return case
    if not case.is_distinct and chance.random() < 0.12:
        return msgspec.structs.replace(case, rank=_draw_rank(exact, chance))
    if chance.random() < 0.3:
        names = chance.sample(exact, k=min(len(exact), chance.randint(1, 2)))
        order = tuple(f"{name}{chance.choice(DIRECTIONS)}" for name in names)
        limit = chance.randint(1, 4) if chance.random() < 0.7 else None
        return msgspec.structs.replace(case, order=order, limit=limit)
    return case


def _draw_groups(
    seed: int, world: World, columns: dict[str, str], chance: random.Random
) -> tuple[Case, list[str]]:
    """And the names of columns that something may be chosen by."""
    window = chance.choice(SESSIONS if chance.random() < 0.15 else WINDOWS)
    keys = tuple(_draw_key(world, columns, chance) for _ in range(chance.choice([0, 1, 1, 2, 3])))
    calls = [
        draw_call(columns, chance, is_fixed=window in SESSIONS) for _ in range(chance.randint(1, 4))
    ]
    items = tuple(_draw_item(*call, chance) for call in calls)
    having = _draw_having(calls, keys, chance) if chance.random() < 0.25 else None
    exact = [f"k{n}" for n, key in enumerate(keys) if _is_ordered(key)]
    exact += [
        f"c{n}"
        for n, (call, rounded) in enumerate(calls)
        if not rounded and items[n] is call and _is_ordered(call)
    ]
    return Case(seed, world, window, keys, items, having=having), exact


def _draw_rows(
    seed: int, world: World, columns: dict[str, str], chance: random.Random
) -> tuple[Case, list[str]]:
    items = tuple(_draw_key(world, columns, chance) for _ in range(chance.randint(1, 4)))
    exact = [f"c{n}" for n, item in enumerate(items) if _is_ordered(item)]
    is_distinct = chance.random() < 0.3
    window = chance.choice(WINDOWS_OF_ROWS)
    return Case(seed, world, window, (), items, of_rows=True, is_distinct=is_distinct), exact


def _is_ordered(made: Made) -> bool:
    return made.type != "binary" and "<" not in made.type


def _draw_rank(exact: list[str], chance: random.Random) -> str:
    names = chance.sample(exact, k=min(len(exact), chance.randint(1, 2)))
    within = ", ".join(["window", *names[1:]])
    over = f"PARTITION BY {within} ORDER BY {names[0]}{chance.choice(DIRECTIONS)}"
    return f"{chance.choice(RANKS)}() OVER ({over}) <= {chance.randint(1, 3)}"


def _draw_key(world: World, columns: dict[str, str], chance: random.Random) -> Made:
    """A column, or an expression with one in it: GROUP BY takes a number for a place. Maps are no
    keys."""
    plain = {name: one for name, one in columns.items() if not one.startswith("map")}
    types = [one for one in plain.values() if one != STEADY_TYPE]
    if chance.random() < 0.6:
        name = chance.choice([one for one in world.columns if one in plain])
        return Made(world.columns[name], name)
    while True:
        made = draw_expression(chance.choice([*types, *ANY]), columns, chance)
        if any(name in _words(made) for name in columns):
            return made


def _words(made: Made) -> set[str]:
    return {made.form} | {word for part in made.parts for word in _words(part)}


def draw_call(
    columns: dict[str, str], chance: random.Random, *, is_fixed: bool = False
) -> tuple[Made, bool]:
    """An aggregate over expressions, and whether its value is rounded. ``is_fixed``: none whose
    state grows."""
    if not is_fixed and chance.random() < 0.12:
        call = chance.choice(DISTINCT_CALLS)
    else:
        name = chance.choice([*AGGREGATES])
        fits = [one for one in CALLS if one.name == name]
        call = chance.choice(fits or [STAR])
    form = call.form
    arguments = [draw_expression(one, columns, chance, depth=1) for one in call.arguments]
    if chance.random() < 0.2:
        form += " FILTER (WHERE {boolean})"
        arguments.append(draw_expression("boolean", columns, chance, depth=1))
    return Made(call.type, form, tuple(arguments)), call.is_rounded


def _draw_item(made: Made, is_rounded: bool, chance: random.Random) -> Made:
    """The aggregate, or something computed of it."""
    if is_rounded or chance.random() < 0.7:
        return made
    around = [one for forms_of in FORMS.values() for one in forms_of]
    forms = [form for form in around if HOLE.findall(form) == [made.type]]
    failing = FAILING.get(made.type, ())
    if not (forms or failing) or made.type in ("float", "double"):
        return made
    is_to_fail = failing and chance.random() < 0.5
    form = chance.choice(failing if is_to_fail or not forms else forms)
    kind = next((one for one, all_of in FORMS.items() if form in all_of), "")
    return Made(kind or made.type, form, (made,))


def _draw_having(
    calls: list[tuple[Made, bool]], keys: tuple[Made, ...], chance: random.Random
) -> Made:
    """About exact values only: a rounded one may lie on either side of a bound."""
    choices = [made for made, is_rounded in calls if not is_rounded] + list(keys)
    forms = {
        "bigint": "({bigint} > 1)",
        "int": "({int} < 5)",
        "string": "({string} > 'a')",
        "boolean": "{boolean}",
        "date": "({date} > DATE'2000-01-01')",
    }
    made = chance.choice(
        [one for one in choices if one.type in forms] or [Made("bigint", "count(*)")]
    )
    return Made("boolean", forms[made.type], (made,))


def _calls(aggregates: Mapping[str, Aggregate], *, is_distinct: bool = False) -> list[Call]:
    """Of every name in a registry."""
    found = []
    for name, aggregate in aggregates.items():
        for arguments in [(), *((one,) for one in FORMS), *itertools.product(PAIRED, PAIRED)]:
            call = _call(name, aggregate, arguments)
            if call is not None:
                found.append(msgspec.structs.replace(call, is_distinct=is_distinct))
    return found


PAIRED = ("tinyint", STEADY_TYPE, "string", "int")


def _call(name: str, aggregate: Aggregate, arguments: tuple[str, ...]) -> Call | None:
    has_moments = aggregate.merge.width > 1 and aggregate.makes_one_of_many
    literals_from, literals = aggregate.literals_from, LITERAL_ARGUMENTS.get(name, ())
    if literals_from is not None and len(arguments) > literals_from:
        return None
    if has_moments and not set(arguments) <= set(ROUNDED_TYPES):
        return None
    # Spark averages bigints in doubles, which have 53 bits: in its own order.
    if "avg" in aggregate.name and arguments[:1] == ("bigint",):
        return None
    try:
        split = aggregate.split((*map(spark_type, arguments), *literals))
    except UnfitArguments:
        return None
    is_rounded = has_moments or split.bound is not None
    return Call(name, arguments, split.type, is_rounded, literals=literals)


STAR = Call("count", (), "bigint", is_rounded=False)
CALLS = _calls(AGGREGATES)
DISTINCT_CALLS = _calls(DISTINCT, is_distinct=True)
assert all(one in LITERALS for one in FORMS)
