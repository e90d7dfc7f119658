"""What a few JSON lines say of all of them."""

from __future__ import annotations

import pytest

from headwater.reading.json_sample import are_texts, objects_of, unsure_share
from headwater.reading.strict.strict_json import StrictJson


def test_lines_that_are_no_json_are_none_and_blank_ones_are_not_there() -> None:
    deep = b"[" * 100_000
    lines = [b'{"n":1}', b"", b"  ", b"broken", b'{"n":"\xff"}', b"{}{}", deep]
    assert objects_of(lines) == [{"n": 1}, None, None, None, None]


@pytest.mark.parametrize(
    ("kind", "values", "is_text"),
    [
        ("bigint", ["1", "2", 3], True),
        ("bigint", [1, 2, "3", None, None], False),
        ("bigint", [], False),
        ("double", ["1.5"], True),
        ("epoch_ms", ["1"], True),
        ("text", ["a", "b", 1], True),
        ("text", [1, 2, "a"], False),
        ("text", [], True),
        ("iso", [1, 2], True),
        ("boolean", ["true"], False),
    ],
)
def test_values_are_written_as_most_are(kind: str, values: list[object], is_text: bool) -> None:
    objects = [None, [1], *({"v": one} for one in values)]
    assert are_texts(objects, ["v"], [kind]) == [is_text]


@pytest.mark.parametrize(
    ("kind", "is_text", "sure", "unsure"),
    [
        ("bigint", False, [1, -1, None], ["1", 1.5, True, {}]),
        ("bigint", True, ["1", None], [1, "x", " 1", "0x1"]),
        ("double", False, [1, 1.5], ["1", False]),
        ("boolean", False, [True, None], ["true", 1]),
        ("text", True, ["a", ""], [1, True, {}, []]),
        ("text", False, [1], ["a", 1.5]),
        ("iso", True, ["2026-05-01T12:00:00Z"], ["today", 1]),
        ("epoch_s", False, [1777636800], ["1777636800", 1777636800.5]),
    ],
)
def test_an_object_is_sure_if_its_values_are_of_the_sort_that_is_said(
    kind: str, is_text: bool, sure: list[object], unsure: list[object]
) -> None:
    strict = StrictJson(("v",), (kind,), (is_text,))
    objects: list[object] = [{"v": one} for one in [*sure, *unsure]]
    assert unsure_share(objects, strict) == pytest.approx(len(unsure) / len(objects))
    assert unsure_share([{}, *({"v": one} for one in sure)], strict) == 0


def test_what_is_no_object_is_not_sure() -> None:
    strict = StrictJson(("v",), ("int",), (False,))
    assert unsure_share([None, [], {}, {"v": 1}], strict) == 0.5
    assert unsure_share([], strict) == 0
