"""From paths of files to the CREATE SOURCE that reads them, and the question to ask first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from headwater.errors import ConfigurationError, QueryRefused
from headwater.infer.first_question import write_question
from headwater.infer.guess import NoGuess, SourceGuess
from headwater.infer.infer_source import infer_source
from headwater.infer.path_glob import glob_of
from headwater.infer.sample import Sample
from headwater.infer.write_source import doubt_lines, source_name, write_source
from headwater.local.look.columnar_guess import guess_columnar
from headwater.local.look.sampling import (
    FoundFile,
    columnar_format,
    find_files,
    read_samples,
    some_of,
)
from headwater.plan.sources.compressed import expanded_suffix
from headwater.sql.compile import parse_script

UTF8 = "utf-8"
ENCODINGS_SAID = 3


class Inferred(msgspec.Struct, frozen=True):
    name: str
    """Of the source."""
    statement: str
    """CREATE SOURCE, without a semicolon."""
    question: str
    """CREATE STREAM over it, without a semicolon."""
    guess: SourceGuess
    files: tuple[FoundFile, ...]
    """All that the source stands for, as far as they were listed."""
    opened: tuple[FoundFile, ...]
    empty: int = 0
    """Files without a byte, none of which was opened."""
    refused: str = ""
    """Why the statement can't be run as it is; empty: it can."""

    @property
    def looked_at(self) -> int:
        return len(self.opened)

    @property
    def comments(self) -> list[str]:
        seen = f"{len(self.files)} files" if len(self.files) != 1 else "1 file"
        if self.empty:
            seen += f", of which {self.empty} {'is' if self.empty == 1 else 'are'} empty"
        said = [f"-- Inferred from {self.looked_at} of {seen}.", *doubt_lines(self.guess)]
        return [*said, f"-- Can't be run as it is: {self.refused}"] if self.refused else said


def infer_files(paths: Sequence[Path], *, name: str | None = None) -> Inferred:
    """Raises ``ConfigurationError``, with what was looked for, where no source can be written."""
    alike, doubts = _alike(find_files(paths))
    full = [file for file in alike if file.path.stat().st_size]
    opened = some_of(full or alike)
    columnar = columnar_format(opened[0].path)
    if columnar:
        guess = guess_columnar([file.path for file in opened], columnar)
    else:
        samples = read_samples(opened)
        guess = infer_source(samples)
        if isinstance(guess, SourceGuess):
            guess = _encoded(guess, samples)
    if isinstance(guess, NoGuess):
        raise ConfigurationError(f"{_places(paths)}: no source could be inferred: {guess.reason}")
    guess = msgspec.structs.replace(guess, doubts=(*doubts, *guess.doubts))
    path = glob_of([file.below for file in alike])
    chosen = name or source_name(path)
    statement = write_source(guess, name=chosen, path=path)
    return Inferred(
        name=chosen,
        statement=statement,
        question=write_question(guess, source=chosen),
        guess=guess,
        files=tuple(alike),
        opened=tuple(opened),
        empty=len(alike) - len(full),
        refused=_refusal(statement),
    )


def _refusal(statement: str) -> str:
    """In one line; what a column is called, say, may be nothing that a statement can name."""
    try:
        parse_script(statement)
    except QueryRefused as error:
        return str(error).partition("\n")[0]
    return ""


def _alike(files: Sequence[FoundFile]) -> tuple[list[FoundFile], list[str]]:
    """Those whose names end as most do; a source has one format."""
    kinds = Counter(_kind(file) for file in files)
    kind, count = kinds.most_common(1)[0]
    alike = [file for file in files if _kind(file) == kind]
    if len(kinds) == 1:
        return alike, []
    others = ", ".join(
        f"{kinds[one]} {one or 'without one'}" for one in sorted(kinds) if one != kind
    )
    return alike, [
        f"{count} of {len(files)} files end in {kind or 'nothing'}; by their endings others are "
        f"left alone: {others}"
    ]


def _kind(file: FoundFile) -> str:
    """The ending without that of a compression, and without a number that rotation appended."""
    name = file.path.name.lower()
    name = name.removesuffix(expanded_suffix(name) or ".xz")
    endings = [part for part in name.split(".")[1:] if part.strip("-0123456789")]
    return f".{endings[-1]}" if endings else ""


def _encoded(guess: SourceGuess, samples: Sequence[Sample]) -> SourceGuess:
    """Bytes that are UTF-8 beyond ASCII are hardly anything else, while in windows-1252 every byte
    is something: where files differ, lines that are no UTF-8 are malformed and said, and no name is
    read as other letters."""
    found = Counter(sample.encoding for sample in samples if sample.lines)
    if set(found) <= {UTF8}:
        return guess
    is_sure = any(sample.encoding == UTF8 and not _is_ascii(sample) for sample in samples)
    encoding = UTF8 if is_sure else max(found, key=lambda one: (one != UTF8, found[one]))
    doubts = list(guess.doubts)
    if len(found) > 1:
        counts = ", ".join(f"{count} {name}" for name, count in found.most_common(ENCODINGS_SAID))
        doubts.append(
            f"files differ in their encoding ({counts}): read as {encoding}, in which lines of the "
            "others may be malformed; give those a source of their own, or write them anew"
        )
    elif encoding == "windows-1252":
        doubts.append("bytes are not UTF-8; taken for windows-1252, which every byte can be")
    options = guess.options if encoding == UTF8 else (*guess.options, ("encoding", encoding))
    return msgspec.structs.replace(guess, options=options, doubts=tuple(doubts))


def _is_ascii(sample: Sample) -> bool:
    return all(map(str.isascii, sample.lines))


def _places(paths: Sequence[Path]) -> str:
    first = ", ".join(map(str, paths[:3]))
    return first if len(paths) <= 3 else f"{first} and {len(paths) - 3} more"
