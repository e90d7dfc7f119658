"""Paths of sources, said as short as they can be: the same files."""

import pytest

from headwater.plan.sources.globs import plain_glob


@pytest.mark.parametrize(
    ("path", "shorter"),
    [
        ("logs/**/**/*.log", "logs/**/*.log"),
        ("**/a/**", "**/a/*"),
        ("**/**", "**/*"),
        ("**/**/", "**/*"),
        ("/srv//./logs/**/x", "/srv/logs/**/x"),
        ("a/b.log", "a/b.log"),
        ("", ""),
    ],
)
def test_stars_in_a_row_become_one_and_the_last_one_names_files(path: str, shorter: str) -> None:
    assert plain_glob(path) == shorter
    assert plain_glob(shorter) == shorter
