"""A record without a time is in no window: for Spark's ``window()``, and so at a site.

In a window of numbers it is none either, nor is one without a number, or with one so large that a
window could not end behind it. The reference is told so by itself. What a site has counted itself
every record has.
"""

from headwater.algebra.windows.sequence_grid import NUMBER_MAX, OWN_COUNTS
from headwater.sql.read.sql_text import canonical, name_sql, parse_expression
from headwater.sql.tree.nodes import Grouped, Kept, Node, Records, rewrite, the


def keep_what_has_a_time(tree: Node) -> Node:
    counted = the(tree, Grouped).counted
    return rewrite(tree, Records, lambda records: _placed(records, counted))


def _placed(records: Records, counted: str) -> Node:
    has_time = parse_expression(has_time_sql(records.source.time_column))
    if not counted or counted in OWN_COUNTS:
        return Kept(records, has_time)
    has_number = parse_expression(has_number_sql(counted))
    return Kept(Kept(records, has_time), has_number)


def placed_sql(time_column: str, counted: str) -> str:
    """Both together, in the canonical writing."""
    terms = [has_time_sql(time_column)]
    if counted and counted not in OWN_COUNTS:
        terms.append(has_number_sql(counted))
    return canonical(" AND ".join(terms))


def has_time_sql(column: str) -> str:
    return f"NOT {name_sql(column)} IS NULL"


def has_number_sql(column: str) -> str:
    return f"{name_sql(column)} BETWEEN -{NUMBER_MAX} AND {NUMBER_MAX - 1}"
