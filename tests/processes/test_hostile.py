"""A thief with a site's key against real agents, in small; ``make hostile`` tries every row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hostile.attacks import ROWS, SMALL
from hostile.honest import Answers
from hostile.run import BROKEN, HELD, OPEN, Line, Outcome, run


@pytest.mark.processes
def test_what_a_stolen_key_says_harms_nobody_and_all_start_again(tmp_path: Path) -> None:
    outcome = run(
        tmp_path / "federation",
        rows=SMALL,
        site_count=2,
        has_spark=False,
        say=lambda text: print(text, flush=True),
    )
    assert outcome.is_good, [str(line) for line in outcome.lines] + outcome.troubles
    assert [line.verdict for line in outcome.lines] == [HELD] * len(SMALL)


def test_every_row_of_the_table_is_tried() -> None:
    assert list(ROWS) == list(range(1, 20))
    assert len({attack for _, attack in ROWS.values()}) == len(ROWS)


def test_one_row_that_is_broken_is_not_good_and_one_that_is_not_built_is_no_defeat() -> None:
    assert not Outcome([Line(1, "x", BROKEN, "a shell")]).is_good
    assert Outcome([Line(1, "x", OPEN, "…"), Line(2, "y", HELD, "…")]).is_good
    assert not Outcome([], ["site1 has ended"]).is_good


def test_an_exact_answer_with_another_count_than_was_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = Answers(tmp_path, "site1")
    monkeypatch.setattr(Answers, "exact", lambda self: {10: 4, 15: 3, 5: 0})
    truth = Counter({10: 4, 15: 4, 5: 9})
    assert answers.wrong(truth, first=5) == ["window of 15: exact with 3, written were 4"]
