"""The recipes are followed: in a copy of the project, step by step, and with one step forgotten.

A step is a numbered item of ``CONTRIBUTING.md``. The first path in it is the file that it touches.
Its blocks are applied: ``python`` is a new file, ``diff`` a change of one, ``sh`` what is typed,
but for ``make``, which takes too long here. A line that ends with ``…`` stands for all of it. What
is named after *Forgotten* must pass when all steps are done, and fail without this one.

Of a recipe in ``THERE`` the example is part of the project. Its blocks are then what a step
changed, and a step is left out by taking that back.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

HOUSE = Path(__file__).resolve().parents[1]
PAGE = (HOUSE / "CONTRIBUTING.md").read_text("utf-8")
COPIED = ("src", "tests", "fuzz", "experiments", "docs/evidence", "docs/guide", "pyproject.toml")
LEFT = shutil.ignore_patterns("recorded", "*.png", "*.pyc.*")
"""The last are caches that another worker is writing: they are gone when they are copied."""
RECORDED = "tests/recorded"
STEPS_MAX = 10
SECONDS_MAX = 240
LAWS = "tests/algebra/aggregates/test_laws.py"
THERE = ("aggregate",)
"""Recipes whose example need not be added."""
FAILED = 1
NOT_COLLECTED = (2, 4)
"""What pytest returns where a file can't even be read."""


class Step(msgspec.Struct, frozen=True):
    path: str
    blocks: tuple[tuple[str, str], ...]
    """Kind and text."""
    test: str
    """Which fails without it; empty: none does."""

    @property
    def is_typed_later(self) -> bool:
        return any(kind == "sh" and text.startswith("make ") for kind, text in self.blocks)


class Recipe(msgspec.Struct, frozen=True):
    name: str
    file_count: int
    steps: tuple[Step, ...]
    last: tuple[str, ...]
    """Tests that are named after all steps."""

    @property
    def is_there(self) -> bool:
        return self.name in THERE

    @property
    def tests(self) -> list[str]:
        """Those that pass for whoever has followed it; the laws need Spark."""
        own = {step.path for step in self.steps if Path(step.path).name.startswith("test_")}
        named = {step.test for step in self.steps if step.test and not step.is_typed_later}
        return sorted((own | named | set(self.last)) - {LAWS})


def recipes() -> list[Recipe]:
    section = PAGE.partition("\n## Recipes\n")[2]
    _, *parts = re.split(r"^### An? (.+): (\d+) files$", section, flags=re.M)
    return [
        Recipe(name, int(count), tuple(steps_of(text)), last_of(text))
        for name, count, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]


def steps_of(text: str) -> Iterable[Step]:
    for item in re.split(r"^\d+\. ", text, flags=re.M)[1:]:
        found = re.findall(r"^   ```(\w+)\n(.*?)^   ```$", item, re.M | re.S)
        blocks = tuple((kind, textwrap.dedent(block)) for kind, block in found)
        path, test = re.match("`(.+?)`", item), re.search(r"Forgotten: `(.+?)`", item)
        assert path, f"a step begins with the file that it touches: {item[:60]}"
        yield Step(path[1], blocks, test[1] if test else "")


def last_of(text: str) -> tuple[str, ...]:
    after = "\n".join(re.findall(r"^[^ \d\n].*$", text, re.M))
    return tuple(re.findall(r"`(tests/\S*test_\w+\.py)`", after))


RECIPES = recipes()
FORGOTTEN = [(one, step) for one in RECIPES for step in one.steps if step.test]


def name_of(value: Recipe | Step) -> str:
    return value.name if isinstance(value, Recipe) else value.path.replace("/", "-")


class Copy:
    """Of the project, to be changed. Files are linked: most of them never are."""

    def __init__(self, place: Path) -> None:
        self._place = place
        for name in COPIED:
            if (HOUSE / name).is_dir():
                shutil.copytree(HOUSE / name, place / name, ignore=LEFT, copy_function=_link)
            else:
                _link(str(HOUSE / name), str(place / name))

    def follow(self, steps: Iterable[Step]) -> None:
        for step in steps:
            for kind, text in step.blocks:
                if kind == "sh":
                    self._type(text)
                else:
                    self._write(step.path, text, is_new=kind == "python")

    def take_back(self, steps: Iterable[Step]) -> None:
        for step in steps:
            for kind, text in reversed(step.blocks):
                assert kind == "diff", f"{step.path}: {kind} can't be taken back"
                self._write(step.path, taken_back(text), is_new=False)

    def read(self, path: str) -> str:
        return (self._place / path).read_text("utf-8")

    def _write(self, path: str, text: str, *, is_new: bool) -> None:
        file = self._place / path
        assert file.exists() != is_new, f"{path}: the recipe takes it for {'new' * is_new or 'old'}"
        content = text if is_new else changed(file.read_text("utf-8"), text)
        file.unlink(missing_ok=True)
        file.write_text(content, "utf-8")

    def _type(self, command: str) -> None:
        if not command.startswith("make "):
            program, *arguments = command.split()
            assert program == "python", f"what is typed is python or make, not {program}"
            done = self._run(arguments)
            assert done.returncode == 0, done.stdout + done.stderr

    def test(self, tests: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
        if any(test.startswith(RECORDED) for test in tests):
            shutil.copytree(HOUSE / RECORDED, self._place / RECORDED, copy_function=_link)
        return self._run(["-m", "pytest", "-x", "-p", "no:cacheprovider", *options, *tests])

    def _run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join((str(self._place / "src"), str(self._place)))
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self._place,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def changed(content: str, diff: str) -> str:
    """The content, in which the lines that the diff has in common with it stand once."""
    lines, kept = content.split("\n"), [line for line in diff.splitlines() if line[:1] != "+"]
    old = [line[1:] for line in kept]
    places = [n for n in range(len(lines)) if _fits(old, lines[n : n + len(old)])]
    assert len(places) == 1, f"wanted these lines once, found {len(places)} times: {old}"
    (place,) = places
    taken, new, rest = iter(lines[place : place + len(old)]), [], ""
    for line in diff.splitlines():
        if line[:1] == "+":
            new.append(line[1:].removesuffix("…") + rest if line.endswith("…") else line[1:])
            continue
        whole = next(taken)
        rest = whole.removeprefix(line[1:].removesuffix("…"))
        new += [] if line[:1] == "-" else [whole]
    return "\n".join([*lines[:place], *new, *lines[place + len(old) :]])


def taken_back(diff: str) -> str:
    """The change that undoes it."""
    found: list[str] = []
    added: list[str] = []
    for line in diff.splitlines():
        if line[:1] == "-":
            added.append(f"+{line[1:]}")
            continue
        if line[:1] != "+":
            found, added = found + added, []
        found.append(f"-{line[1:]}" if line[:1] == "+" else line)
    return "\n".join([*found, *added, ""])


def _fits(wanted: Sequence[str], found: Sequence[str]) -> bool:
    return len(found) == len(wanted) and all(
        line.startswith(said[:-1]) if said.endswith("…") else line == said
        for said, line in zip(wanted, found, strict=True)
    )


def test_there_is_a_recipe_for_what_is_added_often() -> None:
    assert [one.name for one in RECIPES] == ["aggregate", "effect", "message", "fault", "figure"]


@pytest.mark.parametrize("recipe", RECIPES, ids=name_of)
def test_a_recipe_is_short_and_says_how_many_files_it_touches(recipe: Recipe) -> None:
    assert len(recipe.steps) <= STEPS_MAX
    assert all(step.blocks for step in recipe.steps)
    touched = {step.path for step in recipe.steps if not step.is_typed_later}
    assert len(touched) == recipe.file_count


@pytest.mark.parametrize("recipe", [one for one in RECIPES if one.is_there], ids=name_of)
def test_what_is_there_is_what_its_recipe_makes(recipe: Recipe, tmp_path: Path) -> None:
    """That its tests pass is shown by themselves, and that Spark gives the same by the laws."""
    copy = Copy(tmp_path)
    copy.take_back(recipe.steps)
    copy.follow(recipe.steps)
    for step in recipe.steps:
        assert copy.read(step.path) == (HOUSE / step.path).read_text("utf-8")
    assert all((HOUSE / test.partition("::")[0]).is_file() for test in (*recipe.tests, LAWS))


@pytest.mark.parametrize("recipe", [one for one in RECIPES if not one.is_there], ids=name_of)
def test_whoever_follows_a_recipe_is_done(recipe: Recipe, tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    copy.follow(recipe.steps)
    done = copy.test(recipe.tests, "-m", "not spark")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("recipe", "step"), FORGOTTEN, ids=name_of)
def test_a_step_that_is_forgotten_is_noticed(recipe: Recipe, step: Step, tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    if recipe.is_there:
        copy.take_back([step])
    else:
        copy.follow(one for one in recipe.steps if one is not step)
    done = copy.test([step.test], "-m", "not spark")
    assert done.returncode in (FAILED, *NOT_COLLECTED), done.stdout + done.stderr
    assert "found no" not in done.stdout + done.stderr, "there is no such test"


@pytest.mark.parametrize(
    ("diff", "becomes"),
    [(" b\n+x\n", "a\nb\nx\nc d\n"), ("-c …\n+e …\n", "a\nb\ne d\n"), (" a\n-b\n", "a\nc d\n")],
)
def test_a_change_is_made_where_its_lines_are(diff: str, becomes: str) -> None:
    assert changed("a\nb\nc d\n", diff) == becomes
    assert changed(becomes, taken_back(diff)) == "a\nb\nc d\n"


@pytest.mark.parametrize(("content", "times"), [("a\nb\na\n", 2), ("b\n", 0)])
def test_a_change_whose_place_is_not_clear_is_refused(content: str, times: int) -> None:
    with pytest.raises(AssertionError, match=f"found {times} times"):
        changed(content, " a\n+x\n")
