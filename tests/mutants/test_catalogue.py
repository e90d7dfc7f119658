"""The list of mistakes stays true to the code; planting them all is ``make mutants``."""

from pathlib import Path

import pytest
from mutants.catalogue import PROJECT, Mutant, catalogue

PACKAGES = """
    agent algebra edge local net node overlay placement plan root spark sql store
"""
LEAST = 60


def _name(mutant: Mutant) -> str:
    return mutant.mistake.replace(" ", "_")


@pytest.mark.parametrize("mutant", catalogue(), ids=_name)
def test_a_mistake_fits_the_code_and_names_tests_that_are_there(mutant: Mutant) -> None:
    text = (PROJECT / mutant.file).read_text(encoding="utf-8")
    assert mutant.applied(text) != text
    compile(mutant.applied(text), mutant.file, "exec")
    for test in mutant.tests:
        path, _, function = test.partition("::")
        assert (PROJECT / path).exists(), f"{test}: there is no such file"
        names = Path(PROJECT / path).read_text(encoding="utf-8") if function else ""
        assert not function or f"def {function.split('[')[0]}(" in names, f"{test}: not there"


def test_all_packages_are_tried() -> None:
    mutants = catalogue()
    assert len(mutants) >= LEAST
    assert {mutant.package for mutant in mutants} >= set(PACKAGES.split())


def test_no_mistake_is_listed_twice() -> None:
    keys = [(m.file, m.old, m.new) for m in catalogue()]
    assert len(keys) == len(set(keys))
