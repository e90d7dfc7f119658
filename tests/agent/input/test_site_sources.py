"""Who gets to the files of a declared source, and how: by its own form, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from query_kit import changed, queries_in

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.input.declarations import SourceDeclaration
from headwater.agent.input.site_sources import SiteSources
from headwater.plan.duty import Duty
from headwater.plan.query import Query
from headwater.store.disk import Disk
from headwater.store.follow.listing import Glob, Listing

COLUMNS = "ts TIMESTAMP, domain STRING, client STRING"
RENAMED = "ts TIMESTAMP, domain STRING, page STRING"
ANY_LINE = r"format = 'regex', time = 'ts', pattern = r'(.*?),(.*?),(.*)', path = "
CSV = "format = 'csv', time = 'ts', path = "
LEVELS = {"ts": "free", "domain": "free", "client": "denied"}


def declaration(path: str, name: str = "hits") -> SourceDeclaration:
    return SourceDeclaration(f"CREATE SOURCE {name} ({COLUMNS}) WITH ({CSV}'{path}')", LEVELS)


def config(data: str = "/srv/data", *paths: str, **more: Any) -> SourcesConfig:
    made = tuple(declaration(path, f"hits_{n}") for n, path in enumerate(paths or ("web/*.log",)))
    return SourcesConfig(data=data, declared=made, **more)


def asking(path: str, *, columns: str = RENAMED, options: str = CSV, by: str = "") -> Query:
    third = by or columns.split()[-2]
    text = f"""CREATE SOURCE mine ({columns}) WITH ({options}'{path}');
    CREATE STREAM q AS SELECT {third}, count(*) AS n FROM mine
    GROUP BY window(ts, '5 seconds'), {third};"""
    return queries_in(text, at="oslo")[0]


def reason(sources: SourcesConfig, query: Query, duty: Duty = Duty.READ) -> str | None:
    return admit_with(PolicyConfig(), sources)(query, duty, "olga")


WAYS = [
    "web/access.log",
    "web/*.log",
    "web/a*.log",
    "./web/access.log",
    "web//access.log",
    "web/./access.log",
    "web/access.log/",
    "web/acces?.log",
    "web/[a]ccess.log",
    "/srv/data/web/access.log",
    "/srv/data//web/*.log",
]
"""Ways to write a path within the declared one."""
BEYOND = [
    "*/access.log",
    "**/access.log",
    "**/*.log",
    "*/*",
    "w*/*.log",
    "web/*",
    "web/*.log*",
    "web/**/*.log",
    "**/web/*.log",
    "[w]eb/*",
    "?eb/access.*",
    "web/**",
    "/srv/data/**/*.log",
]
"""Paths that lead there, and perhaps elsewhere."""
ELSEWHERE = ["api/access.log", "web/access.csv", "web/.access.log", "web/old/a.log", "*.log", "**"]


@pytest.mark.parametrize("path", WAYS)
def test_within_the_declared_path_only_the_declared_form_is_read(path: str) -> None:
    sources = config(open=("/srv/data",))
    assert reason(sources, asking(path, columns=COLUMNS, by="domain")) is None
    denied = reason(sources, asking(path, columns=COLUMNS))
    assert "column 'client' of source hits_0 has level denied" in str(denied)
    for columns, options in ((RENAMED, CSV), (RENAMED, ANY_LINE), (COLUMNS, ANY_LINE)):
        said = reason(sources, asking(path, columns=columns, options=options, by="domain"))
        assert "declares as source hits_0" in str(said)
        assert "CREATE SOURCE hits_0 (ts TIMESTAMP, domain STRING, client STRING)" in str(said)


@pytest.mark.parametrize("path", BEYOND)
@pytest.mark.parametrize("columns", [COLUMNS, RENAMED])
def test_a_path_that_reaches_further_is_refused_with_the_declared_form(
    path: str, columns: str
) -> None:
    said = reason(config(open=("/srv/data",)), asking(path, columns=columns, by="domain"))
    assert "may lead to others, too; write it as it is declared: CREATE SOURCE hits_0" in str(said)


@pytest.mark.parametrize("path", ELSEWHERE)
def test_what_is_for_free_use_has_no_levels(path: str) -> None:
    assert reason(config(), asking(path)) is None


def test_names_of_files_are_told_only_where_nothing_is_declared(tmp_path: Path) -> None:
    (tmp_path / "hit.csv").touch()
    source = asking("hits.csv").program.source
    free = SiteSources(SourcesConfig(data=str(tmp_path)))
    assert free.no_file(source) == "no file matches 'hits.csv'; nearest: hit.csv"
    assert SiteSources(config(str(tmp_path))).no_file(source) == "no file matches 'hits.csv'"
    (tmp_path / "hits.csv").touch()
    assert free.no_file(source) == ""
    below = asking("none/hits.csv").program.source
    assert free.no_file(below).startswith("no file matches 'none/hits.csv'; nearest: hits.csv")


def test_where_only_declared_sources_are_read_nothing_else_is() -> None:
    sources = config(declared_only=True)
    assert "reads declared sources only (declared: hits_0)" in str(
        reason(sources, asking("api/access.log"))
    )
    assert reason(sources, asking("web/a.log", columns=COLUMNS, by="domain")) is None
    assert "(declared: none)" in str(
        reason(SourcesConfig(data="/srv", declared_only=True), asking("a.log"))
    )


def test_a_declared_path_need_not_be_below_a_directory_for_free_use() -> None:
    sources = config("/srv/data", "/var/log/nginx/*.log")
    allowed = asking("/var/log/nginx/access.log", columns=COLUMNS, by="domain")
    assert reason(sources, allowed) is None
    place = SiteSources(sources).place(allowed.program.source)
    assert place == (Path("/var/log/nginx"), "access.log")
    for path in ("/var/log/nginx/access.err", "/var/log/auth.log", "//var/log/nginx/access.log"):
        assert "not under a directory" in str(reason(sources, asking(path)))
    assert "may lead to others" in str(reason(sources, asking("/var/log/*/*.log")))


def test_signs_in_the_name_of_the_data_directory_stand_for_themselves() -> None:
    sources = config("/srv/[data]*", "web/*.log")
    assert "declares as source" in str(reason(sources, asking("web/a.log")))
    assert reason(sources, asking("web/a.log", columns=COLUMNS, by="domain")) is None
    assert reason(sources, asking("api/a.log")) is None


@pytest.mark.parametrize("duty", [Duty.CARRY, Duty.ANSWER])
def test_who_reads_no_file_asks_for_no_levels(duty: Duty) -> None:
    assert reason(config(), asking("web/a.log"), duty) is None


def test_a_path_without_end_is_refused_before_it_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compared(*parts: object) -> bool:
        raise AssertionError("it was compared")

    monkeypatch.setattr("headwater.agent.input.site_sources.may_overlap", compared)
    query = asking("web/a.log")
    source = msgspec.structs.replace(query.program.source, path="*a" * 100_000)
    said = reason(config(), changed(query, source=source))
    assert "is not admitted" in str(said)


def read(
    sources: SourcesConfig, query: Query, *, compressed: bool = False
) -> tuple[list[str], list[str]]:
    """(what is read, what is left alone) by a query that was admitted."""
    assert reason(sources, query) is None
    made = SiteSources(sources)
    directory, pattern = made.place(query.program.source)
    closed, _ = made.bounds_of(query.program.source)
    listing = Glob(directory, pattern, disk=Disk(), closed=closed).look()
    found = sorted(Path(one.path).name for one in listing.matching.values())
    return found, sorted(Path(path).name for path in listing.refused)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    top = tmp_path / "data"
    for name in ("web/access.log", "web/other.txt", "free/own.log"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("2026-01-01,a,10.0.0.1\n")
    return top


def test_a_link_to_a_declared_file_is_left_alone_and_named(data: Path) -> None:
    (data / "free" / "innocent.log").symlink_to(data / "web" / "access.log")
    (data / "free" / "twice.log").symlink_to("innocent.log")
    sources = config(str(data))
    found, left = read(sources, asking("free/*.log"))
    assert found == ["own.log"]
    assert left in (["innocent.log"], ["twice.log"])  # one file, by the name that came first


def test_a_link_to_a_declared_folder_leads_nowhere(data: Path) -> None:
    (data / "free" / "folder").symlink_to(data / "web")
    sources = config(str(data))
    assert read(sources, asking("free/folder/*")) == (["other.txt"], ["access.log"])
    assert read(sources, asking("free/**/*.log")) == (["own.log"], ["access.log"])


def test_a_link_above_a_declared_folder_is_seen_through(data: Path, tmp_path: Path) -> None:
    (tmp_path / "second").symlink_to(data)
    sources = config(str(data), open=(str(tmp_path / "second"),))
    said = reason(sources, asking(f"{tmp_path}/second/web/access.log"))
    assert "declares as source" in str(said)
    sources = config(str(data), "web/*.log", open=(str(tmp_path),))
    assert read(sources, asking(f"{tmp_path}/second/web/*"))[1] == ["access.log"]


def test_a_data_directory_that_is_a_link_may_be_named_by_it(data: Path, tmp_path: Path) -> None:
    (tmp_path / "second").symlink_to(data)
    sources = config(str(tmp_path / "second"))
    path = f"{tmp_path}/second/web/access.log"
    assert "declares as source" in str(reason(sources, asking(path)))
    assert read(sources, asking(path, columns=COLUMNS, by="domain")) == (["access.log"], [])


def test_a_declared_path_that_is_a_link_closes_what_it_leads_to(data: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.log").write_text("2026-01-01,a,10.0.0.1\n")
    (tmp_path / "far" / "c.log").write_text("2026-01-01,a,10.0.0.1\n")
    (data / "linked").mkdir()
    (data / "linked" / "a.txt").symlink_to(tmp_path / "far" / "b.log")
    sources = config(str(data), "linked/*", open=(str(tmp_path / "far"),))
    assert read(sources, asking(f"{tmp_path}/far/*.log")) == (["c.log"], ["b.log"])
    own = asking("linked/*", columns=COLUMNS, by="domain")
    assert read(sources, own) == (["a.txt"], [])


def test_a_declared_link_closes_a_compressed_file_as_well(data: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.gz").write_bytes(b"")
    (data / "linked").mkdir()
    (data / "linked" / "a.gz").symlink_to(tmp_path / "far" / "b.gz")
    sources = config(str(data), "linked/*", open=(str(tmp_path / "far"),))
    assert read(sources, asking(f"{tmp_path}/far/*.gz")) == ([], ["b.gz"])


def test_a_declared_folder_that_is_a_link_closes_the_true_one(data: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.log").write_text("2026-01-01,a,10.0.0.1\n")
    (data / "linked").symlink_to(tmp_path / "far")
    sources = config(str(data), "linked/*.log", open=(str(tmp_path / "far"),))
    assert "declares as source" in str(reason(sources, asking(f"{tmp_path}/far/b.log")))
    assert read(sources, asking("linked/b.log", columns=COLUMNS, by="domain")) == (["b.log"], [])


def test_of_two_declared_sources_each_reads_its_own(data: Path) -> None:
    (data / "api").mkdir()
    (data / "api" / "link.log").symlink_to(data / "web" / "access.log")
    sources = config(str(data), "web/*.log", "api/*.log")
    assert read(sources, asking("api/*.log", columns=COLUMNS, by="domain")) == ([], ["link.log"])
    assert read(sources, asking("web/*.log", columns=COLUMNS, by="domain")) == (["access.log"], [])


def test_a_link_that_is_made_later_is_looked_at_when_it_is_there(data: Path) -> None:
    sources = config(str(data))
    made = SiteSources(sources)
    query = asking("free/*.log")
    directory, pattern = made.place(query.program.source)
    closed, _ = made.bounds_of(query.program.source)
    glob = Glob(directory, pattern, disk=Disk(), closed=closed)
    assert len(glob.look().matching) == 1
    (data / "free" / "late.log").symlink_to(data / "web" / "access.log")
    look = glob.look()
    assert len(look.matching) == 1
    (why,) = look.refused.values()
    assert why == (
        "a file of the source hits_0, which this site declares; read it as it is declared"
    )
    assert look.is_whole


def test_a_rotation_between_two_looks_opens_nothing(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing has the file, and the declared path has lost it since."""

    class Emptied(Glob):
        def look(self) -> Listing:
            return Listing({}, {}, {})

    monkeypatch.setattr("headwater.store.input.closed_files.Glob", Emptied)
    (data / "free" / "folder").symlink_to(data / "web")
    (data / "free" / "link.log").symlink_to(data / "web" / "access.log")
    sources = config(str(data))
    assert read(sources, asking("free/folder/*")) == (["other.txt"], ["access.log"])
    assert read(sources, asking("free/*.log")) == (["own.log"], ["link.log"])


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_does_not_become_a_neighbour_by_being_declared(data: Path, is_there: bool) -> None:
    """A log that is rotated to a declared name is not followed there."""
    if is_there:
        (data / "web" / "mine.txt").write_text("x\n")
    query = asking("web/mine.txt")
    made = SiteSources(config(str(data)))
    directory, pattern = made.place(query.program.source)
    closed, _ = made.bounds_of(query.program.source)
    look = Glob(directory, pattern, disk=Disk(), closed=closed).look()
    names = {Path(path).name for paths in look.neighbours.values() for path in paths}
    assert names == {"other.txt"}
    assert len(look.neighbours) == 1
