"""How tests are dealt to workers: whole files, the longest first, federations one at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from work_dealer import BUNDLED, LONGEST, bundle, longest_first

ROOT = Path(__file__).parents[1]


def test_every_file_that_is_named_exists_and_is_named_once() -> None:
    named = (*BUNDLED, *LONGEST)
    assert [path for path in named if not (ROOT / path).is_file()] == []
    assert len(set(named)) == len(named)


def test_files_of_a_bundle_are_dealt_together_and_others_by_themselves() -> None:
    assert len({bundle(path) for path in BUNDLED}) == 1
    assert bundle("tests/store/cube/test_cube.py") == "tests/store/cube/test_cube.py"


def test_the_bundle_comes_first_then_the_longest_then_the_others_in_their_order() -> None:
    ids = ["b.py::one", "a.py::two", "long.py::three", "a.py::four", f"{BUNDLED[0]}::five"]
    items = [SimpleNamespace(nodeid=nodeid) for nodeid in ids]
    longest_first(items, longest=["long.py"])
    assert [item.nodeid for item in items] == [ids[4], ids[2], ids[0], ids[1], ids[3]]


FILES = {
    "test_one.py": "import os\ndef test_a(): print('one', os.getpid())\ndef test_b(): test_a()\n",
    "test_two.py": "import os\ndef test_a(): print('two', os.getpid())\ndef test_b(): test_a()\n",
}


def test_workers_get_whole_files(tmp_path: Path) -> None:
    for name in ("conftest.py", "work_dealer.py"):
        (tmp_path / name).write_text((Path(__file__).parent / name).read_text())
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-rP", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    said = [line.split() for line in run.stdout.splitlines() if line[:4] in ("one ", "two ")]
    by_file = {file: {process for name, process in said if name == file} for file, _ in said}
    assert len(said) == 4
    assert [len(processes) for processes in by_file.values()] == [1, 1]
    assert len(set.union(*by_file.values())) == 2, "and each worker has one"
