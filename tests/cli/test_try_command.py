"""``headwater try``: what it refuses before any Spark starts, and one run of the whole way."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.agent.try_query import StreamResult, differences
from headwater.cli import main, try_command
from headwater.frontend.compile import compile_statements
from headwater.root.envelope import LeftOut
from headwater.spark import session

SHOPS = Path(__file__).resolve().parents[2] / "examples" / "shops"
RUN_S_MAX = 240.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.sql"], "none.sql: can't be read"),
        ([str(SHOPS / "sales.sql"), "--central", "--compare"], "leave --central away"),
        ([str(SHOPS / "sales.sql"), "--out", "answers.xlsx"], "or a file ending of that kind"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["try", *arguments, "--sites", str(SHOPS / "sites")])
    out, err = capsys.readouterr()
    assert ended.value.code == main.EXIT_REFUSED
    assert out == ""
    assert said in err


TWO_STREAMS = """
CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM one AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '10 seconds');
CREATE STREAM two AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '1 minute');
"""


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "start_session", lambda *_: pytest.fail("a Spark was started"))


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "csv"], "-o csv: 2 streams (one, two) have different columns; give --out FILE"),
        (["-o", "parquet"], "-o parquet: 2 streams (one, two) have different columns"),
        (["-o", "csv", "--out", "nowhere/a.csv"], "nowhere is not a directory; make it"),
        (["-o", "csv", "--out", "a-file/a.csv"], "a-file is not a directory"),
        (["--out", "taken.json"], "taken-two.json: wanted a file, and that is a directory"),
        (["--out", f"{'x' * 250}.json"], "can't be written: File name too long"),
        (["--memory", "100m"], "--memory 100m: Spark does not start with a heap of less than 512"),
        (["--memory", "900000g"], "--memory 900000g: this machine, or what it lets us have, has"),
        (["--memory", "2"], "--memory: wanted a size like 512m or 2g, got '2'"),
    ],
)
def test_what_could_not_be_done_at_the_end_is_refused_before_the_beginning(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.sql").write_text(TWO_STREAMS)
    (tmp_path / "a-file").touch()
    (tmp_path / "taken-two.json").mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        main.main(["try", "two.sql", "--sites", str(SHOPS / "sites"), *arguments])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (main.EXIT_REFUSED, ""), err
    assert said in err
    assert err.count("\n") == 1, "one sentence"
    assert sorted(tmp_path.iterdir()) == before, "to look whether a file can be written leaves none"


INTERRUPTED = """
import sys, time
from headwater.cli.main import main
from headwater.spark import session

def start(config):
    print(config.directory, flush=True)
    time.sleep(60)

session.start_session = start
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_try_that_is_told_to_end_leaves_nothing_behind(
    number: int, code: int, tmp_path: Path
) -> None:
    """Told at a moment when its directory is there."""
    command = [sys.executable, "-c", INTERRUPTED, "try", str(SHOPS / "sales.sql")]
    with subprocess.Popen(
        [*command, "--sites", str(SHOPS / "sites")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # we may run under nohup
    ) as trying:  # fmt: skip
        assert trying.stdout is not None
        directory = Path(trying.stdout.readline().strip())
        assert directory.name.startswith("headwater-try-"), trying.communicate()
        trying.send_signal(number)
        _, err = trying.communicate(timeout=60)
    assert trying.returncode == code, err
    assert not directory.exists()
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in err


@pytest.mark.spark
@pytest.mark.timeout(RUN_S_MAX)
def test_the_example_of_the_readme_gives_answers_equal_to_one_spark(tmp_path: Path) -> None:
    """In a process of its own, as a user runs it."""
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli", "try", str(SHOPS / "sales.sql"),
         "--sites", str(SHOPS / "sites"), "--compare"],
        capture_output=True, text=True, timeout=RUN_S_MAX, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["product"] for row in rows} == {"coffee", "tea", "cake", "bread"}
    assert all(row["exact"] and row["final"] and row["covered"] == 3 for row in rows)
    assert sum(row["pieces"] for row in rows) == _pieces()
    assert "revenue: 1 line could not be parsed" in done.stderr
    assert "revenue: equal to one Spark over all files" in done.stderr


@pytest.mark.spark
@pytest.mark.timeout(RUN_S_MAX)
def test_a_stream_with_several_roots_is_shown_as_one(tmp_path: Path) -> None:
    """Each root answers its part, and what a person gets is the stream."""
    text = (SHOPS / "sales.sql").read_text().replace("ORDER BY revenue DESC", "")
    file = tmp_path / "sales.sql"
    file.write_text(text.replace("WITH (begin", "WITH (roots = 'oslo, lisbon', begin"))
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli", "try", str(file), "--sites", str(SHOPS / "sites"),
         "--compare"],
        capture_output=True, text=True, timeout=RUN_S_MAX, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["stream"] for row in rows} == {"revenue"}
    assert {row["product"] for row in rows} == {"coffee", "tea", "cake", "bread"}
    assert sum(row["pieces"] for row in rows) == _pieces()
    assert [row["window_start"] for row in rows] == sorted(row["window_start"] for row in rows)
    for part in ("revenue_part_1", "revenue_part_2"):
        assert f"{part}: equal to one Spark over all files" in done.stderr


DIVISION = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, flag INT)
WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM division AS SELECT domain, 10 / sum(flag) AS x FROM hits
GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM counts AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '10 seconds');
"""
RECORDS = ("00Z,a,1", "12Z,zero,0", "13Z,b,1")


@pytest.mark.spark
@pytest.mark.timeout(RUN_S_MAX)
def test_a_group_that_can_t_be_computed_is_left_out_said_and_compares_equal(
    tmp_path: Path,
) -> None:
    """It stopped every window of every stream, for ever."""
    file = tmp_path / "division.sql"
    file.write_text(DIVISION)
    for site in ("oslo", "lima"):
        (tmp_path / "sites" / site).mkdir(parents=True)
        lines = "".join(f"2026-05-01T12:00:{record}\n" for record in RECORDS)
        (tmp_path / "sites" / site / "hits.csv").write_text(lines)
    done = subprocess.run(
        [sys.executable, "-m", "headwater.cli", "try", str(file), "--sites",
         str(tmp_path / "sites"), "--compare"],
        capture_output=True, text=True, timeout=RUN_S_MAX, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(row["domain"], row["exact"]) for row in rows if row["stream"] == "division"]
    assert found == [("a", True), ("b", False)]
    assert [row["n"] for row in rows if row["stream"] == "counts"] == [2, 4]
    assert all(row["final"] for row in rows)
    assert "1 group was left out: domain = zero: [DIVIDE_BY_ZERO]" in done.stderr
    for stream in ("division", "counts"):
        assert f"{stream}: equal to one Spark over all files" in done.stderr
    assert "Traceback" not in done.stderr
    assert "SQLQueryContextLogger" not in done.stderr


def test_only_the_first_windows_with_groups_left_out_are_told() -> None:
    (query,) = compile_statements(
        "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = '*', time = 'ts');"
        "CREATE STREAM n AS SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');",
        root="r", installer="r", next_counter=1,
    )  # fmt: skip
    left_out = {window: LeftOut(count=window) for window in range(1, 9)}
    lines = try_command.left_out_lines(StreamResult(query, (), left_out=left_out))
    assert lines[0] == "n: window from 1970-01-01T00:01:00Z: 1 group was left out"
    assert lines[-1] == "n: groups were left out of 3 windows more"
    assert len(lines) == 1 + try_command.LEFT_OUT_WINDOWS_SHOWN


def test_answers_that_lack_different_groups_are_not_equal() -> None:
    (query,) = compile_statements(
        "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = '*', time = 'ts');"
        "CREATE STREAM n AS SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');",
        root="r", installer="r", next_counter=1,
    )  # fmt: skip
    one, two = (StreamResult(query, (), left_out={3: LeftOut(count=n)}) for n in (1, 2))
    assert differences([one], [one]) == {"n": None}
    assert differences([one], [two]) == {"n": "window 3: 1 groups left out and 2 groups left out"}
    assert differences([one], [StreamResult(query, ())]) != {"n": None}


def _pieces() -> int:
    lines = [
        line.split(",")
        for file in SHOPS.glob("sites/*/sales.csv")
        for line in file.read_text().splitlines()
    ]
    return sum(int(fields[2]) for fields in lines if len(fields) == 4)
