"""Whether so little is to be read that Java should compile quickly instead of well.

Java compiles what runs often twice: first quickly, then well. The second takes longer than it saves
where the whole run is half a minute: 15 MB took one plain Spark 18 s of CPU with it and 10 without,
and a federation 26 and 15; 128 MB took one Spark 36 and 37, and a federation 56 and 52. Each
query's code is compiled by itself, so it is the bytes that count, however many queries read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from headwater.local.bytes_below import LITTLE_BYTES_MAX, counted_bytes
from headwater.plan.query import Query
from headwater.store.input.site_files import found_below


def is_little(queries: Iterable[Query], folders: Sequence[Path]) -> bool:
    """Of all files that the sources name below these folders."""
    total = 0
    for size in _sizes(queries, folders):
        total += size
        if total > LITTLE_BYTES_MAX:
            return False
    return True


def _sizes(queries: Iterable[Query], folders: Sequence[Path]) -> Iterator[int]:
    of_source = {query.source_name: query for query in queries}
    for query in of_source.values():
        for found in found_below(folders, query.program.source.path):
            yield counted_bytes(found.path, found.size)
