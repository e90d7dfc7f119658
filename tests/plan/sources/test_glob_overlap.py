"""Which globs may name the same file: compared with all paths of small trees, one by one."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.plan.sources.glob_overlap import (
    is_within,
    literal_parts,
    matches,
    may_overlap,
    parts_of,
)

LETTERS = "ab.["
NAMES = ["".join(letters) for size in (1, 2) for letters in product(LETTERS, repeat=size)]
NAMES = [name for name in NAMES if name not in (".", "..")]
FOLDERS = ("a", "b", ".a", "[")
PATHS = [*NAMES, *(f"{folder}/{name}" for folder in FOLDERS for name in NAMES)]
PATHS += [f"a/{folder}/{name}" for folder in FOLDERS for name in NAMES[:8]]

signs = st.sampled_from([*LETTERS, "*", "?", "[ab]", "[!a]", "[!]", "[]a]", "[", "[a-b]", "**"])
part = st.one_of(st.just("**"), st.lists(signs, min_size=1, max_size=4).map("".join)).filter(
    lambda text: text not in (".", "..")
)
globs = st.lists(part, min_size=1, max_size=4).map("/".join)


def named(glob: str) -> set[str]:
    parts = parts_of(glob)
    return {path for path in PATHS if matches(path, parts)}


@settings(max_examples=600, deadline=None)
@given(globs, globs)
def test_globs_are_called_apart_or_within_only_where_they_are(one: str, other: str) -> None:
    of_one, of_other = named(one), named(other)
    if not may_overlap(parts_of(one), parts_of(other)):
        assert of_one & of_other == set()
    assert may_overlap(parts_of(one), parts_of(other)) == may_overlap(
        parts_of(other), parts_of(one)
    )
    if is_within(parts_of(one), parts_of(other)):
        assert of_one <= of_other
    assert is_within(parts_of(one), parts_of(one))
    assert may_overlap(parts_of(one), parts_of(one))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("globs")
    for path in PATHS:
        if path in FOLDERS or path in {f"a/{folder}" for folder in FOLDERS}:
            continue
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("x\n")
    return top


@settings(max_examples=300, deadline=None)
@given(globs)
def test_letters_say_what_a_listing_finds(tree: Path, glob: str) -> None:
    """The walk over folders is what reads; letters only foresee it."""
    from headwater.store.disk import Disk
    from headwater.store.follow.listing import Glob

    listing = Glob(tree, glob, disk=Disk()).look()
    listed = {str(Path(found.path).relative_to(tree)) for found in listing.matching.values()}
    letters = {path for path in named(glob) if (tree / path).is_file()}
    assert listed == letters


@pytest.mark.parametrize(
    ("one", "other", "is_shared"),
    [
        ("logs/*.log", "logs/web.log", True),
        ("logs/./web.log", "logs//web.log/", True),
        ("**/*.log", "logs/deep/web.log", True),
        ("**", "web.log", True),
        ("**", "logs/web.log", False),
        ("**/*", "logs/web.log", True),
        ("**/*", "logs/.hidden/web.log", False),
        ("**/web.*", "**/*.log", True),
        ("*/*/web.log", "logs/**/web.log", True),
        ("logs/*.csv", "logs/*.log", False),
        ("logs/web*.log", "logs/*api.log", True),
        ("logs/[a-m]*.log", "logs/web.log", False),
        ("logs/[!w]eb.log", "logs/web.log", False),
        ("logs/WEB.log", "logs/web.log", False),
        ("logs/w?b.log", "logs/web.log", True),
        ("logs/w??b.log", "logs/web.log", False),
        ("[!]", "?!]", True),
        ("[]", "?]", True),
        ("[", "?", True),
    ],
)
def test_paths_that_people_write(one: str, other: str, is_shared: bool) -> None:
    assert may_overlap(parts_of(one), parts_of(other)) is is_shared


@pytest.mark.parametrize(
    ("inner", "outer", "is_inside"),
    [
        ("logs/web.log", "logs/*.log", True),
        ("logs/2026-*.log", "logs/*.log", True),
        ("logs/a[bc]?.log", "logs/a??.log", True),
        ("logs/*.log", "logs/**/*.log", True),
        ("logs/**/a.log", "logs/**/*.log", True),
        ("logs/**/a.log", "logs/*/*.log", False),
        ("logs/*.log*", "logs/*.log", False),
        ("logs/.web.log", "logs/*.log", False),
        ("**/*.log", "logs/*.log", False),
        ("logs/*", "logs/*.log", False),
        ("logs/*", "logs/?", False),
        ("logs/.x/a.log", "logs/**/a.log", False),
    ],
)
def test_what_lies_within(inner: str, outer: str, is_inside: bool) -> None:
    assert is_within(parts_of(inner), parts_of(outer)) is is_inside


def test_signs_in_the_name_of_a_directory_are_letters() -> None:
    top = literal_parts("/srv/[x]*")
    assert matches("/srv/[x]*/a.log", (*top, "*.log"))
    assert not matches("/srv/xy/a.log", (*top, "*.log"))
    assert not may_overlap((*top, "*.log"), parts_of("/srv/x/a.log"))
