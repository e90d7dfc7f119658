"""A heap that fits the machine: half of what is free, of the machine and of the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.agent.free_memory import free_bytes, heap_for_a_run
from headwater.errors import ConfigurationError

GB = 1 << 30


@pytest.fixture
def information(tmp_path: Path) -> Path:
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 16777216 kB\nMemFree: 1000 kB\nMemAvailable: 8388608 kB\n")
    return path


def cgroup(directory: Path, **files: str) -> Path:
    for name, text in files.items():
        path = directory / "cgroup" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory / "cgroup"


def test_what_is_free_is_what_the_machine_and_the_container_have_left(
    tmp_path: Path, information: Path
) -> None:
    assert free_bytes(information, tmp_path / "none") == 8 * GB
    second = {"memory.max": f"{4 * GB}\n", "memory.current": f"{1 * GB}\n"}
    assert free_bytes(information, cgroup(tmp_path / "2", **second)) == 3 * GB
    first = {
        "memory__memory.limit_in_bytes": f"{2 * GB}\n",
        "memory__memory.usage_in_bytes": f"{3 * GB}\n",
    }
    assert free_bytes(information, cgroup(tmp_path / "1", **first)) == 0
    unlimited = {"memory.max": "max\n", "memory.current": "5\n"}
    assert free_bytes(information, cgroup(tmp_path / "max", **unlimited)) == 8 * GB


def test_a_heap_is_at_most_half_of_what_is_free_within_bounds() -> None:
    assert heap_for_a_run(2 * GB) == "1024m"
    assert heap_for_a_run(100 * GB) == "4096m"
    assert heap_for_a_run(1 * GB) == "512m"


def test_too_little_memory_is_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match=r"half of the memory.*511 MB.*--memory 512m"):
        heap_for_a_run((1 * GB) - 1)
