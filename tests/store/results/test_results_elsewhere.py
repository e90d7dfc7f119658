"""The examples of docs/guide/results.md: other libraries take the newest answer of each window.

They run where the library is installed (the extra ``readers``), as these are large and Headwater
needs none of them.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from store_kit import envelope_of, query_of

from headwater.store.results.publication import Published
from headwater.store.results.results import ResultsWriter

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "results.md"
PLACE = "run/shops/site1/state/results/revenue"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
LIBRARIES = ("duckdb", "pandas", "polars")


def test_every_library_has_an_example_that_reads_the_same_place() -> None:
    for library in LIBRARIES:
        assert PLACE in example_of(library)


def example_of(library: str) -> str:
    (found,) = [text for text in EXAMPLES if f"import {library}" in text]
    return str(found)


def published(window: int, revision: int, rows: dict[str, list[Any]], *, counter: int) -> Published:
    envelope = envelope_of(query_of("revenue", counter), window, revision=revision, final=False)
    table = pa.table(rows) if rows else None
    return Published(msgspec.structs.replace(envelope, rows=len(rows.get("n", ()))), table)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Publications of a stream that was replaced, and then answers in two columns::

    number      1           2           3         4          5 (another query)
    window 7    a=1 b=2                 (none)
    window 8    c=3         c=4                              c=9, colour red
    window 9                d=5
    """
    writer = ResultsWriter(tmp_path / "revenue")
    of = {"counter": 1}
    writer.publish(
        [
            published(7, 1, {"page": ["a", "b"], "n": [1, 2]}, **of),
            published(8, 1, {"page": ["c"], "n": [3]}, **of),
        ]
    )
    writer.publish(
        [
            published(8, 2, {"page": ["c"], "n": [4]}, **of),
            published(9, 1, {"page": ["d"], "n": [5]}, **of),
        ]
    )
    writer.publish([published(7, 2, {}, **of)])
    red = {"page": ["c"], "n": [9], "colour": ["red"]}
    writer.publish([published(8, 1, red, counter=2)])
    return tmp_path / "revenue"


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_window_is_read_as_it_was_last_answered(library: str, results: Path) -> None:
    try:
        importlib.import_module(library)
    except ImportError:
        pytest.skip(f"{library} is not installed: pip install 'headwater[readers]'")
    found: dict[str, Any] = {}
    exec(example_of(library).replace(PLACE, str(results)), found)
    rows = _rows(found["answers"], library)
    assert [(row["page"], row["n"]) for row in rows] == [("c", 9), ("d", 5)]
    assert rows[0]["colour"] == "red"


def _rows(answers: Any, library: str) -> list[dict[str, Any]]:
    if library == "duckdb":
        return [dict(zip(answers.columns, row, strict=True)) for row in answers.fetchall()]
    return list(answers.to_dict("records") if library == "pandas" else answers.to_dicts())
