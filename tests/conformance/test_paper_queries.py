"""The questions of the papers, each against plain Spark: JetStream's CDN (J12), iMR's applications
(I12)."""

from __future__ import annotations

import importlib.util
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

from headwater.local.trial.compare_results import differences
from headwater.local.trial.one_spark import try_central
from headwater.local.trial.results import StreamResult
from headwater.local.trial.try_query import try_query

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LINES_MAX = 10
"""Of a question."""


def make_logs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_logs", EXAMPLES / "cdn" / "make_logs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def both_ways(running_spark, text: str, sites: Path) -> dict[str, StreamResult]:
    federated = try_query(text, sites, spark=running_spark)
    central = try_central(text, sites, spark=running_spark)
    assert set(differences(federated, central).values()) == {None}
    return {one.query.id.name: one for one in federated}


def test_a_question_about_the_cdn_has_at_most_ten_lines() -> None:
    text = (EXAMPLES / "cdn" / "queries.sql").read_text("utf-8")
    streams = re.findall(r"^CREATE STREAM .*?;$", text, re.M | re.S)
    assert len(streams) == 7
    assert all(len(one.splitlines()) <= LINES_MAX for one in streams)


def test_the_logs_of_the_cdn_are_what_their_seed_makes() -> None:
    make = make_logs()
    first = list(make.lines(1, rate=5, seconds=10))
    assert first == list(make.lines(1, rate=5, seconds=10))
    assert first != list(make.lines(2, rate=5, seconds=10))
    assert all(line.count("\t") == 7 for line in first)


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_the_questions_about_the_cdn_have_the_answers_of_one_spark(
    running_spark, tmp_path: Path
) -> None:
    make_logs().write_logs(tmp_path, sites=3, rate=20, seconds=20)
    text = (EXAMPLES / "cdn" / "queries.sql").read_text("utf-8")
    results = both_ways(running_spark, text, tmp_path)
    assert all(one.windows for one in results.values())
    top = results["top_domains"].windows[0].rows
    assert top.num_rows == 10
    assert {len(one.rows["node"].unique()) for one in results["bandwidth_by_node"].windows} == {3}
    assert quantiles_outside(results["quantiles"], tmp_path) <= 1, "they hold in 99% of cases"


def quantiles_outside(result: StreamResult, logs: Path) -> int:
    """How many lie further away in the order of the values than their bound."""
    (bounded,) = result.query.bounds.columns
    times: dict[tuple[int, int], list[int]] = {}
    for file in logs.glob("*/access*.log"):
        for line in file.read_text("utf-8").splitlines():
            ts, _, _, _, status, _, ms, _ = line.split("\t")
            at = datetime.fromisoformat(ts).replace(tzinfo=UTC).timestamp() // 5 * 5
            times.setdefault((int(at), int(status)), []).append(int(ms))
    outside = 0
    for window in result.windows:
        for row in window.rows.to_pylist():
            values = times[window.start_us // 1_000_000, row["status"]]
            slack = bounded.bound.size * len(values) + 1
            for share, found in zip((0.5, 0.95, 0.99), row["ms"], strict=True):
                below, upto = sum(v < found for v in values), sum(v <= found for v in values)
                outside += not below - slack <= share * len(values) <= upto + slack
    return outside


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_words_are_counted(running_spark, tmp_path: Path) -> None:
    draw, words = random.Random(1), ["to", "be", "or", "not", "that", "is", "the", "question"]
    for site in ("a", "b", "c"):
        (tmp_path / site).mkdir()
        lines = [
            f"2026-05-01 12:0{n % 3}:00\t{'  '.join(draw.choices(words, k=9)).title()}\n"
            for n in range(60)
        ]
        (tmp_path / site / "text.txt").write_text("".join(lines))
    text = (EXAMPLES / "word_count" / "words.sql").read_text("utf-8")
    found = both_ways(running_spark, text, tmp_path)
    counted = found["words"]
    assert sum(sum(one.rows["n"].to_pylist()) for one in counted.windows) == 3 * 60 * 9
    assert found["frequent"].query.draw is None, "of an input that ends all is taken"
    demanded = found["frequent"].query.demanded
    assert demanded is not None
    assert (demanded.text(), demanded.scaled_columns) == ("area 50 %, random", ("n",))


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_sessions_of_users_over_all_servers_are_those_of_one_spark(
    running_spark, tmp_path: Path
) -> None:
    """And those of plain Spark's own session windows, down to the figures of each user."""
    draw = random.Random(2)
    clicks: dict[str, list[int]] = {}
    for server in range(5):
        folder = tmp_path / f"server-{server}"
        folder.mkdir()
        lines = []
        for user in (f"u{n}" for n in range(8)):
            for begin_s in draw.sample(range(0, 12 * 3_600, 4 * 3_600), k=2):
                times = sorted(begin_s + draw.randrange(5_400) for _ in range(6))
                clicks.setdefault(user, []).extend(times)
                lines += [f"{clock(at)},{user},/{n}\n" for n, at in enumerate(times)]
        (folder / "clicks.csv").write_text("".join(lines))
    text = (EXAMPLES / "click_sessions" / "sessions.sql").read_text("utf-8")
    found = both_ways(running_spark, text, tmp_path)["sessions"]
    session = running_spark.session
    answers = pa.concat_tables(
        one.rows.select(["user", "from_", "clicks", "seconds"]) for one in found.windows
    )
    session.createDataFrame(answers).createOrReplaceTempView("sessions")
    figures = (EXAMPLES / "click_sessions" / "users.spark").read_text("utf-8")
    told = {row["user"]: tuple(row)[1:] for row in session.sql(figures).collect()}
    assert told == {user: sessions_by_hand(times) for user, times in sorted(clicks.items())}


def clock(at_s: int) -> str:
    return datetime.fromtimestamp(1_777_593_600 + at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def sessions_by_hand(times: list[int]) -> tuple[int, float, float]:
    """(how many, their mean length in seconds, their mean number of clicks)"""
    runs: list[list[int]] = []
    for at in sorted(times):
        if runs and at - runs[-1][-1] < 1_800:
            runs[-1].append(at)
        else:
            runs.append([at])
    lengths = sum(run[-1] - run[0] for run in runs)
    return len(runs), lengths / len(runs), len(times) / len(runs)


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_the_slow_server_is_found_by_its_histogram(running_spark, tmp_path: Path) -> None:
    """Four servers write blocks in the same times, and one in longer ones."""
    draw = random.Random(1)
    for server in range(5):
        folder = tmp_path / f"rack-{server}"
        folder.mkdir()
        slow = 2.0 if server == 3 else 0.0
        lines = []
        for n in range(300):
            at = f"2026-05-01 12:{n // 6:02d}:{n % 6 * 10:02d}"
            ms = draw.lognormvariate(3.0 + slow, 1.0)
            lines.append(f"{at},dn-{server},write_begin,blk_{n},\n")
            lines.append(f"{at},dn-{server},write_end,blk_{n},{ms:.1f}\n")
        (folder / "datanode.log").write_text("".join(lines))
    text = (EXAMPLES / "hdfs_writes" / "histograms.sql").read_text("utf-8")
    found = both_ways(running_spark, text, tmp_path)["histograms"]
    session = running_spark.session
    answers = pa.concat_tables(
        one.rows.select(["from_", "server", "bucket", "writes"]) for one in found.windows
    )
    session.createDataFrame(answers).createOrReplaceTempView("histograms")
    test = (EXAMPLES / "hdfs_writes" / "ks_test.spark").read_text("utf-8")
    judged = {row["server"]: row["differs"] for row in session.sql(test).collect()}
    assert judged == {f"dn-{server}": server == 3 for server in range(5)}
