"""Where no file matches, names that are like the path are told."""

from pathlib import Path

from headwater.store.input.nearest_names import NAMES_SHOWN, nearest_names, no_file_text


def test_the_likest_names_come_first_with_their_folders(tmp_path: Path) -> None:
    for name in ("logs/2026/sales.csv", "readme.md", "logs/2026/sale.csv.old", ".hidden.csv", "z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = nearest_names(tmp_path, "logs/sale.csv")
    assert len(found) == NAMES_SHOWN
    assert set(found[:2]) == {"logs/2026/sale.csv.old", "logs/2026/sales.csv"}
    assert ".hidden.csv" not in found
    words = no_file_text(tmp_path, "logs/sale.csv")
    assert words.startswith("no file matches 'logs/sale.csv'; nearest: logs/2026/sale")


def test_a_name_has_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[2J\n.csv").touch()
    assert nearest_names(tmp_path, "a.csv") == ("a�[2J .csv",)


def test_names_are_told_only_where_they_may(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").touch()
    assert no_file_text(tmp_path, "a", names_files=False) == "no file matches 'a'"
    assert no_file_text(tmp_path / "none", "a") == (
        "no file matches 'a', and there is no other file either"
    )
