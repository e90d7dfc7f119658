"""A heap that fits the machine: half of what is free, of the machine and of the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.errors import ConfigurationError
from headwater.local.free_memory import checked_heap, free_bytes, heap_for_a_run, total_bytes

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


def test_what_there_is_is_what_the_machine_has_and_the_container_may_have(
    tmp_path: Path, information: Path
) -> None:
    assert total_bytes(information, tmp_path / "none") == 16 * GB
    limit = {"memory.max": f"{4 * GB}\n", "memory.current": f"{1 * GB}\n"}
    assert total_bytes(information, cgroup(tmp_path / "2", **limit)) == 4 * GB


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("511m", r"--memory 511m: .*less than 512 MB; say --memory 512m or more"),
        ("524287k", "less than 512 MB"),
        ("4097m", r"--memory 4097m: .*has 4096 MB; take less"),
        ("5G", "has 4096 MB"),
        ("0g", "wanted a size like"),
        ("1.5g", "wanted a size like"),
    ],
)
def test_a_heap_that_no_spark_could_start_with_here_is_refused(memory: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        checked_heap(memory, total=4 * GB)


@pytest.mark.parametrize("memory", ["512m", "524288k", "4g", "4096M"])
def test_a_heap_that_fits_the_machine_is_taken_as_it_is(memory: str) -> None:
    assert checked_heap(memory, total=4 * GB) == memory
