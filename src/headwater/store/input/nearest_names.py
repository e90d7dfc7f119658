"""What to say where a source's path matches no file: the path, and the names that are most like it.

Most such paths are a slip: ``sale*.csv`` for ``sales.csv``, a folder too many, another ending.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from headwater.shown_text import shown_line
from headwater.store.follow.listing import shown

ENTRIES_MAX = 2_000
"""Files that are compared with the path; where there are more, the first ones."""
NAMES_SHOWN = 3
NAME_CHARACTERS = 100


def no_file_text(directory: Path, pattern: str, *, names_files: bool = True) -> str:
    """Called where no file matches; ``names_files``: what else is there may be told."""
    text = f"no file matches {shown_line(pattern[:NAME_CHARACTERS])!r}"
    if not names_files:
        return text
    found = nearest_names(directory, pattern)
    if not found:
        return f"{text}, and there is no other file either"
    return f"{text}; nearest: {', '.join(found)}"


def nearest_names(directory: Path, pattern: str) -> tuple[str, ...]:
    """The files below the directory whose names are most like the pattern, by their names there."""
    wanted = SequenceMatcher(b=pattern.lower(), autojunk=False)

    def likeness(name: str) -> float:
        wanted.set_seq1(name.lower())
        return wanted.ratio()

    names = sorted(islice(_names(directory), ENTRIES_MAX), key=lambda name: (-likeness(name), name))
    return tuple(shown_line(name)[:NAME_CHARACTERS] for name in names[:NAMES_SHOWN])


def _names(directory: Path) -> Iterator[str]:
    """Hidden ones apart, which no pattern matches unless it names them."""
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield shown(os.path.relpath(os.path.join(folder, name), directory))
