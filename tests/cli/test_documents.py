"""The documents against the code: links lead somewhere, references are current, words are ours."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from query_kit import queries_in

from headwater.plan.sources.source import Source
from headwater.sql.compile import parse_script

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TOPS = [top for top in ROOT.iterdir() if top.is_dir() and not top.name.startswith(".")]
MODULES = {path.name for top in TOPS for path in top.rglob("*.py")}
LAYERS = "|".join(path.name for path in (ROOT / "src" / "headwater").iterdir() if path.is_dir())
BLOCK = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def references() -> ModuleType:
    path = ROOT / "scripts" / "write_references.py"
    spec = importlib.util.spec_from_file_location("write_references", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file(page: Path) -> None:
    said = BLOCK.sub("", page.read_text())
    links = [link for link in LINK.findall(said) if "://" not in link]
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_tells_the_reader_that_it_is_easy(page: Path) -> None:
    assert re.findall(r"\b(simply|just|easily|obviously)\b", page.read_text(), re.I) == []


def test_the_reference_pages_are_what_the_code_says() -> None:
    for path, text in references().pages().items():
        said = path.read_text() if path.exists() else ""
        assert said == text, f"{name_of(path)}: run scripts/write_references.py"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, open_ = set(), [ROOT / "README.md"]
    while open_:
        page = open_.pop().resolve()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = [link for link in LINK.findall(page.read_text()) if "://" not in link]
        open_ += [page.parent / link for link in links]
    unreached = [name_of(page) for page in PAGES if page.resolve() not in seen]
    assert unreached == []


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", page.read_text(), re.M))
        assert {a or b for a, b in named} <= targets, name_of(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_of_ours_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"`((?:src|tests|scripts|docs|examples)/[\w./-]+)`", text)
    new = re.findall(r"`([\w./-]+)`, a new file", text)
    assert [name for name in named if not (ROOT / name).exists() and name not in new] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_module_that_a_page_names_exists(page: Path) -> None:
    """From the top, from ``src/headwater``, or by its last name where the folder is clear."""
    text = page.read_text()
    new = re.findall(r"`([\w./-]+)`, a new file", text)
    named = set(re.findall(rf"`([\w/]+\.py|(?:{LAYERS})/[\w/]+)`", text)).difference(new)
    assert [name for name in named if not is_ours(name)] == []


def test_the_list_of_decisions_names_every_one_of_its_pages() -> None:
    place = ROOT / "docs" / "architecture"
    rows = re.findall(
        r"^\| \[\w+\]\((\w+\.md)\) \| (.+) \|$", (place / "decisions.md").read_text(), re.M
    )
    named = {page: decisions.split(" · ") for page, decisions in rows}
    pages = {page.name: page for page in place.iterdir() if page.stem not in ("decisions", "house")}
    assert named == {name: decisions_of(page.read_text()) for name, page in pages.items()}
    overview = (ROOT / "docs" / "architecture.md").read_text()
    assert [name for name in pages if f"(architecture/{name})" not in overview] == []


def decisions_of(page: str) -> list[str]:
    """Its headings, but for those that have decisions below them."""
    headings = re.findall(r"^(##|###) (.+)$", page, re.M)
    levels = [level for level, _ in headings[1:]] + ["##"]
    return [
        said
        for (level, said), below in zip(headings, levels, strict=True)
        if not (level == "##" and below == "###")
    ]


def is_ours(name: str) -> bool:
    places = (ROOT / name, ROOT / "src" / "headwater" / name)
    return any(place.exists() for place in places) or ("/" not in name and name in MODULES)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_statement_that_a_page_shows_compiles(page: Path) -> None:
    """Streams may read the sources of earlier blocks of the page."""
    blocks = re.findall(r"^```sql\n(.*?)^```", page.read_text(), re.M | re.S)
    sources: dict[str, Source] = {}
    for block in blocks:
        sources |= {source.name: source for source in parse_script(block).sources}
        queries_in(block, at="fra", known_sources=sources)


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/**/*.sql")), ids=name_of)
def test_every_example_compiles(file: Path) -> None:
    queries = queries_in(file.read_text(), at="fra")
    assert queries
