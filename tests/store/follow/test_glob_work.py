"""What a look at a source costs does not grow with how often its path says the same.

Counted in names that are compared and folders that are listed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwater.store.disk import Disk
from headwater.store.follow import directories
from headwater.store.follow.directories import is_match
from headwater.store.follow.listing import Glob


class CountingDisk(Disk):
    scans = 0

    def scan(self, directory: Path) -> list[os.DirEntry[str]]:
        self.scans += 1
        return super().scan(directory)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for path in ("a/b/c", "a/d", "e"):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
    (tmp_path / "a/b/c/x.log").write_text("x\n")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    return tmp_path


def work(folders: Path, pattern: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], int]:
    compared = []

    def counting(name: str, part: str) -> bool:
        compared.append(name)
        return is_match(name, part)

    monkeypatch.setattr(directories, "is_match", counting)
    disk = CountingDisk()
    listing = Glob(folders, pattern, disk=disk).look()
    return sorted(found.path for found in listing.matching.values()), len(compared) + disk.scans


def test_any_number_of_folders_said_often_costs_as_much_as_said_once(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = work(folders, "**/*.log", monkeypatch)
    often = work(folders, "**/" * 32 + "*.log", monkeypatch)
    assert once[0] == [str(folders / "a/b/c/x.log")]
    assert often == once


def test_patterns_between_cost_a_walk_each_and_no_more(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, one = work(folders, "**/*.log", monkeypatch)
    _, four = work(folders, "**/*/**/*/**/*/**/*.log", monkeypatch)
    assert four <= 8 * one
