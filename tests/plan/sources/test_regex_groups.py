import pytest

from headwater.plan.sources.regex_groups import group_numbers, groups_of


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        (r"(\S+) (\d+)", [None, None]),
        (r"(?<ts>\S+) (?<n>\d+)", ["ts", "n"]),
        (r"\(x\) (a)", [None]),
        (r"[(] ([^)]+) []()] (b)", [None, None]),
        (r"(?:a|b)(?=c)(?<=d)(?<!e)(?i)(f)", [None]),
        (r"\Q(x)\E(y)", [None]),
        (r"((a)(b))", [None, None, None]),
        (r"no groups", []),
        (r"[a&&[^(b]](c)", [None]),
    ],
)
def test_groups_are_found_as_java_counts_them(pattern: str, groups: list[str | None]) -> None:
    assert groups_of(pattern) == groups


def test_groups_without_names_fill_columns_in_order() -> None:
    assert group_numbers(r"(\S+) (\d+)", ["ts", "n"]) == [1, 2]


def test_named_groups_fill_the_columns_of_their_names() -> None:
    assert group_numbers(r"(?<n>\d+) (x)? (?<TS>\S+)", ["ts", "n"]) == [3, 1]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(\S+)", "1 groups for 2 columns"),
        (r"(?<ts>\S+) (x)", r"no group for \['n'\], no column for \[\]"),
        (r"(?<ts>\S+) (?<n>\d) (?<m>\d)", r"no group for \[\], no column for \['m'\]"),
    ],
)
def test_a_pattern_that_does_not_fit_the_columns_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        group_numbers(pattern, ["ts", "n"])
