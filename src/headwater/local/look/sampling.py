"""Looking into files: which there are, and the first lines of some of them.

Everything has a bound: how many files are listed, how many are opened, how much of each is
expanded. Compressed files are expanded by their names, as the readers do.
"""

from __future__ import annotations

import bz2
import codecs
import glob
import gzip
import lzma
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

import msgspec
import zstandard

from headwater.errors import ConfigurationError
from headwater.infer.sample import FILE_BYTES_MAX, FILE_LINES_MAX, FILES_MAX, Sample

LISTED_MAX = 10_000
"""Files below the given paths that are looked at by name; more are not listed."""
NUL_SHARE_MAX = 0.05
"""Of the bytes of a text; one with more is in two bytes a letter, or no text."""
MAGICS = {b"PAR1": "parquet", b"ORC": "orc", b"Obj\x01": "avro"}
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


class FoundFile(msgspec.Struct, frozen=True):
    path: Path
    below: str
    """Its path below the folder of its site."""
    site: str
    """The name of that folder."""


def find_files(paths: Sequence[Path]) -> list[FoundFile]:
    """The files that these paths stand for: a file, a glob, or a folder of sites or of files.

    A folder in which only folders lie is taken for one with a folder for each site, as ``try``
    takes it.
    """
    found: list[FoundFile] = []
    for given in paths:
        named = [Path(one) for one in sorted(glob.glob(str(given)))] if _is_glob(given) else [given]
        for path in named:
            if not path.exists():
                raise ConfigurationError(
                    f"{path}: there is no such file or folder; name one that exists"
                )
            found += _of_folder(path) if path.is_dir() else [_alone(path)]
    if not found:
        raise ConfigurationError(
            f"{', '.join(map(str, paths))}: no files there; wanted some to read"
        )
    return found[:LISTED_MAX]


def read_samples(files: Sequence[FoundFile]) -> tuple[Sample, ...]:
    """Of some of the files, the first of each site before the second of any."""
    return tuple(read_sample(file) for file in some_of(files))


def some_of(files: Sequence[FoundFile], *, files_max: int = FILES_MAX) -> list[FoundFile]:
    by_site: dict[str, list[FoundFile]] = {}
    for file in files:
        by_site.setdefault(file.site, []).append(file)
    chosen: list[FoundFile] = []
    for turn in range(files_max):
        for of_site in by_site.values():
            if turn < len(of_site) and len(chosen) < files_max:
                chosen.append(of_site[turn])
    return chosen


def read_sample(file: FoundFile) -> Sample:
    data = read_start(file.path)
    encoding = find_encoding(data)
    if not encoding:
        return Sample(file.below, (), "", is_binary=True)
    text = data.decode(encoding, errors="replace").removeprefix("\ufeff")
    is_truncated = len(data) >= FILE_BYTES_MAX
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    whole = lines[:-1] if is_truncated and len(lines) > 1 else lines
    kept = tuple(line for line in whole if line.strip())[:FILE_LINES_MAX]
    year = datetime.fromtimestamp(file.path.stat().st_mtime, UTC).year
    return Sample(file.below, kept, encoding, year)


def read_start(path: Path, *, bytes_max: int = FILE_BYTES_MAX) -> bytes:
    """The first bytes of what the file holds when it is expanded."""
    try:
        with _opened(path) as opened:
            return opened.read(bytes_max)
    except (OSError, EOFError, lzma.LZMAError, zstandard.ZstdError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(f"{path}: can't be read: {reason}") from error


def columnar_format(path: Path) -> str:
    """``parquet``, ``orc`` or ``avro``, by the first bytes; empty: none of them."""
    with path.open("rb") as opened:
        start = opened.read(4)
    return next((name for magic, name in MAGICS.items() if start.startswith(magic)), "")


def find_encoding(data: bytes) -> str:
    """Empty where it is no text.

    >>> find_encoding("é".encode()), find_encoding("é".encode("latin-1")), find_encoding(b"")
    ('utf-8', 'windows-1252', 'utf-8')
    """
    for bom, name in _BOMS:
        if data.startswith(bom):
            return name
    if data.count(0) > NUL_SHARE_MAX * len(data):
        return _two_bytes(data)
    is_truncated = len(data) >= FILE_BYTES_MAX
    try:
        # Of a sample that is cut the last letter may not be whole; of a whole file it must be.
        codecs.getincrementaldecoder("utf-8")().decode(data, not is_truncated)
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def _two_bytes(data: bytes) -> str:
    """Of letters of Europe every second byte is 0, and the others hardly ever."""
    even, odd = data[0::2].count(0), data[1::2].count(0)
    if max(even, odd) < len(data) * 7 // 20 or min(even, odd) > len(data) // 50:
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


def _is_glob(path: Path) -> bool:
    return not path.exists() and any(symbol in str(path) for symbol in "*?[")


def _of_folder(folder: Path) -> list[FoundFile]:
    entries = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    has_files = any(path.is_file() for path in entries)
    sites = [folder] if has_files else [path for path in entries if path.is_dir()]
    return [
        FoundFile(path, str(path.relative_to(site)), site.name)
        for site in sites
        for path in _files_below(site)
    ]


def _files_below(folder: Path) -> Iterable[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        path
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ][:LISTED_MAX]


def _alone(path: Path) -> FoundFile:
    return FoundFile(path, path.name, path.resolve().parent.name)


def _opened(path: Path) -> IO[bytes]:
    match path.suffix.lower():
        case ".gz":
            return cast(IO[bytes], gzip.open(path, "rb"))
        case ".bz2":
            return cast(IO[bytes], bz2.open(path, "rb"))
        case ".xz":
            return cast(IO[bytes], lzma.open(path, "rb"))
        case ".zst":
            return cast(IO[bytes], zstandard.open(path, "rb"))
    return path.open("rb")
