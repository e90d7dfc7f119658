"""What ``try`` says of an error: what sites would have kept back, and how far that is off."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from pathlib import Path

import msgspec
import pytest
from query_kit import queries_in

from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.withhold import Rehearsed
from headwater.cli.commands.try_command import _answers
from headwater.local.trial.kept_back import KeptBack, kept_back, kept_back_lines, staleness_lines
from headwater.local.trial.try_query import try_query
from headwater.plan.query import Query
from headwater.spark.jvm.session import RunningSpark

SOURCE = (
    "CREATE SOURCE r (word STRING, ts BIGINT) WITH (format = 'json', path = '*.json', "
    "time = 'ts', timestamp_format = 'epoch_s');"
)
START_S = 1_767_225_600
"""2026-01-01 00:00:00 UTC, a multiple of the windows below."""


def text(error: str) -> str:
    return (
        f"{SOURCE} CREATE STREAM s WITH (error = '{error}') AS SELECT word, count(*) AS n "
        "FROM r GROUP BY word, window(ts, '60 seconds', '20 seconds');"
    )


def query(error: str) -> Query:
    (found,) = queries_in(text(error))
    return found


def of(largest: float, keys: int, total: float) -> Rehearsed:
    return Rehearsed(10, keys, (Remainder(largest, largest * keys, keys, total),))


def test_windows_merge_panes_and_sites_and_the_worst_is_named() -> None:
    sites = [{3: of(2.0, 3, 100.0), 4: of(1.0, 1, 100.0), 6: Rehearsed(7)}, {3: of(4.0, 2, 200.0)}]
    found = kept_back(query("5 % of total"), sites, windows=[1, 2, 3, 4])
    assert found is not None
    assert (found.rows, found.kept) == (37, 6)
    (worst,) = found.worst
    # Pane 3 is in windows 1, 2 and 3; without pane 4, window 1 has 6 of 300.
    assert (worst.window, worst.stated.largest) == (1, 6.0)
    assert worst.stated.share == pytest.approx(0.02)
    assert worst.stated.is_kept


def test_of_a_threshold_it_is_said_what_its_limit_would_keep_back() -> None:
    asked = text("1").replace("error = '1'", "degrade = 'threshold(n, 5 % of total)'")
    (found,) = queries_in(asked)
    (first, *_) = kept_back_lines(found, KeptBack(100, 40))
    assert first == (
        "s: nothing is given up in a trial, which has no narrow link; at its limit the threshold "
        "would keep back 40 of 100 rows (40%)"
    )


def test_of_the_largest_alone_it_is_said_what_their_first_step_would_keep_back() -> None:
    asked = text("1").replace("error = '1'", "degrade = 'top(9, n)'")
    (found,) = queries_in(asked.replace(", '20 seconds')", ")"))
    (first, *_) = kept_back_lines(found, KeptBack(100, 40))
    assert first == (
        "s: nothing is given up in a trial, which has no narrow link; with the largest 9 alone "
        "sites would keep back 40 of 100 rows (40%), before the root asks for what it needs"
    )


def test_of_a_staleness_it_is_said_what_a_live_stream_would_have_for_the_way() -> None:
    asked = text("1").replace("error = '1'", "staleness = '5 s', disorder = '1500 ms'")
    (found,) = queries_in(asked)
    (line,) = staleness_lines(found)
    assert "Live, a window is answered 5 seconds after its end with what is in by then" in line
    assert "wait 1500 milliseconds for records in disorder" in line
    assert "leaves 2500 milliseconds for the way" in line
    assert list(staleness_lines(queries_in(text("1"))[0])) == []


def test_an_absolute_error_goes_by_its_number() -> None:
    found = kept_back(query("9"), [{3: of(2.0, 3, 100.0), 4: of(1.0, 1, 9.0)}], windows=[1, 2, 3])
    assert found is not None
    (worst,) = found.worst
    assert (worst.window, worst.stated.largest, worst.stated.share) == (2, 3.0, None)


def test_a_stream_without_an_error_has_nothing_to_say() -> None:
    plain = msgspec.structs.replace(query("9"), tolerance=msgspec.UNSET)
    assert kept_back(plain, [], windows=[]) is None


def test_what_each_value_needs_is_said() -> None:
    asked = query("1 %")
    assert kept_back_lines(asked, KeptBack(rows=1200, kept=0)) == [
        "s: error 1 %: sites would have kept back none of 1,200 rows; "
        "an error of each value needs every group"
    ]


def made_files(sites: Path) -> dict[str, list[tuple[int, str]]]:
    """Some words are frequent, most are rare."""
    draw = random.Random(7)
    made: dict[str, list[tuple[int, str]]] = {}
    for name, count in (("ams", 900), ("fra", 400)):
        made[name] = [
            (START_S + draw.randrange(120), f"w{int(draw.paretovariate(0.6))}")
            for _ in range(count)
        ]
        (sites / name).mkdir(parents=True)
        lines = [json.dumps({"word": word, "ts": ts}) for ts, word in made[name]]
        (sites / name / "r.json").write_text("\n".join(lines) + "\n")
    return made


def expected(made: dict[str, list[tuple[int, str]]], share: float) -> tuple[int, int, float, int]:
    """Rows, rows kept back, the largest share of a window, and its start; record by record."""
    rows = kept = 0
    largest: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for records in made.values():
        panes: dict[int, Counter[str]] = defaultdict(Counter)
        for ts, word in records:
            panes[ts // 20][word] += 1
        for pane, words in panes.items():
            total = sum(words.values())
            small = [n for n in words.values() if n <= share * total]
            rows, kept = rows + len(words), kept + len(small)
            for window in (pane - 2, pane - 1, pane) if small else ():
                largest[window].append((max(small), total))
    shares = {w: sum(a for a, _ in of) / sum(b for _, b in of) for w, of in largest.items()}
    worst = max(sorted(shares), key=lambda w: shares[w])
    return rows, kept, shares[worst], worst * 20


def test_a_trial_says_what_its_sites_would_have_kept_back(
    tmp_path: Path, running_spark: RunningSpark
) -> None:
    made = made_files(tmp_path / "sites")
    (result,) = try_query(text("2 % of total"), tmp_path / "sites", spark=running_spark)
    rows, kept, share, start_s = expected(made, 0.02)
    found = result.kept_back
    assert found is not None
    assert 0 < kept < rows
    assert (found.rows, found.kept) == (rows, kept)
    (worst,) = found.worst
    assert worst.stated.share == pytest.approx(share)
    assert result.query.window.window_start_us(worst.window) == start_s * 1_000_000
    # And the answers themselves are whole.
    answered = {one.window: sum(one.rows["n"].to_pylist()) for one in result.windows}
    counted = Counter(w for of in made.values() for ts, _ in of for w in _windows(ts))
    assert answered == counted
    assert all(header["exact"] for header in _answers([result]).headers)


def _windows(ts: int) -> range:
    return range(ts // 20 - 2, ts // 20 + 1)
