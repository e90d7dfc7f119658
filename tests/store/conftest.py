"""Cubes on temporary directories, closed at the end of each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from follow_kit import Follow
from store_kit import Clock, CubeUser, FaultyDisk

from headwater.store.cube.retention import RetentionConfig


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_cube(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., CubeUser]]:
    """Open the cube in the test's directory, with options; closed at the end."""
    users: list[CubeUser] = []

    def open_(*, name: str = "cube", **options: Any) -> CubeUser:
        users.append(CubeUser(tmp_path / name, clock, **options))
        return users[-1]

    yield open_
    for user in users:
        user.cube.close()


@pytest.fixture
def user(open_cube: Callable[..., CubeUser]) -> CubeUser:
    """A cube with the query installed."""
    opened = open_cube(retention=RetentionConfig(retention_s=1e9))
    opened.install()
    return opened


@pytest.fixture
def faulty_disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def follow(open_cube: Callable[..., CubeUser], tmp_path: Path) -> Callable[..., Follow]:
    def make(*, cube: dict[str, object] | None = None, **options: object) -> Follow:
        return Follow(open_cube(**(cube or {})), tmp_path / "logs", **options)

    return make


@pytest.fixture
def one(follow: Callable[..., Follow]) -> Follow:
    return follow()
