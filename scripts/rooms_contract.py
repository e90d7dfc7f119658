"""A contract for import-linter: a room touches the rooms beside it that its first words name.

A room is a folder, and what lies in the same folder as it lies beside it. Its ``__init__.py`` says
in one sentence what it may touch: "It may touch what ``overlay`` may, and of the rooms beside it
``links`` and ``ways``", or "…, and no room beside it". This contract holds imports to that sentence
and the sentence to the imports, so it is never longer than it need be. Two rooms that touch each
other are named in the contract as well: a further pair is one room, or one of the two is above.

``lint-imports`` runs it; which layers a room may touch is another contract's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

SOURCE = Path(__file__).resolve().parents[1] / "src"
SENTENCE = re.compile(
    r"It may touch what ``(\w+)`` may, and (no room|of the rooms) beside it([^.]*)\."
)
NAME = re.compile(r"``(\w+)``")
Pair = tuple[str, str]
"""Who imports, and whom, by the names of their packages."""


def said_in(words: str) -> frozenset[str] | None:
    """The names of the rooms beside it that a room says it may touch; None: it does not say.

    >>> sorted(said_in("It may touch what ``edge`` may, and of the rooms beside it ``a``, ``b``."))
    ['a', 'b']
    >>> said_in("It may touch what ``edge`` may, and no room beside it.")
    frozenset()
    """
    found = SENTENCE.search(" ".join(words.split()))
    return None if found is None else frozenset(NAME.findall(found[3]))


def words_of(room: str) -> str:
    """What a package says of itself."""
    file = SOURCE.joinpath(*room.split("."), "__init__.py")
    return ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""


def faults(
    said: Mapping[str, frozenset[str] | None],
    imports: Mapping[Pair, str],
    both_ways: Collection[frozenset[str]],
) -> Iterator[str]:
    """What is not as it is said; ``imports`` has an example of each, for people."""
    for (room, other), example in sorted(imports.items()):
        if _last(other) not in (said.get(room) or ()):
            yield f"{room} does not say that it may touch {_last(other)}: {example}"
        if (other, room) in imports and room < other and {room, other} not in both_ways:
            yield f"{room} and {other} touch each other, and are not named in both_ways: {example}"
    for room, names in sorted(said.items()):
        if names is None:
            yield f"{room} does not say what it may touch"
        for name in sorted(names or ()):
            if (room, f"{_above(room)}.{name}") not in imports:
                yield f"{room} says that it may touch {name}, and does not: take it out"
    for pair in sorted(map(sorted, both_ways)):
        first, second = pair
        if (first, second) not in imports or (second, first) not in imports:
            yield f"{first} and {second} touch each other no more: take them out of both_ways"


def _above(room: str) -> str:
    return room.rpartition(".")[0]


def _last(room: str) -> str:
    return room.rpartition(".")[2]


class RoomsContract(Contract):  # type: ignore[misc]
    """``both_ways``: pairs of rooms that touch each other, as ``overlay: links, ways``."""

    both_ways = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        rooms = [one for one in graph.modules if one.count(".") > 1 and graph.find_children(one)]
        imports: dict[Pair, str] = {}
        for module in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                pair = _pair(module, imported)
                if pair is not None:
                    imports.setdefault(pair, f"{module} imports {imported}")
        both_ways = [_named(line) for line in self.both_ways]
        said = {room: said_in(words_of(room)) for room in rooms}
        found = list(faults(said, imports, both_ways))
        return ContractCheck(kept=not found, metadata={"faults": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for fault in check.metadata["faults"]:
            output.print_error(fault)


def _pair(module: str, imported: str) -> Pair | None:
    """The rooms beside each other that the two are in; None: they are in none, or in one."""
    ours, theirs = module.split("."), imported.split(".")
    same = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), 0)
    if same < 2 or min(len(ours), len(theirs)) <= same:
        return None
    rooms = [".".join(one[: same + 1]) for one in (ours, theirs)]
    is_room = all(SOURCE.joinpath(*room.split(".")).is_dir() for room in rooms)
    return (rooms[0], rooms[1]) if is_room else None


def _named(line: str) -> frozenset[str]:
    above, _, names = line.partition(":")
    return frozenset(f"headwater.{above.strip()}.{one.strip()}" for one in names.split(","))
