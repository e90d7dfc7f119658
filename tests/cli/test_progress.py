"""What a long command says while it works."""

from __future__ import annotations

import pytest

from headwater.cli.show.progress import PLAIN_EVERY_S, ProgressLine, progress_text
from headwater.local.trial.results import Progress

FIRST = Progress("reading at the sites", sites=223, bytes_all=310_000_000)
LATER = Progress(
    "reading at the sites",
    sites=223,
    sites_read=12,
    bytes_all=310_000_000,
    bytes_read=45_200_000,
    records=1_200_000,
)


def test_what_there_is_to_read_is_told_from_the_start() -> None:
    assert progress_text(FIRST, FIRST, elapsed_s=0.0) == (
        "reading at the sites, 0 of 223 sites done, 0 B of 310.0 MB (0%)"
    )


def test_bytes_records_and_their_rates_are_told_of_a_phase() -> None:
    assert progress_text(LATER, FIRST, elapsed_s=10.0) == (
        "reading at the sites, 12 of 223 sites done, 45.2 MB of 310.0 MB (14%), "
        "1,200,000 records, 4.5 MB/s, 120,000 records/s"
    )


def test_a_phase_that_reads_nothing_has_no_rate() -> None:
    answering = Progress("answering", bytes_all=9, bytes_read=9, records=3, windows=2)
    text = progress_text(answering, answering, elapsed_s=100.0)
    assert text == "answering, 9 B of 9 B (100%), 3 records, 2 answers"


def test_a_site_in_trouble_is_named() -> None:
    text = progress_text(Progress("reading", trouble="oslo: no disk"), FIRST, elapsed_s=0.0)
    assert text == "reading, in trouble: oslo: no disk"


def test_a_pipe_gets_a_line_for_each_phase_and_then_seldom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter([0.0, 1.0, PLAIN_EVERY_S, PLAIN_EVERY_S + 1.0, PLAIN_EVERY_S + 1.1])
    with ProgressLine(now_s=lambda: next(times)) as line:
        for progress in (FIRST, LATER, LATER, LATER, Progress("answering")):
            line.show(progress)
    lines = capsys.readouterr().err.splitlines()
    assert [text.split(",")[0] for text in lines] == [
        "reading at the sites",
        "reading at the sites",
        "answering",
    ]
