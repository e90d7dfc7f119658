"""One walk, one meaning of a path: for followers, finite inputs and the reference alike."""

from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path

import pytest
from store_kit import CubeUser

from headwater.errors import ConfigurationError
from headwater.plan.sources.glob_overlap import matches, parts_of
from headwater.store.disk import Disk
from headwater.store.follow.directories import LEADS_OUT, Reach
from headwater.store.follow.follow import LogFollower
from headwater.store.follow.listing import Glob
from headwater.store.follow.poll import Start
from headwater.store.input.finite import FiniteInput
from headwater.store.input.site_files import empty_count, look_below, paths_below

READ = ("a.csv", "b.csv.gz", "c.csv.bz2", "d.csv.zst", "e.csv.xz")
LEFT_ALONE = ("f.csv.zip", "g.csv.deflate", "h.csv.lz4", "i.csv.snappy", "j.csv.Z", "k.csv.7z")
TREE = (
    "a.csv",
    "b.csv",
    "ab.csv",
    "a.log",
    ".hidden.csv",
    "[x].csv",
    "one/a.csv",
    "one/b.log",
    "one/two/a.csv",
    "one/two/three/a.csv",
    "two/a.csv",
    ".dot/a.csv",
    "one/.dot/a.csv",
    "a-b/c d.csv",
    "ünï/ö.csv",
)
GLOBS = (
    "*.csv", "**/*.csv", "**/a.csv", "one/**/*.csv", "**/two/*.csv", "*/*.csv", "*/a.csv", "a.csv",
    "?.csv", "[ab].csv", "[!a].csv", "a*.csv", "**", "*", "one/**", "**/**/*.csv", "*/**/*.csv",
    "**/t*/**/a.csv", ".hidden.csv", ".*/*.csv", "./one//*.csv", "[[]x].csv", "none/*.csv", "o*e/*",
    "a-b/c d.csv", "*/ö.csv", "on?/two/*",
)  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree")
    for number, name in enumerate(TREE):
        path = top / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line {number} of its own\n")
    (top / "elsewhere").mkdir()
    (top / "elsewhere" / "far.csv").write_text("not of this site\n")
    (top / "site" / "out.csv").symlink_to(top / "elsewhere" / "far.csv")
    (top / "site" / "far").symlink_to(top / "elsewhere")
    (top / "site" / "one" / "up").symlink_to(top / "site")
    (top / "site" / "same.csv").symlink_to("two/a.csv")
    return top / "site"


def read_by(user: CubeUser, source: str) -> list[str]:
    texts = [chunk.path.read_text() for chunk in user.cube.cuts.pending(source)]
    return sorted(line for text in texts for line in text.splitlines())


@pytest.mark.parametrize("glob", GLOBS)
def test_follower_finite_input_and_reference_read_the_same_files(
    tree: Path, user: CubeUser, glob: str
) -> None:
    cuts, reach = user.cube.cuts, Reach([tree])
    look = Glob(tree, glob, disk=cuts.disk, reach=reach)
    follower = LogFollower(cuts, look, source="log", start=Start.BEGINNING)
    follower.poll(now_s=1.0)
    FiniteInput(cuts, look, source="files").poll(now_s=1.0)
    follower.close()
    reference = sorted(path.read_text().rstrip("\n") for path in paths_below([tree], glob))
    assert read_by(user, "log") == read_by(user, "files") == reference


@pytest.mark.parametrize("glob", GLOBS)
def test_what_is_read_is_what_the_path_says_by_its_letters(tree: Path, glob: str) -> None:
    """Whatever links there are: each file counts once, by one of its names."""
    parts = parts_of(glob)
    named = {os.stat(tree / name).st_ino for name in TREE if matches(name, parts)}
    found = {os.stat(path).st_ino for path in paths_below([tree], glob)}
    links = {os.stat(tree / "two/a.csv").st_ino} | {
        os.stat(tree / name).st_ino for name in TREE if glob.startswith(("*/", "**", "on", "o*"))
    }
    assert named <= found <= named | links


@pytest.mark.parametrize("name", ["out.csv", "far/*.csv", "*/far.csv", "far/far.csv"])
def test_a_link_out_of_the_folder_is_not_read_and_named(tree: Path, name: str) -> None:
    look = look_below(tree, name)
    assert not look.matching
    assert LEADS_OUT in look.refused.values()
    assert look.is_whole, "it is left alone, not out of sight"


def test_a_link_may_lead_to_what_is_open(tree: Path) -> None:
    reach = Reach([tree, tree.parent / "elsewhere"])
    look = Glob(tree, "far/*.csv", disk=Disk(), reach=reach).look()
    assert [Path(one.path).name for one in look.matching.values()] == ["far.csv"]


def test_a_folder_whose_name_begins_like_the_site_is_out_of_reach(tmp_path: Path) -> None:
    for name in ("site", "site2"):
        (tmp_path / name).mkdir()
    assert Reach([tmp_path / "site"]).has(str(tmp_path / "site"))
    assert not Reach([tmp_path / "site"]).has(str(tmp_path / "site2"))
    assert Reach(["/"]).has(str(tmp_path))


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/*", "../other/*.csv"])
def test_a_path_that_is_not_below_the_folder_is_refused(tree: Path, path: str) -> None:
    with pytest.raises(ConfigurationError, match="path"):
        look_below(tree, path)


@pytest.mark.parametrize("is_absolute", [False, True])
def test_compressed_files_that_nobody_can_expand_are_left_alone_and_named(
    tmp_path: Path, is_absolute: bool
) -> None:
    """As text they are garbage, and some make Spark reserve memory until its JVM ends."""
    for name in READ + LEFT_ALONE:
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "l.csv").mkdir()
    pattern = f"{tmp_path}/*.csv*" if is_absolute else "*.csv*"
    assert [path.name for path in paths_below([tmp_path], pattern)] == list(READ)
    refused = [Path(path).name for path in look_below(tmp_path, pattern).refused]
    assert sorted(refused) == [*LEFT_ALONE, "l.csv"]


def test_files_with_nothing_in_them_are_counted_whether_or_not_they_are_compressed(
    tmp_path: Path,
) -> None:
    for name, data in {
        "a.csv": b"1\n",
        "b.csv": b"",
        "c.csv.gz": gzip.compress(b""),
        "d.csv.gz": gzip.compress(b"1\n"),
        "e.csv.xz": lzma.compress(b""),
        "f.csv.gz": b"no gzip",
    }.items():
        (tmp_path / name).write_bytes(data)
    assert empty_count(look_below(tmp_path, "*").matching.values()) == 3
