"""The gallery: every example's data is what its seed makes, and its answer is the one it shows."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import make_examples
import pytest
import zstandard

from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.try_query import try_query

NAMES = [folder.name for folder in make_examples.folders()]


def test_there_are_ten_examples_and_more_and_each_says_what_it_is() -> None:
    assert len(NAMES) >= 10
    listed = (make_examples.EXAMPLES / "README.md").read_text()
    for name in NAMES:
        folder = make_examples.EXAMPLES / name
        assert f"]({name}/" in listed
        assert len((folder / "README.md").read_text().splitlines()) == 3, "three lines"


@pytest.mark.parametrize("name", sorted(make_examples.MADE))
def test_the_data_of_an_example_is_what_its_seed_makes(name: str) -> None:
    folder = make_examples.EXAMPLES / name
    here = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in (folder / "sites").rglob("*")
        if path.is_file()
    }
    made = make_examples.MADE[name]()
    assert _expanded(here) == _expanded(made), "run scripts/make_examples.py --answers"


def _expanded(files: dict[str, bytes]) -> dict[str, bytes]:
    """Two versions of a program may write the same in other bytes."""
    expand = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".zst": zstandard.decompress}
    return {path: expand.get(Path(path).suffix, bytes)(data) for path, data in files.items()}


@pytest.mark.spark
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", NAMES)
def test_an_example_gives_its_answer_by_sites_and_by_one_spark(running_spark, name: str) -> None:
    folder = make_examples.EXAMPLES / name
    text = make_examples.question(folder).read_text()
    federated = try_query(text, folder / "sites", spark=running_spark)
    central = try_central(text, folder / "sites", spark=running_spark)
    assert set(differences(federated, central).values()) == {None}
    wanted = (folder / make_examples.ANSWER).read_text()
    assert make_examples.answer_text(federated) == wanted
    windows = [window for result in federated for window in result.windows]
    assert all(window.envelope is not None and window.envelope.exact for window in windows)
