"""What ``demo --keep`` leaves behind."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from query_kit import queries_in

from headwater.errors import ConfigurationError
from headwater.local import up
from headwater.local.demo import kept_demo
from headwater.local.demo.demo import REGIONS, demo_sql
from headwater.local.demo.kept_demo import QUESTIONS, kept_sql, refuse_taken, take_over, what_to_ask
from headwater.local.demo.narrowed_line import COARSE
from headwater.local.demo.narrowed_line import STREAM as PAGES
from headwater.store.input.site_files import paths_below


def test_the_questions_are_the_demos_from_the_earliest_record_on() -> None:
    kept = queries_in(kept_sql())
    asked = queries_in(demo_sql())
    # Levels can't be had of the past, and the coarser key is read for them.
    asked = [query for query in asked if query.stream not in (PAGES, COARSE)]
    assert [query.stream for query in kept] == [*(query.stream for query in asked), PAGES]
    written = [query.program.site_sql for query in asked]
    assert [query.program.site_sql for query in kept[:-1]] == written
    assert all(query.begin_pane is None for query in kept)


def test_all_logs_are_taken_over_and_named_by_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "start", lambda *_, **__: SimpleNamespace())
    logs, directory = tmp_path / "federation" / "logs", tmp_path / "federation"
    for region, sites in REGIONS.items():
        for site, *_ in sites:
            (logs / region / site).mkdir(parents=True)
            (logs / region / site / "access-1.log").write_text("x\n")
    take_over(directory, logs, say=lambda _: None)
    (query, *_) = queries_in((directory / QUESTIONS).read_text())
    folders = [directory / site / "data" for site in kept_demo.REGIONS_OF]
    assert len(paths_below(folders, query.program.source.path)) == 12
    assert not logs.exists()
    assert f"headwater down {directory}" in what_to_ask(directory)


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    refuse_taken(tmp_path / "new")
    refuse_taken(tmp_path)
    (tmp_path / "mine").touch()
    with pytest.raises(ConfigurationError, match="is there already"):
        refuse_taken(tmp_path)
