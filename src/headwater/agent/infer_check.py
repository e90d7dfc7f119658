"""An inferred source held against the parser: what it makes of the lines that it came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from headwater.agent.infer_files import Inferred
from headwater.agent.sampling import FoundFile, columnar_format, read_start, some_of
from headwater.frontend.compile import parse_program
from headwater.infer.sample import FILE_BYTES_MAX
from headwater.plan.compressed import expanded_suffix
from headwater.spark.session import RunningSpark
from headwater.spark.source_check import SiteCheck, lines_of

RECORDS_SHOWN = 3


class Held(msgspec.Struct, frozen=True):
    found: SiteCheck
    """Of the samples of all files together."""
    records: tuple[dict[str, Any], ...]
    """The first few, each value as text."""


def hold_against_parser(inferred: Inferred, spark: RunningSpark) -> Held:
    """Reads what was looked at, and no more: the beginnings of files, cut at the end of a line."""
    (source,) = parse_program(inferred.statement).sources
    with TemporaryDirectory(prefix="headwater-infer-") as scratch:
        starts = _starts(some_of(inferred.files), Path(scratch) / "starts")
        with lines_of(spark.session, source, [starts]) as lines:
            (found,) = lines.sites()
            records = lines.first_records(RECORDS_SHOWN)
    return Held(found, tuple(records))


def _starts(files: Sequence[FoundFile], directory: Path) -> list[Path]:
    directory.mkdir()
    written = []
    for number, file in enumerate(files):
        if columnar_format(file.path):
            written.append(file.path)
            continue
        data = read_start(file.path)
        if len(data) >= FILE_BYTES_MAX:
            data = data[: data.rfind(b"\n") + 1] or data
        name = file.path.name.removesuffix(expanded_suffix(file.path.name) or ".xz")
        written.append(directory / f"{number}-{name}")
        written[-1].write_bytes(data)
    return written
