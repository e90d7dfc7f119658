"""Queries that are parsed together: of one source, under the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from headwater.plan.query import Query
from headwater.plan.sources.source import Source
from headwater.reading.chunk import Chunk
from headwater.reading.form import form_of
from headwater.spark.lines.formats import quote_of
from headwater.spark.lines.lines import has_text, is_ascii
from headwater.spark.lines.parse import Parser
from headwater.spark.site.own_count import order_columns

UNKNOWN = ""
"""A header that nobody has seen: no line below it can be read."""
Settings = tuple[tuple[str, str], ...]


class QueryGroup(msgspec.Struct, frozen=True):
    source: Source
    settings: Settings
    queries: tuple[Query, ...]
    numbers: Mapping[str, frozenset[int]]
    """For each query, by its id, the numbers of the sites that run it."""

    def parser(self, chunks: Sequence[Chunk], headers: tuple[str, ...] = ()) -> Parser:
        """For these chunks and their headers. One need for each set of columns, however many
        queries share it."""
        quote = quote_of(self.source)
        is_quote_free = bool(quote) and not has_text(chunks, quote)
        needs = {need_of(query): None for query in self.queries}
        if form_of(self.source).has_heads and not headers:
            # By place, a query that leaves columns out would read others under its own names.
            headers = (UNKNOWN,)
        return Parser(self.source, tuple(needs), is_quote_free, headers, is_ascii=is_ascii(chunks))

    @property
    def order(self) -> tuple[str, ...]:
        """Columns of the lines that say in which order they were read; none: nobody asks."""
        grids = [one.reading_count for one in self.queries if one.reading_count is not None]
        return tuple(dict.fromkeys(name for grid in grids for name in order_columns(grid)))

    def sites_of(self, query: Query) -> frozenset[int]:
        return self.numbers[str(query.id)]


def need_of(query: Query) -> frozenset[str]:
    return frozenset(query.program.columns_used)


def groups_of(queries_by_site: Iterable[Iterable[Query]]) -> list[QueryGroup]:
    """The queries of all sites, each once. As a rule this is one group: settings hardly differ,
    and queries of one source name read the same source."""
    queries: dict[str, Query] = {}
    numbers: dict[str, set[int]] = {}
    for number, of_site in enumerate(queries_by_site):
        for query in of_site:
            queries[str(query.id)] = query
            numbers.setdefault(str(query.id), set()).add(number)
    grouped: dict[tuple[Source, Settings], list[Query]] = {}
    for query in queries.values():
        grouped.setdefault((query.program.source, query.program.settings), []).append(query)
    return [
        QueryGroup(
            source,
            settings,
            tuple(members),
            {str(query.id): frozenset(numbers[str(query.id)]) for query in members},
        )
        for (source, settings), members in grouped.items()
    ]
