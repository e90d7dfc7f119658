"""The site part for several sites at once: the same SELECT, grouped by the site as well."""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp

from headwater.plan.sql_text import column, parse, sql_of
from headwater.spark.lines import SITE


@lru_cache(maxsize=1_000)
def with_site(site_sql: str) -> str:
    """The text with the column ``__site`` last, in the SELECT list and in GROUP BY.

    >>> with_site("SELECT a AS pane, COUNT(*) AS n FROM records WHERE NOT ts IS NULL GROUP BY 1")
    'SELECT a AS pane, COUNT(*) AS n, __site FROM records WHERE NOT ts IS NULL GROUP BY 1, __site'
    """
    select = parse(site_sql)
    assert isinstance(select, exp.Select), "the site part is one SELECT"
    group = select.args["group"]
    select.set("expressions", [*select.expressions, column(SITE)])
    group.set("expressions", [*group.expressions, column(SITE)])
    return sql_of(select)
