"""Changes of what a message holds, rather than of its bytes: nearly all of them still decode.

A number, a name, a type, a piece of SQL, an order: something that no honest writer would have put
there, drawn from a seed.
"""

import random
from copy import deepcopy
from typing import Any

REPEATED_MAX = 1200
REPEATED_VALUES_MAX = 20_000
"""Of all that is repeated at once: what holds what was repeated would take longer to draw than to
read."""

VALUES: tuple[Any, ...] = (
    0, 1, -1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64 - 1, 1e300, float("inf"),
    float("nan"), -0.0, None, True, "", "x", "ä" * 300, "9" * 5000, "a'b`c\\d\0", "pane", "window",
    "cheese", "decimal(99,1)", "decimal(38,38)", "binary", "timestamp", "alpha", "${env:HOME}",
    "SELECT 1", [], {}, [[]], ["x", "y"], [["spark.sql.ansi.enabled", "false"]], b"\xff",
)  # fmt: skip
PIECES = (
    "(", ")", ",", " + 1" * 2000, "(" * 500, "CASE WHEN " * 50, " AND 1 = 1", "NOT " * 400,
    "9" * 4400,
    "REFLECT('a', 'b')", "REPEAT(domain, 99999999)", "*", "--", "/*", "'", "`", "''", "\\", "${x}",
    " UNION SELECT 1", " FROM csv.`/etc/passwd`", "TRANSFORM(x) USING 'sh'", "x -> x", "[1]", ".a",
    "DATE_FORMAT(ts, 'YYYY')", "INTERVAL '1' YEAR", "1e999", "0x1F", "SUM(", "CAST(x AS ", "::int",
    "\ud800", "\0", "ROW_NUMBER() OVER ()", "IN (SELECT 1)", "LATERAL VIEW", " LIMIT 5", "- " * 999,
)  # fmt: skip


def change(tree: Any, chance: random.Random) -> None:
    """Walk to a place in it, and put something else there."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = chance.choice(keys)
        below = tree[key]
        if not isinstance(below, dict | list) or chance.random() < 0.15:
            chance.choice(_CHANGES)(tree, key, chance)
            return
        tree = below


def _replace(tree: Any, key: Any, chance: random.Random) -> None:
    tree[key] = deepcopy(chance.choice(VALUES))


def _nudge(tree: Any, key: Any, chance: random.Random) -> None:
    """A number that is nearly right: what comes before and after, and leaps of every size."""
    if isinstance(tree[key], int) and not isinstance(tree[key], bool):
        leap = chance.choice((1, 2, 63, 64, 1 << 20, (1 << 20) + 1, 1 << 40, 1 << 62))
        tree[key] = min(max(tree[key] + chance.choice((-leap, leap)), -(1 << 63)), (1 << 64) - 1)
    else:
        _replace(tree, key, chance)


def _rewrite(tree: Any, key: Any, chance: random.Random) -> None:
    """A piece of SQL, or of a path or a pattern, elsewhere or instead."""
    text = tree[key]
    if not isinstance(text, str) or not text:
        _replace(tree, key, chance)
        return
    words = text.split(" ")
    at = chance.randrange(len(words))
    words[at : at + chance.randint(0, 2)] = [
        chance.choice((chance.choice(PIECES), chance.choice(words)))
    ]
    tree[key] = " ".join(words)


def _repeat(tree: Any, key: Any, chance: random.Random) -> None:
    """The same again and again, within bounds."""
    times = chance.choice((1, 3, REPEATED_MAX))
    is_short = isinstance(tree, list) and len(tree) < REPEATED_MAX
    if is_short and times * _count(tree[key]) <= REPEATED_VALUES_MAX:
        tree[key:key] = [deepcopy(tree[key]) for _ in range(times)]
    else:
        _replace(tree, key, chance)


def _count(tree: Any) -> int:
    """Of the values in it, with itself."""
    if not isinstance(tree, dict | list):
        return 1
    return 1 + sum(map(_count, tree.values() if isinstance(tree, dict) else tree))


_CHANGES = (_replace, _replace, _nudge, _nudge, _rewrite, _rewrite, _repeat)
