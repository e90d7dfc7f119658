"""``site()``, ``region()`` and ``label('…')``: where a record was read, as its site alone can say.

They are keys, and nothing else: a site fills them in when its rows are made, and whoever gets the
rows can tell whether the value is one of theirs. An expression over them is one over the group.
"""

from __future__ import annotations

import re

from sqlglot import exp

from headwater.algebra.rows.places import LABEL, LABEL_PATTERN, REGION, SITE
from headwater.sql.types.call_types import name_of
from headwater.sql.types.result_types import quoted_text

PLACES = ("site", "region", "label")
ONLY_KEYS = (
    "site(), region() and label('…') are what rows are grouped by: GROUP BY site(), and write "
    "expressions over it in SELECT or HAVING; to ask some sites alone, write WITH (sites = 'eu-*')"
)


def is_place(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and name_of(node) in PLACES


def place_of(node: exp.Expr) -> str | None:
    """What a site is asked for by this call; None: it is no such call, or not a whole one."""
    if not isinstance(node, exp.Anonymous) or not is_place(node):
        return None
    name, arguments = name_of(node), node.expressions
    if name != "label":
        return {"site": SITE, "region": REGION}[name] if not arguments else None
    text = quoted_text(arguments[0]) if len(arguments) == 1 else None
    is_name = text is not None and re.fullmatch(LABEL_PATTERN, text) is not None
    return f"{LABEL}{text}" if is_name else None


def place_fault(what: str) -> str | None:
    """Of what a plan asks of a site."""
    label = what.removeprefix(LABEL)
    is_label = label != what and re.fullmatch(LABEL_PATTERN, label) is not None
    return None if what in (SITE, REGION) or is_label else f"no place {what[:80]!r}"
