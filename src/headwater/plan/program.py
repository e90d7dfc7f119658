"""What Spark does for a query: texts, and what their rows look like.

Machines hand it on and never look into it. Whoever compiles, admits, runs or publishes does.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.rows.columns import FirstRows, Folding, Partial
from headwater.algebra.rows.places import PLACES_MAX, PlaceColumn
from headwater.plan.sources.source import COLUMNS_MAX, Columns, Options, Source

Places = Annotated[tuple[PlaceColumn, ...], Meta(max_length=PLACES_MAX)]


class Program(msgspec.Struct, frozen=True):
    """A statement, split into its site part and its root part."""

    text: str
    """The statement, as the user wrote it."""
    source: Source
    keys: Columns
    """Those of the user, then hidden ones (``folding``)."""
    partials: Annotated[tuple[Partial, ...], Meta(max_length=COLUMNS_MAX)]
    site_sql: str
    """Over the view ``records`` (the source's columns): yields ``pane`` bigint, keys, partials."""
    root_sql: str
    """Over the view ``panes`` (``window`` struct<start,end>, the user's keys, partials, what
    growing states were folded to), which has each group once and may hold many windows: yields
    ``window`` first, then the columns of ``output``, one answer for each window."""
    central_sql: str
    """Over the view ``records`` of all sites: the same rows by one Spark, for comparison; also
    ``window`` first."""
    columns_used: Annotated[tuple[str, ...], Meta(max_length=COLUMNS_MAX)]
    """The source's columns that the site part reads, the time column among them."""
    output: Columns
    """The answer's columns in order, without the leading ``window``."""
    settings: Options = ()
    """Spark session settings that both parts run under."""
    first: FirstRows | msgspec.UnsetType = msgspec.UNSET
    """Set: rows that only the first of are wanted, so whoever merges them drops the others. Unset,
    and then not on the wire: every row counts. Who does not know it keeps more than is needed."""
    folding: Folding | msgspec.UnsetType = msgspec.UNSET
    """Set: some of the keys are hidden, and what becomes of them at the root."""
    places: Places | msgspec.UnsetType = msgspec.UNSET
    """Set: keys that each site fills in with what the roster says of it, ``site()`` and its kind.
    Unset, and then not on the wire: there are none such."""

    @property
    def place_columns(self) -> tuple[PlaceColumn, ...]:
        return () if isinstance(self.places, msgspec.UnsetType) else self.places
