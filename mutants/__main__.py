"""``python -m mutants [WORD …] [--jobs N]``: plant each mistake and see whether a test notices.

A word chooses the mistakes in whose sentence or file it stands. The tests that are named must pass
on the code as it is; they are run first. Exit code 1: a mistake survived.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from mutants.catalogue import PROJECT, Mutant, catalogue

RUN_S_MAX, RUN_ALL_S_MAX = 900, 7_200
"""For the tests of one mistake, and for those of all before the first; a mistake that makes its
tests hang has been noticed by then."""
FAILED, PASSED = 1, 0
"""Exit codes of pytest. All others (nothing collected, no such test) say nothing of the mistake."""
COPIED = """
    src tests chaos crowd hostile fuzz schedules soak mutants examples docs
"""
"""What tests may need of the project, where it is there."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="of the mistake or its file")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the project to work on")
    chosen = parser.parse_args()
    mutants = [m for m in catalogue() if all(w in f"{m.mistake} {m.file}" for w in chosen.words)]
    if not mutants:
        parser.error(f"no mistake has the words {chosen.words}")
    with _copies(chosen.jobs) as copies:
        tests = sorted({test for mutant in mutants for test in mutant.tests})
        first = copies.get()
        before = _run_tests(first, tests)
        copies.put(first)
        if before != PASSED:
            print(f"without any mistake the tests end with {before}; mend that first")
            return 2
        with ThreadPoolExecutor(chosen.jobs) as pool:
            verdicts = list(pool.map(lambda mutant: _try(mutant, copies), mutants))
    caught = verdicts.count("caught")
    print(f"{caught} caught, {len(mutants) - caught} not, of {len(mutants)} mistakes")
    return 0 if caught == len(mutants) else 1


@contextmanager
def _copies(count: int) -> Iterator[SimpleQueue[Path]]:
    queue: SimpleQueue[Path] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="headwater-mutants-") as directory:
        for number in range(count):
            copy = Path(directory) / str(number)
            copy.mkdir()
            for name in COPIED.split():
                if (PROJECT / name).exists():
                    ignored = shutil.ignore_patterns("__pycache__", "*.png")
                    shutil.copytree(PROJECT / name, copy / name, ignore=ignored)
            for file in PROJECT.glob("*.*"):
                if file.is_file():
                    shutil.copy(file, copy)
            queue.put(copy)
        yield queue


def _try(mutant: Mutant, copies: SimpleQueue[Path]) -> str:
    copy = copies.get()
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(mutant.applied(text), encoding="utf-8")
        code = _run_tests(copy, mutant.tests, stop_at_first=True)
    finally:
        path.write_text(text, encoding="utf-8")
        copies.put(copy)
    verdict = {FAILED: "caught", PASSED: "SURVIVED"}.get(code, f"UNCLEAR (pytest: {code})")
    where = mutant.file.removeprefix("src/headwater/")
    print(f"{verdict:10} {where}: {mutant.mistake}", flush=True)
    return verdict


def _run_tests(copy: Path, tests: Sequence[str], *, stop_at_first: bool = False) -> int:
    """In a process of their own, on the copy's code; bytecode of a former mistake is not kept."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy / 'src'}:{copy}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    limit_s = RUN_S_MAX if stop_at_first else RUN_ALL_S_MAX
    try:
        done = subprocess.run(
            command + (["-x"] if stop_at_first else []),
            cwd=copy,
            env=environment,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FAILED
    if not stop_at_first and done.returncode != PASSED:
        sys.stdout.write(done.stdout.decode(errors="replace")[-4000:])
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
