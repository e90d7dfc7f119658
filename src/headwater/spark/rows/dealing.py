"""Rows of many sites that Spark wrote together, dealt out to them.

Spark can write a folder for each site by itself. But Hadoop, which has no native library here,
starts a program (``chmod``) for every folder and every file that it makes: four for each site on
two cores, 30 ms of CPU, which is more than all else that a site costs. So where there are many
sites, Spark writes the rows of all of them in the order of sites, and they are cut apart here, file
by file: a file is small enough to be held, and the rows of a site lie together in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headwater.spark.lines.lines import SITE
from headwater.spark.rows.row_files import RowFiles, place

FOLDERS_MAX = 8
"""Sites up to which Spark writes a folder for each."""
HELD_BYTES_MAX = 32 << 20
"""Of all sites together that are kept in memory; beyond, each site's rows go into files again."""

Rows: TypeAlias = "pa.Table | RowFiles"


def by_site(table: pa.Table) -> dict[int, pa.Table]:
    """The rows of each site that has any, in one pass over all of them: a filter for each site
    would read all rows as often as there are sites."""
    ordered = table.take(pc.sort_indices(table.column(SITE))).combine_chunks()
    counts = pc.value_counts(ordered.column(SITE))
    found, first = {}, 0
    for entry in counts.to_pylist():
        found[entry["values"]] = ordered.slice(first, entry["counts"])
        first += entry["counts"]
    return found


def dealt(files: RowFiles, numbers: Sequence[int], folder: Path) -> dict[int, Rows]:
    """The rows of each site; ``folder`` is for those that are too many to be held."""
    if files.bytes <= HELD_BYTES_MAX:
        tables = [by_site(table) for table in files]
        return {n: _whole([t[n] for t in tables if n in t], files.schema) for n in numbers}
    return _in_files(files, numbers, folder)


def _whole(tables: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """Mostly there is one, for a site lies in one file: then it is not joined with anything."""
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables([schema.empty_table(), *tables])


def _in_files(files: RowFiles, numbers: Sequence[int], folder: Path) -> dict[int, Rows]:
    folder.mkdir()
    schema = files.schema.remove(files.schema.get_field_index(SITE))
    names = [place(at) for at in range(len(schema))]
    counts: dict[int, dict[Path, int]] = defaultdict(dict)
    for turn, table in enumerate(files):
        for number, rows in by_site(table).items():
            path = folder / f"{number}-{turn}"
            in_file = rows.select(schema.names).rename_columns(names)
            pq.write_table(in_file, path, compression="snappy", use_dictionary=False)
            counts[number][path] = rows.num_rows
    places = tuple(range(len(schema)))
    return {
        n: RowFiles(tuple(counts[n]), tuple(counts[n].values()), schema, places) for n in numbers
    }
