"""Code and glossary hold each other to their words.

A word has *weight* if a reader of the code meets it again and again: it is the whole name of a
public class or of a file, and in another such name as well (a file and the class in it are two), or
it is in ``NAMES_MIN`` names. Plurals count as their singular. Each word of weight is in the
glossary, or plain enough to need no meaning, which ``PLAIN`` says with the reason. The other way
round, each word of the glossary is a name in the code or something that the code says to people,
and the file that it sends readers to exists and has the word.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

HOUSE = Path(__file__).resolve().parents[1]
ROOMS = HOUSE / "src" / "headwater"
GLOSSARY = HOUSE / "docs" / "glossary.md"
NAMES_MIN = 4
"""A word that is no name of its own has weight from so many names on."""

PLAIN = {
    "every programmer's": """
        bound call cert check checker codec config connection content copy directory disk
        encoding end entry error event file function glob header index input interval item
        java job json jvm key kind latency layout limit line load lock log memory merge message
        name network output pattern process queue reply request rule run runner schema
        size snapshot sql table tcp text thread time tls type value view write
        """,
    "SQL's own: an aggregate by its name": "extreme sum",
    "plain English: a thing or a doing, as in any dictionary": """
        attempt beginning comparison death declaration explain failure finding follow keep large
        maker per place progress reach reading restore send sending shape start starting
        telling watch why work
        """,
    "plain English: what became of something": """
        asked awaited closed compared counted delivered departed ended failed finished followed
        former found given guessed held installed kept known linked made missing named prepared
        published readable reader refused running sampled shown signed simulated
        unreadable waiting whole
        """,
}
"""Words of weight that need no meaning, by the reason."""


class Row(NamedTuple):
    words: tuple[str, ...]
    """As they stand, but for what is in brackets: it tells two meanings of a word apart."""
    open: str
    """The file that it sends the reader to."""


def words_in(name: str) -> tuple[str, ...]:
    """The words of a name or a text, in lower case and in the singular."""
    found = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)
    return tuple(_singular(word.lower()) for word in found)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word.removesuffix("ies") + "y"
    if word.endswith(("sses", "xes", "ches")):
        return word.removesuffix("es")
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word.removesuffix("s")
    return word


def words_of_weight(names: Iterable[str]) -> set[str]:
    split = [words_in(name) for name in names]
    in_names = Counter(word for words in split for word in set(words))
    whole = {words[0] for words in split if len(words) == 1}
    return {word for word, n in in_names.items() if n >= NAMES_MIN or (word in whole and n > 1)}


def glossary_rows(text: str) -> list[Row]:
    lines = re.findall(r"^\| (.+) \| .+ \| `(.+)` \|$", text, re.MULTILINE)
    return [Row(tuple(re.sub(r" \(.*?\)", "", first).split(", ")), last) for first, last in lines]


def unexplained(names: Iterable[str], rows: Iterable[Row]) -> set[str]:
    explained = {word for row in rows for phrase in row.words for word in words_in(phrase)}
    return words_of_weight(names) - explained - _plain()


def unused(rows: Iterable[Row], said: str) -> set[str]:
    return {
        phrase
        for row in rows
        for phrase in row.words
        if f" {' '.join(words_in(phrase))} " not in said
    }


def _plain() -> set[str]:
    return {word for words in PLAIN.values() for word in words.split()}


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(ROOMS.rglob("*.py"))}


def _names() -> Iterator[str]:
    """Of files and of public classes."""
    for path, tree in _trees().items():
        if not path.stem.startswith("__"):
            yield path.stem
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        yield from (name for name in classes if not name.startswith("_"))


def _said(path: Path, tree: ast.Module) -> set[str]:
    """Every name in a file, and every text but its docstrings."""
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = {path.stem}
    for node in ast.walk(tree):
        for field in ("name", "id", "attr", "arg"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            found.add(node.value)
    return found


def _lines(said: Iterable[str]) -> str:
    """To be searched for phrases: no phrase reaches over two names."""
    return "\n".join(f" {' '.join(words_in(one))} " for one in sorted(said))


@cache
def _rows() -> tuple[Row, ...]:
    return tuple(glossary_rows(GLOSSARY.read_text("utf-8")))


def _opened(row: Row) -> Path:
    return (HOUSE if row.open.startswith("tests/") else ROOMS) / row.open


def _text_of(row: Row) -> str:
    return _lines([row.open, *_opened(row).read_text("utf-8").split("\n\n")])


def test_every_word_of_weight_in_the_code_is_in_the_glossary() -> None:
    missing = unexplained(_names(), _rows())
    assert not missing, f"no meaning in docs/glossary.md, and not plain: {sorted(missing)}"


def test_every_word_of_the_glossary_is_used_by_the_code() -> None:
    said = {one for path, tree in _trees().items() for one in _said(path, tree)}
    here = [row for row in _rows() if not row.open.startswith("tests/")]
    idle = unused(here, _lines(said))
    assert not idle, f"in docs/glossary.md, but nobody says it: {sorted(idle)}"


def test_every_file_that_the_glossary_opens_exists_and_has_the_word() -> None:
    strange = [row for row in _rows() if not _opened(row).is_file()]
    assert not strange, "no such file"
    silent = [row for row in _rows() if unused([row], _text_of(row)) == set(row.words)]
    assert not silent, "the file says nothing of the word"


def test_every_name_that_the_glossary_quotes_is_a_class() -> None:
    quoted = set(re.findall(r"`([A-Z][a-z]+[A-Z]\w+)`", GLOSSARY.read_text("utf-8")))
    assert quoted <= set(_names())


def test_every_line_of_a_table_has_a_word_a_meaning_and_a_file() -> None:
    lines = [line for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert len([line for line in lines if not line.startswith("| word | meaning")]) == len(_rows())


def test_a_word_has_one_meaning() -> None:
    first_cells = re.findall(
        r"^\| (.+) \| .+ \| `.+` \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE
    )
    entries = Counter(entry for cell in first_cells for entry in cell.split(", "))
    assert not {entry for entry, n in entries.items() if n > 1}, "two rows for the same word"


def test_a_word_that_is_plain_has_weight_and_no_meaning_beside() -> None:
    explained = {" ".join(words_in(word)) for row in _rows() for word in row.words}
    assert _plain() <= words_of_weight(_names()), "no longer a word of weight"
    assert not _plain() & explained, "plain, and explained all the same"


def test_a_new_concept_without_a_meaning_is_found() -> None:
    planted = [*_names(), "gizmo", "Gizmos"]
    assert unexplained(planted, _rows()) == {"gizmo"}


def test_a_meaning_without_a_user_is_found() -> None:
    rows = glossary_rows("| word | meaning | open |\n| last resort, gizmo | … | `peer.py` |")
    assert unused(rows, _lines(["last_resort", "at last", "resort"])) == {"gizmo"}


def test_names_come_apart_into_their_words() -> None:
    assert words_in("TimeSpaceList") == words_in("time_space_lists") == ("time", "space", "list")
    assert words_in("JVMEntries") == ("jvm", "entry")
    assert words_of_weight(["tray", "Tray", "Lonely", "per_hop"]) == {"tray"}
