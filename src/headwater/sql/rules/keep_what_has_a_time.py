"""A record without a time is in no window: for Spark's ``window()``, and so at a site."""

from headwater.sql.read.sql_text import name_sql, parse_expression
from headwater.sql.tree.nodes import Kept, Node, Records, rewrite


def keep_what_has_a_time(tree: Node) -> Node:
    return rewrite(tree, Records, _timed)


def _timed(records: Records) -> Node:
    time = name_sql(records.source.time_column)
    return Kept(records, parse_expression(f"NOT {time} IS NULL"))
