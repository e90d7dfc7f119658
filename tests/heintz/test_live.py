"""The live figure's own arithmetic; that agents and links are right is what it measures."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from experiments import heintz_live
from experiments.heintz import shaped_link
from experiments.heintz_live import (
    PAUSE_WINDOWS,
    STREAMS,
    WINDOW_S,
    WINDOWS,
    begins_of,
    error_share,
    statements,
)
from query_kit import queries_in

TRUTH = pa.table({"url": ["/a", "/b", "/c"], "requests": [60, 30, 10]})


@pytest.mark.parametrize(
    ("mine", "share"),
    [
        (TRUTH, 0.0),
        (TRUTH.slice(0, 2), 0.1),
        (TRUTH.slice(0, 1), 0.3),
        (pa.table({"url": ["/a", "/b", "/x"], "requests": [60, 30, 45]}), 0.45),
        (None, 0.6),
    ],
)
def test_an_error_is_the_largest_of_all_groups_by_the_total(
    mine: pa.Table | None, share: float
) -> None:
    assert error_share(mine, TRUTH) == pytest.approx(share)


def test_each_stream_has_the_link_to_itself_and_they_ask_the_same() -> None:
    begins = begins_of(1_000.0)
    starts = list(begins.values())
    taken_s = (WINDOWS + PAUSE_WINDOWS) * WINDOW_S
    assert all(b - a == taken_s for a, b in pairwise(starts))
    queries = queries_in(statements(begins), at="home", known_sites=("home",))
    assert [query.stream for query in queries] == list(STREAMS)
    assert len({query.program.site_sql for query in queries}) == 1


def test_without_the_right_to_namespaces_it_says_so_and_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(_: object) -> None:
        raise AssertionError("nothing is measured")

    monkeypatch.setattr(shaped_link.os, "geteuid", lambda: 1_000)
    monkeypatch.setattr(heintz_live, "measure", never)
    heintz_live.main()
    assert "NOT MEASURED" in (said := capsys.readouterr().out)
    assert "network namespaces need root" in said
