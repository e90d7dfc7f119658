"""``try --infer``: which source is inferred, for which question."""

from pathlib import Path

import pytest
from query_kit import queries_in

from headwater.errors import ConfigurationError
from headwater.local.trial.infer_try import with_inferred_source

STREAM = "CREATE STREAM s AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 minute');"
OTHER = STREAM.replace("STREAM s", "STREAM t").replace("hits", "others")
SOURCE = "CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = '*', time = 'ts');"


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    """Two sites with a level in each line, more of one kind than of the other."""
    for site in ("a", "b"):
        (tmp_path / site).mkdir()
        lines = [f"2026-05-01T12:{n:02d}:00Z,{'info' if n % 3 else 'warn'},{n}" for n in range(60)]
        (tmp_path / site / "app.csv").write_text("\n".join(["ts,level,n", *lines]) + "\n")
    return tmp_path


def test_without_a_question_records_are_counted_by_time_and_by_what_tells_most(sites: Path) -> None:
    text, inferred = with_inferred_source(None, sites)
    (query,) = queries_in(text, at="r")
    assert (query.source_name, inferred.name) == ("app", "app")
    assert [key.name for key in query.program.keys] == ["level"]
    assert query.window.range_us == 300 * 1_000_000


def test_a_question_over_a_source_that_is_not_declared_gets_it_under_that_name(sites: Path) -> None:
    text, inferred = with_inferred_source(STREAM, sites)
    (query,) = queries_in(text, at="r")
    assert query.source_name == inferred.name == "hits"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{SOURCE} {STREAM}", "it declares all that it reads"),
        (f"{STREAM} {OTHER}", "these are missing: hits, others"),
    ],
)
def test_what_there_is_nothing_or_too_much_to_infer_for_is_refused(
    text: str, said: str, sites: Path
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        with_inferred_source(text, sites)
