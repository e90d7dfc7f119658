"""The list of mistakes: read from the files beside this one, and held to the present code."""

from __future__ import annotations

from pathlib import Path

import msgspec

HERE = Path(__file__).parent
PROJECT = HERE.parent


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One mistake. ``old`` stands exactly once in ``file``, so that it can't hit another place."""

    mistake: str
    """What somebody has got wrong, as a sentence."""
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """Of which at least one must fail."""

    @property
    def package(self) -> str:
        """Of the system, or the test bed's own."""
        parts = Path(self.file).parts
        return parts[2] if parts[0] == "src" else parts[0]

    def applied(self, text: str) -> str:
        count = text.count(self.old)
        if count != 1:
            raise ValueError(
                f"mutant {self.mistake!r}: wanted its old text once in {self.file}, found it "
                f"{count} times; bring the list up to the code"
            )
        return text.replace(self.old, self.new)


class _List(msgspec.Struct, forbid_unknown_fields=True):
    mutant: tuple[Mutant, ...]


def catalogue(directory: Path = HERE) -> list[Mutant]:
    """All mistakes, in the order of the files' names."""
    files = sorted(directory.glob("*.toml"))
    return [m for file in files for m in msgspec.toml.decode(file.read_bytes(), type=_List).mutant]
