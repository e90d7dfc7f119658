"""Examples in the docstrings of algebra, plan and frontend are true."""

import doctest
import importlib
import pkgutil

import pytest

import headwater.algebra
import headwater.frontend
import headwater.plan

MODULES = [
    module.name
    for package in (headwater.algebra, headwater.plan, headwater.frontend)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    found = [doctest.testmod(importlib.import_module(name)).attempted for name in MODULES]
    assert sum(found) > 20
