"""Examples in docstrings are true, wherever they stand."""

import doctest
import importlib
from pathlib import Path

import pytest

import headwater

ROOT = Path(headwater.__file__).parent
MODULES = sorted(
    ".".join(("headwater", *file.relative_to(ROOT).with_suffix("").parts))
    for file in ROOT.rglob("*.py")
    if ">>> " in file.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert found.failed == 0


def test_there_are_examples_in_every_part_that_had_some() -> None:
    assert {"agent", "algebra", "infer", "plan", "reading", "spark", "store"} <= {
        name.split(".")[1] for name in MODULES
    }
