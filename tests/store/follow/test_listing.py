"""Which files a glob names, and what a listing does not know."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from store_kit import FaultyDisk

from headwater.store.disk import Disk
from headwater.store.follow import directories, listing
from headwater.store.follow.listing import Glob


class OneBadPlace(Disk):
    """A directory or a file that can't be looked at."""

    def __init__(self, bad: Path, code: int = errno.EIO) -> None:
        self.bad = bad
        self.code = code

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        if directory == self.bad:
            raise OSError(self.code, os.strerror(self.code), str(directory))
        return super().scan(directory)

    def stat(self, path: Path | str) -> os.stat_result:
        if Path(path) == self.bad and not self.bad.is_dir():
            raise OSError(self.code, os.strerror(self.code), str(path))
        return super().stat(path)


def make(top: Path, *names: str) -> None:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")


def matching(top: Path, pattern: str, disk: Disk | None = None) -> list[str]:
    found = Glob(top, pattern, disk=disk or Disk()).look().matching.values()
    return sorted(str(Path(one.path).relative_to(top)) for one in found)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("*.log", ["a.log"]),
        ("*/*.log", ["one/b.log", "two/c.log"]),
        ("o*/*.log", ["one/b.log"]),
        ("[!o]??/c.log", ["two/c.log"]),
        ("one/deep/*", ["one/deep/d.log"]),
        ("*/deep/d.log", ["one/deep/d.log"]),
        ("**/*.log", ["a.log", "one/b.log", "one/deep/d.log", "two/c.log"]),
        ("one/**/*.log", ["one/b.log", "one/deep/d.log"]),
        ("**/deep/*.log", ["one/deep/d.log"]),
        (".hidden/*.log", [".hidden/e.log"]),
        ("one*deep/*.log", []),
    ],
)
def test_a_pattern_stands_for_one_folder_in_each_part(
    tmp_path: Path, pattern: str, wanted: list[str]
) -> None:
    make(tmp_path, "a.log", "one/b.log", "two/c.log", "one/deep/d.log", ".hidden/e.log")
    assert matching(tmp_path, pattern) == wanted


def test_links_to_directories_are_followed_and_may_lead_in_a_circle(tmp_path: Path) -> None:
    make(tmp_path, "real/a.log", "far/b.log")
    (tmp_path / "real" / "up").symlink_to(tmp_path)
    (tmp_path / "real" / "far").symlink_to(tmp_path / "far")
    (tmp_path / "round").symlink_to("round")
    assert matching(tmp_path, "real/*/b.log") == ["real/far/b.log"]
    assert matching(tmp_path, "**/*.log") == ["far/b.log", "real/a.log"]


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize(("pattern", "bad"), [("*.log", "."), ("*/*.log", "."), ("*/*.log", "one")])
def test_what_can_not_be_listed_is_named_with_the_reason(
    tmp_path: Path, pattern: str, bad: str, code: int
) -> None:
    make(tmp_path, "a.log", "one/b.log", "two/c.log")
    disk = OneBadPlace(tmp_path / bad, code)
    look = Glob(tmp_path, pattern, disk=disk).look()
    assert look.unlisted == {str(tmp_path / bad): os.strerror(code)}
    assert look.refused == look.unlisted
    assert not look.is_whole


def test_a_file_that_can_not_be_looked_at_makes_its_directory_partial(tmp_path: Path) -> None:
    make(tmp_path, "a.log", "b.log")
    look = Glob(tmp_path, "*.log", disk=OneBadPlace(tmp_path / "a.log")).look()
    assert [Path(one.path).name for one in look.matching.values()] == ["b.log"]
    assert look.partial == {str(tmp_path)}
    assert str(tmp_path / "a.log") in look.refused


def test_a_base_that_is_not_there_is_unlisted_but_a_deeper_folder_is_no_news(
    tmp_path: Path,
) -> None:
    make(tmp_path, "one/logs/a.log", "two/b")
    assert Glob(tmp_path, "*/logs/*.log", disk=Disk()).look().is_whole
    assert not Glob(tmp_path, "three/*.log", disk=Disk()).look().is_whole


def test_more_files_or_directories_than_are_followed_are_said_and_never_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, *(f"{n}/{n}.log" for n in range(5)))
    monkeypatch.setattr(listing, "FILES_MAX", 3)
    look = Glob(tmp_path, "*/*.log", disk=Disk()).look()
    assert (len(look.matching), len(look.refused), look.is_whole) == (3, 2, False)
    monkeypatch.setattr(directories, "DIRECTORIES_MAX", 3)
    look = Glob(tmp_path, "*/*.log", disk=Disk()).look()
    assert (len(look.unlisted), look.is_whole) == (3, False)


@pytest.mark.parametrize(
    "name", ["a.log.deflate", "a.log.zip", "a.log.lz4", "a.log.snappy", "a.LOG.Z"]
)
def test_a_compressed_file_that_spark_can_not_expand_is_left_alone_and_named(
    tmp_path: Path, name: str
) -> None:
    make(tmp_path, name, "b.log.gz", "c.log.BZ2", "d.log.zst", "e.log.xz")
    look = Glob(tmp_path, "*", disk=FaultyDisk()).look()
    names = sorted(Path(one.path).name for one in look.matching.values())
    assert names == ["b.log.gz", "c.log.BZ2", "d.log.zst", "e.log.xz"]
    assert "expand" in look.refused[str(tmp_path / name)]
    assert look.is_whole


def test_a_directory_on_which_a_file_system_is_mounted_while_it_is_listed_is_not_listed(
    tmp_path: Path,
) -> None:
    class Mounting(Disk):
        is_mounted = False

        def scan(self, directory: Path) -> list[os.DirEntry[str]]:
            found = super().scan(directory)
            self.is_mounted = True
            return found

        def stat(self, path: Path | str) -> os.stat_result:
            real = super().stat(path)
            if not self.is_mounted:
                return real
            fields = [*real[:10]]
            fields[2] += 1
            return os.stat_result(fields)

    make(tmp_path, "a.log")
    look = Glob(tmp_path, "*.log", disk=Mounting()).look()
    assert "mounted" in look.unlisted[str(tmp_path)]
    assert not look.matching
    assert not look.listed
