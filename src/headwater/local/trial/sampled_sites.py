"""A share of every site's files, for a first look at what is too much to wait for.

The sample is files of its own, in folders like the sites', so whatever reads it reads the same
records: the sites, the root, and one Spark that their answer is compared with. Files of lines give
blocks of whole lines at equal distances, the first of them at a place drawn from the seed: each
line is as likely to be in as any other, and of what is left out nothing is read. Files that can't
be cut (compressed ones, and those whose records are more than lines) are in as a whole or not at
all. Of each site that has a file there is something in the sample.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import msgspec

from headwater.errors import ConfigurationError
from headwater.plan.query import Query
from headwater.plan.sources.compressed import is_compressed
from headwater.plan.sources.source import Source
from headwater.reading.form import form_of
from headwater.reading.text import MARK_BYTES_MAX, UTF8_MARK, encoding_of
from headwater.store.input.site_files import found_below

BLOCK_BYTES = 16 << 10
"""Lines that are taken side by side: a page or four of the disk, which it reads at once anyway."""
LINES_FORMATS = frozenset(
    {"csv", "tsv", "json", "regex", "fixed", "apache", "nginx", "syslog", "logfmt"}
)
"""Each line is a record, wherever a block begins."""
SEVERAL_LINES = ("multiline", "array")
"""Options with which it is not, if they are true; nor is it with any ``record_start``."""


class Sample(msgspec.Struct, frozen=True):
    """What was asked for."""

    share: float
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise ConfigurationError(
                f"--sample {self.share}: wanted a share above 0 and up to 1, 0.01 say"
            )


class Sampled(msgspec.Struct, frozen=True):
    """What became of it."""

    sample: Sample
    bytes_all: int = 0
    bytes_taken: int = 0
    file_count: int = 0
    files_taken: int = 0


class _File(msgspec.Struct, frozen=True):
    path: Path
    name: str
    """Below the site's folder."""
    size: int
    is_divisible: bool
    has_header: bool


def sample_sites(
    queries: Iterable[Query], folders: Mapping[str, Path], into: Path, sample: Sample
) -> Sampled:
    """Makes a folder for each site in ``into``, with what is taken of its files."""
    sources = {query.source_name: query for query in queries}
    for query in sources.values():
        path = query.program.source.path
        if Path(path).is_absolute():
            raise ConfigurationError(
                f"--sample: source {query.source_name}: wanted a path below the sites' folders, "
                f"got {path}; leave --sample away, or give the path relative to them"
            )
    total = Sampled(sample)
    for site, folder in folders.items():
        target = into / site
        target.mkdir(parents=True)
        total = _added(total, _sample_site(site, _files(sources, folder), target, sample))
    return total


def _added(one: Sampled, other: Sampled) -> Sampled:
    return Sampled(
        one.sample,
        one.bytes_all + other.bytes_all,
        one.bytes_taken + other.bytes_taken,
        one.file_count + other.file_count,
        one.files_taken + other.files_taken,
    )


def _files(sources: Mapping[str, Query], folder: Path) -> list[_File]:
    """All files that any source names; one that two name is cut only as both allow."""
    found: dict[Path, _File] = {}
    for query in sources.values():
        for one in found_below([folder], query.program.source.path):
            path = Path(one.path)
            before = found.get(path)
            found[path] = _File(
                path,
                str(path.relative_to(folder)),
                one.size,
                _is_divisible(path, query.program.source)
                and (before is None or before.is_divisible),
                _has_header(query.program.source) or (before is not None and before.has_header),
            )
    return [found[path] for path in sorted(found)]


def _is_divisible(path: Path, source: Source) -> bool:
    """By what is known to be safe, so that a format of tomorrow is not cut by mistake."""
    options = dict(source.options)
    is_over_several = any(options.get(name, "false").lower() == "true" for name in SEVERAL_LINES)
    is_over_several |= "record_start" in options
    is_of_lines = str(source.format) in LINES_FORMATS and not is_over_several
    return is_of_lines and not is_compressed(path.name) and _ends_lines_in_a_byte(path, source)


def _ends_lines_in_a_byte(path: Path, source: Source) -> bool:
    """Not so in UTF-16 and UTF-32, whether the source says it or the mark that the file begins
    with: without its mark, or between two bytes of a letter, a block of it is no text."""
    with path.open("rb") as file:
        encoding = encoding_of(file.read(MARK_BYTES_MAX), form_of(source))
    return len(encoding.line_feed) == 1


def _has_header(source: Source) -> bool:
    return dict(source.options).get("header", "false").lower() == "true"


def _sample_site(site: str, files: list[_File], target: Path, sample: Sample) -> Sampled:
    taken = {file.name: _take(site, file, target, sample) for file in files}
    held = [file for file in files if file.size]
    if held and not any(taken.values()):
        # A site that is silent in a sample would look as if it had nothing.
        first = min(held, key=lambda file: (not file.is_divisible, file.size))
        taken[first.name] = _take_some(first, target)
    return Sampled(
        sample,
        sum(file.size for file in files),
        sum(taken.values()),
        len(files),
        sum(count > 0 for count in taken.values()),
    )


def _take(site: str, file: _File, target: Path, sample: Sample) -> int:
    """How many bytes were taken."""
    draw = random.Random(f"{sample.seed}/{site}/{file.name}").random()
    if not file.is_divisible:
        return _take_whole(file, target) if draw < sample.share else 0
    every = BLOCK_BYTES / sample.share
    first = draw * every - every
    starts = (int(first + number * every) for number in range(int(file.size / every) + 2))
    return _take_blocks(file, target, (start for start in starts if start < file.size))


def _take_some(file: _File, target: Path) -> int:
    return _take_blocks(file, target, [0]) if file.is_divisible else _take_whole(file, target)


def _take_whole(file: _File, target: Path) -> int:
    """By a second name where that can be had, for nothing is written to it."""
    path = _made_place(file, target)
    try:
        os.link(file.path, path)
    except OSError:
        shutil.copyfile(file.path, path)
    return file.size


def _take_blocks(file: _File, target: Path, starts: Iterable[int]) -> int:
    """The lines that begin within a block from each of the starts, below the header."""
    count = 0
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(file.path.open("rb"))
        header = _header(source) if file.has_header else b""
        below = len(header)
        pieces = (_lines_from(source, max(start, below), start + BLOCK_BYTES) for start in starts)
        sink: IO[bytes] | None = None
        for piece in filter(None, pieces):
            if sink is None:
                sink = stack.enter_context(_made_place(file, target).open("wb"))
                sink.write(_ended(header) if header else b"")
            count += sink.write(_ended(piece))
    return count


def _header(source: IO[bytes]) -> bytes:
    """The first line with something in it, with the empty ones before it."""
    found = b""
    while line := source.readline():
        found += line
        if line.removeprefix(UTF8_MARK).strip(b"\r\n"):
            break
    return found


def _lines_from(source: IO[bytes], start: int, end: int) -> bytes:
    """The whole lines that begin in ``start`` … ``end``."""
    if end <= start:
        return b""
    if start:
        source.seek(start - 1)
        source.readline()
        start = source.tell()
        if start >= end:
            return b""
    source.seek(start)
    data = source.read(end - start)
    return data if data.endswith(b"\n") else data + source.readline()


def _ended(lines: bytes) -> bytes:
    return lines if lines.endswith(b"\n") else lines + b"\n"


def _made_place(file: _File, target: Path) -> Path:
    path = target / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
