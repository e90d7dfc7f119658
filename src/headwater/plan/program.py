"""What Spark does for a query: texts, and what their rows look like.

Machines hand it on and never look into it. Whoever compiles, admits, runs or publishes does.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.rows.columns import Partial
from headwater.plan.sources.source import COLUMNS_MAX, Columns, Options, Source


class Program(msgspec.Struct, frozen=True):
    """A statement, split into its site part and its root part."""

    text: str
    """The statement, as the user wrote it."""
    source: Source
    keys: Columns
    partials: Annotated[tuple[Partial, ...], Meta(max_length=COLUMNS_MAX)]
    site_sql: str
    """Over the view ``records`` (the source's columns): yields ``pane`` bigint, keys, partials."""
    root_sql: str
    """Over the view ``panes`` (``window`` struct<start,end>, keys, partials), which may hold many
    windows: yields ``window`` first, then the columns of ``output``, one answer for each window."""
    central_sql: str
    """Over the view ``records`` of all sites: the same rows by one Spark, for comparison; also
    ``window`` first."""
    columns_used: Annotated[tuple[str, ...], Meta(max_length=COLUMNS_MAX)]
    """The source's columns that the site part reads, the time column among them."""
    output: Columns
    """The answer's columns in order, without the leading ``window``."""
    settings: Options = ()
    """Spark session settings that both parts run under."""
