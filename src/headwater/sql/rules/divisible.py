"""Which questions several roots can answer: those whose groups can be dealt out among them.

Each root finishes its own groups and knows nothing of the others'. So there must be groups, and
nothing may be asked of all groups of a window together. HAVING looks at one group at a time. Equal
rows are one group, so rows can be dealt out as they are.
"""

from __future__ import annotations

from headwater.sql.read.options import Options
from headwater.sql.read.refusal import refusal
from headwater.sql.read.sql_text import offset_of
from headwater.sql.read.statements import StreamStatement
from headwater.sql.tree.nodes import Grouped, Node, Shown, ranks_of, the


def check_divisible(
    tree: Node, options: Options, stream: StreamStatement, text: str, *, part_count: int
) -> None:
    """Raises ``QueryRefused``."""
    if part_count == 1:
        return
    if not the(tree, Grouped).keys:
        raise options.refused(
            "roots",
            f"{part_count} roots deal out the groups of an answer among them, and this one has a "
            "single row for each window; GROUP BY a column as well, or name one root",
        )
    if the(tree, Grouped).sets:
        raise options.refused(
            "roots",
            f"grouping sets with {part_count} roots: each sees its own groups alone, and a coarser "
            "one is made of all; name one root",
        )
    shown = the(tree, Shown)
    clauses = [("order", "ORDER BY"), ("limit", "LIMIT"), ("offset", "OFFSET")]
    clauses += [] if shown.shows_all_keys else [("distinct", "SELECT DISTINCT")]
    if ranks_of(tree):
        raise options.refused(
            "roots",
            f"a rank with {part_count} roots: each sees its own groups alone; name one root",
        )
    for clause, name in clauses:
        node = stream.select.args.get(clause)
        if node is not None:
            offset = offset_of(node)
            raise refusal(
                text,
                stream.select_offset if offset is None else offset,
                f"{name} with {part_count} roots: each sees its own groups alone; leave it out "
                "and order what is read, or name one root",
            )
