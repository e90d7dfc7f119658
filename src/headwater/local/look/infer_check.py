"""An inferred source held against the parser: what it makes of the lines that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from headwater.infer.json_columns import elements_of
from headwater.infer.sample import FILE_BYTES_MAX
from headwater.local.look.infer_files import Inferred
from headwater.local.look.sampling import FoundFile, columnar_format, find_encoding, read_start
from headwater.plan.sources.compressed import expanded_suffix
from headwater.reading.form import form_of
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.source_check import SiteCheck, lines_of
from headwater.sql.compile import parse_script

RECORDS_SHOWN = 3
ROWS_MAX = 4_000
"""Of files that have columns of their own: rows that are read, of all together."""


class Held(msgspec.Struct, frozen=True):
    found: SiteCheck
    """Of the samples of all files together."""
    records: tuple[dict[str, Any], ...]
    """The first few, each value as text."""
    unread: dict[str, str] = {}
    """By name: files that are not read with it, and why."""


def hold_against_parser(inferred: Inferred, spark: RunningSpark) -> Held:
    """Reads what was looked at, and no more: the beginnings of files, cut at the end of a line."""
    (source,) = parse_script(inferred.statement).sources
    with TemporaryDirectory(prefix="headwater-infer-") as scratch:
        is_array = form_of(source).is_array
        starts = _starts(inferred.opened, Path(scratch) / "starts", is_array=is_array)
        with lines_of(spark.session, source, [starts], rows_max=ROWS_MAX) as lines:
            (found,) = lines.sites()
            records = lines.first_records(RECORDS_SHOWN)
            unread = {path.name: reason for path, reason in lines.unread[0].items()}
    return Held(found, tuple(records), unread)


def _starts(files: Sequence[FoundFile], directory: Path, *, is_array: bool) -> list[Path]:
    directory.mkdir()
    written = []
    for number, file in enumerate(files):
        if columnar_format(file.path):
            written.append(file.path)
            continue
        data = read_start(file.path)
        if len(data) >= FILE_BYTES_MAX:
            data = _array_start(data) if is_array else data[: data.rfind(b"\n") + 1] or data
        name = file.path.name.removesuffix(expanded_suffix(file.path.name) or ".xz")
        written.append(directory / f"{number}-{name}")
        written[-1].write_bytes(data)
    return written


def _array_start(data: bytes) -> bytes:
    """The whole elements at the beginning of an array that is cut off, as an array."""
    encoding = find_encoding(data)
    text = data.decode(encoding, errors="replace").removeprefix("\ufeff")
    return f"[{', '.join(elements_of(text))}]".encode(encoding)
