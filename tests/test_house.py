"""The house keeps its order: nothing outgrows it unsaid, and every room says what it is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.rooms_contract import faults, said_in

HOUSE = Path(__file__).resolve().parents[1]
ROOMS = HOUSE / "src" / "headwater"
FILES_MAX = 16
"""Python files of one folder beside its ``__init__.py``: as many as one takes in at a glance."""
LINES_MAX = 400
"""Of one file; a longer one is named on the page of the house, with the reason."""
BY_HAND_MAX = 24
"""Tables outside of the source whose lines hold many short texts with signs in them, and would be
a line for each otherwise."""
DOCUMENT = HOUSE / "docs" / "architecture" / "house.md"


def _folders(top: Path) -> Iterator[Path]:
    yield top
    for below in sorted(top.rglob("*")):
        if below.is_dir() and below.name != "__pycache__":
            yield below


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]


PACKAGES = [folder for folder in _folders(ROOMS) if _files(folder)]


TOPS = sorted(top for top in HOUSE.iterdir() if top.is_dir() and top.name[0] not in "._")


@pytest.mark.parametrize("top", TOPS, ids=lambda one: one.name)
def test_no_folder_has_more_files_than_one_takes_in_at_a_glance(top: Path) -> None:
    """But those that a page names, with the reason; of the source and its tests there is none."""
    crowded = {
        f"{folder.relative_to(HOUSE)}/"
        for folder in _folders(top)
        if len(_files(folder)) > FILES_MAX
    }
    section = DOCUMENT.read_text("utf-8").partition("## Long folders")[2].partition("\n## ")[0]
    said = set(re.findall(r"`([\w/]+/)`", section))
    assert not {name for name in said if name.startswith(("src", "tests"))}
    named = {name for name in said if name.startswith(f"{top.name}/")}
    assert crowded == named, f"at most {FILES_MAX} files; make a room for what belongs together"


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda one: one.relative_to(ROOMS).as_posix())
def test_every_room_says_what_it_is_and_where_to_begin(folder: Path) -> None:
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    assert said, "what it is, what it may touch, which file to open first"
    names = set(re.findall(r"``(\w+)(?:\.\w+)*``", said))
    inside = {path.stem for path in folder.iterdir()}
    assert len(_files(folder)) < 2 or names & inside, f"of {sorted(inside)}, which comes first?"


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda one: one.relative_to(ROOMS).as_posix())
def test_every_room_says_what_it_may_touch(folder: Path) -> None:
    """That what it says of the rooms beside it is so, ``lint-imports`` holds."""
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    depth = len(folder.relative_to(ROOMS).parts)
    assert depth == 0 or "may touch" in " ".join(said.split()), "It may touch …"
    assert depth < 2 or said_in(said) is not None, "… what `edge` may, and no room beside it."


def test_a_room_that_touches_another_than_it_says_is_found() -> None:
    a, b, c = (f"headwater.x.{name}" for name in "abc")
    said = {a: frozenset({"b"}), b: frozenset[str](), c: None}
    assert list(faults(said | {c: frozenset()}, {(a, b): "one imports one"}, [])) == []
    found = list(faults(said, {(b, c): "b.q imports c.q", (c, b): "c.q imports b.q"}, []))
    assert [one.partition(": ")[0] for one in found] == [
        f"{b} does not say that it may touch c",
        f"{b} and {c} touch each other, and are not named in both_ways",
        f"{c} does not say that it may touch b",
        f"{a} says that it may touch b, and does not",
        f"{c} does not say what it may touch",
    ]
    named = list(faults({}, {}, [frozenset({a, b})]))
    assert named == [f"{a} and {b} touch each other no more: take them out of both_ways"]


def test_a_file_that_is_long_is_named_on_the_page_of_the_house_with_its_reason() -> None:
    said = DOCUMENT.read_text("utf-8")
    long_ones = {
        path.relative_to(ROOMS).as_posix(): text.count("\n")
        for path in sorted(ROOMS.rglob("*.py"))
        if (text := path.read_text("utf-8")).count("\n") > LINES_MAX
    }
    unsaid = {name: lines for name, lines in long_ones.items() if f"`{name}`" not in said}
    assert not unsaid, f"over {LINES_MAX} lines; two names would be clearer, or say why not"


def test_every_file_that_is_named_as_long_still_is() -> None:
    section = DOCUMENT.read_text("utf-8").partition("## Long files")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w/]+\.py)`", section)
    assert named
    for name in named:
        assert (ROOMS / name).read_text("utf-8").count("\n") > LINES_MAX, f"{name} is short now"


def test_the_formatter_lays_out_all_code_but_tables_of_awkward_texts() -> None:
    by_hand = {
        path.relative_to(HOUSE).as_posix(): count
        for path in sorted(HOUSE.rglob("*.py"))
        if ".venv" not in path.parts and (count := path.read_text("utf-8").count("  # fmt: "))
    }
    assert not [name for name in by_hand if name.startswith("src")]
    assert sum(by_hand.values()) <= BY_HAND_MAX, "short words: one text and split(); else as it is"
