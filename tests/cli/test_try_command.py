"""``headwater try``: what it refuses before any Spark starts, and runs of the whole way.

One of them is a process of its own, with a JVM of its own; the others borrow that of the tests.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import msgspec
import pyarrow as pa
import pytest
from query_kit import queries_in

from headwater.cli import main
from headwater.cli.commands import try_command
from headwater.errors import GroupFailed, SparkFailed
from headwater.local.federation import Federation
from headwater.local.trial import one_spark
from headwater.local.trial import try_query as try_module
from headwater.local.trial.results import StreamResult, WindowResult
from headwater.plan.command import QueryId
from headwater.root.said.envelope import LeftOut
from headwater.spark.jvm import session
from headwater.spark.jvm.session import RunningSpark
from headwater.spark.root.bad_groups import Finished

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


class Jvm:
    """A process that does not come up; ``kill`` is what ends it."""

    def __init__(self) -> None:
        self.is_killed = threading.Event()

    def kill(self) -> None:
        self.is_killed.set()


@pytest.fixture
def jvms(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Jvm]]:
    """Those whose start began; at the end all have been ended."""
    found: list[Jvm] = []

    def start(config: object, *, began: Callable[[Any], None]) -> None:
        found.append(Jvm())
        began(found[-1])
        assert found[-1].is_killed.wait(RUN_S_MAX)
        raise SparkFailed("the JVM did not come up")

    monkeypatch.setattr(session, "start_session", start)
    yield found
    assert all(jvm.is_killed.is_set() for jvm in found)


@pytest.mark.usefixtures("jvms")
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
    arguments: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


BAD_SQL = """
CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = '*.csv', time = 'ts');
CREATE STREAM one AS SELECT count(*) AS n, nothing FROM hits GROUP BY window(ts, '10 seconds');
"""


def test_a_query_that_is_refused_ends_the_spark_that_started_while_it_was_compiled(
    jvms: list[Jvm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.sql").write_text(BAD_SQL)
    with pytest.raises(SystemExit) as ended:
        main.main(["try", str(tmp_path / "bad.sql"), "--sites", str(SHOPS / "sites")])
    assert ended.value.code == main.EXIT_REFUSED
    assert "nothing" in capsys.readouterr().err
    assert [jvm.is_killed.is_set() for jvm in jvms] == [True]


def test_no_spark_starts_where_there_are_no_sites(
    jvms: list[Jvm], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main.main(["try", str(SHOPS / "sales.sql"), "--sites", str(tmp_path)])
    assert "no folders in it" in capsys.readouterr().err
    assert jvms == []


INTERRUPTED = """
import sys, threading
from types import SimpleNamespace
from headwater.cli.main import main
from headwater.spark.jvm import session
from headwater.spark.jvm.session import RunningSpark

def start(config, *, began):
    killed = threading.Event()
    began(SimpleNamespace(kill=killed.set))
    print(config.directory, flush=True)
    killed.wait(240)
    raise SystemExit

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
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # we may run under nohup
    ) as trying:
        assert trying.stdout is not None
        directory = Path(trying.stdout.readline().strip())
        assert directory.name.startswith("headwater-try-"), trying.communicate()
        trying.send_signal(number)
        _, err = trying.communicate(timeout=240)
    assert trying.returncode == code, err
    assert not directory.exists()
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in err


@pytest.mark.spark
@pytest.mark.timeout(RUN_S_MAX)
def test_the_example_of_the_readme_gives_answers_equal_to_one_spark(tmp_path: Path) -> None:
    """In a process of its own, as a user runs it."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "headwater.cli",
            "try",
            str(SHOPS / "sales.sql"),
            "--sites",
            str(SHOPS / "sites"),
            "--compare",
        ],
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["product"] for row in rows} == {"coffee", "tea", "cake", "bread"}
    assert all(row["exact"] and row["final"] and row["covered"] == 3 for row in rows)
    assert sum(row["pieces"] for row in rows) == _pieces()
    assert "revenue: 1 line could not be parsed" in done.stderr
    assert "sales: read 3 files at 3 sites: 75 lines, 74 records, 1 malformed" in done.stderr
    assert "lisbon: wanted 4 fields, got 1 (1 line: '" in done.stderr
    assert "revenue: equal to one Spark over all files" in done.stderr


class Done(NamedTuple):
    code: int
    out: str
    err: str


Trying = Callable[..., Done]


class Borrowed:
    """The JVM of the tests, which does not end with the command."""

    def __init__(self, spark: RunningSpark) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def stop(self) -> None:
        pass


@pytest.fixture
def trying(
    running_spark: RunningSpark,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> Trying:
    """The command with these arguments, in a directory of its own."""

    def run(file: Path, sites: Path, *more: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            main.main(["try", str(file), "--sites", str(sites), *more])
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, *capfd.readouterr())

    monkeypatch.setattr(session, "start_session", lambda _, **__: Borrowed(running_spark))
    monkeypatch.chdir(tmp_path)
    return run


@pytest.mark.spark
@pytest.mark.timeout(RUN_S_MAX)
def test_a_stream_with_several_roots_is_shown_as_one(tmp_path: Path, trying: Trying) -> None:
    """Each root answers its part, and what a person gets is the stream."""
    text = (SHOPS / "sales.sql").read_text().replace("ORDER BY revenue DESC", "")
    file = tmp_path / "sales.sql"
    file.write_text(text.replace("WITH (begin", "WITH (roots = 'oslo, lisbon', begin"))
    done = trying(file, SHOPS / "sites", "--compare")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert {row["stream"] for row in rows} == {"revenue"}
    assert {row["product"] for row in rows} == {"coffee", "tea", "cake", "bread"}
    assert sum(row["pieces"] for row in rows) == _pieces()
    assert [row["window_start"] for row in rows] == sorted(row["window_start"] for row in rows)
    for part in ("revenue_part_1", "revenue_part_2"):
        assert f"{part}: equal to one Spark over all files" in done.err


TRAILING = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes INT)
WITH (format = 'csv', path = 'hits*.csv', time = 'ts');
CREATE STREAM sums AS SELECT domain, sum(bytes) AS b FROM hits
GROUP BY window(ts, '10 seconds'), domain;
CREATE STREAM counts AS SELECT count(*) AS n FROM hits GROUP BY window(ts, '10 seconds');
"""


@pytest.mark.spark
@pytest.mark.timeout(RUN_S_MAX)
def test_a_comma_too_many_in_every_line_is_a_failure_with_its_reason(
    tmp_path: Path, trying: Trying
) -> None:
    """It gave no rows, exit code 0 and "equal". One stream can use what another can't."""
    file = tmp_path / "hits.sql"
    file.write_text(TRAILING)
    at = "2026-05-01T12:00:00Z"
    sites = {
        "lima": [f"{at},a,{n}" for n in range(300)] + [f"{at},b,many"] * 2,
        "oslo": [f"{at},a,{n}," for n in range(20)],
    }
    for site, lines in sites.items():
        (tmp_path / "sites" / site).mkdir(parents=True)
        (tmp_path / "sites" / site / "hits.csv").write_text("".join(f"{x}\n" for x in lines))
    (tmp_path / "sites" / "rome").mkdir()
    (tmp_path / "sites" / "rome" / "hit.csv").write_text(f"{at},a,1\n")
    done = trying(file, tmp_path / "sites", "--compare", "--out", "found.csv")
    said = done.err
    assert done.code == try_command.EXIT_INCOMPLETE, said
    assert done.out == ""
    assert "hits: read 2 files at 3 sites: 322 lines, 302 records, 22 malformed (6.83%)" in said
    assert (
        "  oslo: wanted 3 fields, got 4 (20 lines; the first: '2026-05-01T12:00:00Z,a,0,')" in said
    )
    assert "  lima: bytes: wanted int, came 'many' (2 lines; the first: '" in said
    assert "  rome: no file matches 'hits*.csv'; nearest: hit.csv" in said
    assert "sums: 22 lines could not be parsed" in said
    assert "counts: 20 lines could not be parsed" in said
    assert "sums: 1 row written to found-sums.csv" in said
    assert "counts: 1 row written to found-counts.csv" in said
    assert "counts: equal to one Spark over all files" in said
    assert said.splitlines()[-1] == (
        "hits: oslo: 20 of 20 lines are malformed, more than malformed_max = '1%'"
    )
    assert (tmp_path / "found-counts.csv").read_text().splitlines()[-1].endswith("302")
    assert not (tmp_path / "found.csv").exists()


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
    tmp_path: Path, trying: Trying
) -> None:
    """It stopped every window of every stream, for ever."""
    file = tmp_path / "division.sql"
    file.write_text(DIVISION)
    for site in ("oslo", "lima"):
        (tmp_path / "sites" / site).mkdir(parents=True)
        lines = "".join(f"2026-05-01T12:00:{record}\n" for record in RECORDS)
        (tmp_path / "sites" / site / "hits.csv").write_text(lines)
    done = trying(file, tmp_path / "sites", "--compare")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    found = [(row["domain"], row["exact"]) for row in rows if row["stream"] == "division"]
    assert found == [("a", True), ("b", False)]
    assert [row["n"] for row in rows if row["stream"] == "counts"] == [2, 4]
    assert all(row["final"] for row in rows)
    assert "1 group was left out: domain = zero: [DIVIDE_BY_ZERO]" in done.err
    for stream in ("division", "counts"):
        assert f"{stream}: equal to one Spark over all files" in done.err
    assert "Traceback" not in done.err
    assert "SQLQueryContextLogger" not in done.err


def test_only_the_first_windows_with_groups_left_out_are_told() -> None:
    (query,) = queries_in(
        "CREATE SOURCE s (ts TIMESTAMP) WITH (format = 'csv', path = '*', time = 'ts');"
        "CREATE STREAM n AS SELECT count(*) AS n FROM s GROUP BY window(ts, '1 minute');",
        at="r",
    )
    left_out = {window: LeftOut(count=window) for window in range(1, 9)}
    lines = try_command.left_out_lines(StreamResult(query, (), left_out=left_out))
    assert lines[0] == "n: window from 1970-01-01 00:01:00 UTC: 1 group was left out"
    assert lines[-1] == "n: groups were left out of 3 windows more"
    assert len(lines) == 1 + try_command.LEFT_OUT_WINDOWS_SHOWN


SALES = (SHOPS / "sales.sql").read_text()
REFUSED = "[CAST_INVALID_INPUT] The value 'x' can't be cast"


def a_result(**more: Any) -> StreamResult:
    """Of the shops' query, without any window."""
    query = queries_in(SALES, at="root")[0]
    return StreamResult(query, (), **more)


def run_try(
    monkeypatch: pytest.MonkeyPatch,
    *arguments: str,
    file: Path = SHOPS / "sales.sql",
    **computed: Any,
) -> int:
    """The command's exit code, where this is what the two ways of computing do."""
    spark = SimpleNamespace(session=None, stop=lambda: None, bytes_scanned=lambda: 0)
    monkeypatch.setattr(session, "start_session", lambda _, **__: spark)
    for name, compute in computed.items():
        module = try_module if name == "try_query" else one_spark
        monkeypatch.setattr(module, name, compute)
    with pytest.raises(SystemExit) as ended:
        main.main(["try", str(file), "--sites", str(SHOPS / "sites"), *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_answers_without_the_records_of_a_site_say_so_and_end_with_a_code_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    partial = a_result(failed={"oslo": REFUSED})
    code = run_try(monkeypatch, try_query=lambda *_, **__: [a_result(), partial])
    assert code == try_command.EXIT_INCOMPLETE == 3
    assert f"revenue: records of oslo are missing, Spark refused: {REFUSED}" in (
        capsys.readouterr().err
    )


def test_answers_with_the_records_of_all_sites_end_well(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_try(monkeypatch, try_query=lambda *_, **__: [a_result()]) == 0


def test_answers_that_differ_from_one_spark_end_as_different_whatever_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = run_try(
        monkeypatch,
        "--compare",
        try_query=lambda *_, **__: [a_result(failed={"oslo": REFUSED})],
        try_central=lambda *_, **__: [a_result(left_out={3: LeftOut(count=1)})],
    )
    assert code == try_command.EXIT_DIFFERENT == 1


@pytest.mark.parametrize("error", [SparkFailed("no room"), GroupFailed("one Spark", "no room")])
def test_answers_that_could_not_be_compared_are_shown_and_end_as_different(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    partial = a_result(failed={"oslo": REFUSED})
    code = run_try(monkeypatch, "--compare", try_query=lambda *_, **__: [partial], _central=fail)
    assert code == try_command.EXIT_DIFFERENT
    said = capsys.readouterr().err
    assert "records of oslo are missing" in said
    assert "revenue: not compared:" in said
    assert "no room" in said


def test_a_stream_that_one_spark_cannot_answer_leaves_the_others_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, second = a_result(), a_result()
    name = second.query.id.name
    other = msgspec.structs.replace(first.query, id=QueryId("hard", "root", 9))

    def by_one(*_: object, failed: dict[str, str], **__: object) -> list[Any]:
        failed["hard"] = "no room"
        return [second]

    run_try(
        monkeypatch,
        "--compare",
        try_query=lambda *_, **__: [msgspec.structs.replace(first, query=other), second],
        try_central=by_one,
    )
    said = capsys.readouterr().err
    assert "hard: not compared: no room" in said
    assert f"{name}: not compared" not in said


def test_one_spark_names_the_files_that_it_left_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "oslo").mkdir()
    for number in range(7):
        (tmp_path / "oslo" / f"sales{number}.csv.zip").write_bytes(b"x")
    monkeypatch.setattr(one_spark, "central_finished", lambda *_, **__: Finished())
    file = tmp_path / "sales.sql"
    file.write_text(SALES.replace("'sales.csv'", "'sales*'"))
    code = run_try(monkeypatch, "--central", "--sites", str(tmp_path), file=file)
    said = capsys.readouterr().err
    assert code == try_command.EXIT_INCOMPLETE, "nothing was read"
    assert f"revenue: {tmp_path}/oslo/sales0.csv.zip was not read: can't be expanded here" in said
    assert said.count("was not read") == try_command.LEFT_ALONE_SHOWN
    assert "revenue: 2 files more were not read" in said


def windows_of(*row_counts: int) -> StreamResult:
    """Windows with so many rows each, computed by one Spark."""
    rows = [pa.table({"n": list(range(count))}) for count in row_counts]
    windows = [WindowResult(n, n * 10**7, (n + 1) * 10**7, one) for n, one in enumerate(rows)]
    return StreamResult(a_result().query, tuple(windows))


def test_a_limit_is_for_each_window_and_what_it_leaves_out_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = windows_of(5, 1, 3)
    assert run_try(monkeypatch, "--limit", "2", try_query=lambda *_, **__: [result]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["n"] for line in out.splitlines()] == [0, 1, 0, 0, 1]
    assert "revenue: 4 of 9 rows left out: --limit 2 is for each window" in err


def test_a_limit_that_leaves_nothing_out_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_try(monkeypatch, "--limit", "5", try_query=lambda *_, **__: [windows_of(5, 1)])
    assert "left out" not in capsys.readouterr().err


def test_a_sample_is_what_both_ways_read_and_never_called_exact(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read: list[list[str]] = []

    def compute(text: str, sites: Path, **_: object) -> list[StreamResult]:
        read.append(sorted(str(path.relative_to(sites)) for path in sites.glob("*/*")))
        return [windows_of(2)]

    code = run_try(
        monkeypatch, "--sample", "0.5", "--compare", try_query=compute, try_central=compute
    )
    out, err = capsys.readouterr()
    assert code == 0
    assert read[0] == read[1]
    assert {name.split("/")[0] for name in read[0]} == {"berlin", "lisbon", "oslo"}
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["exact"], row["sample"]) for row in rows] == [(False, 0.5)] * 2
    assert "a sample: " in err
    assert "revenue: equal to one Spark over the same sample" in err


@pytest.mark.usefixtures("jvms")
@pytest.mark.parametrize("share", ["0", "1.5", "-0.1"])
def test_a_share_that_is_none_is_refused(share: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(
            ["try", str(SHOPS / "sales.sql"), "--sites", str(SHOPS / "sites"), "--sample", share]
        )
    assert ended.value.code == main.EXIT_REFUSED
    assert "wanted a share above 0 and up to 1, 0.01 say" in capsys.readouterr().err


def test_a_site_where_spark_refused_records_of_a_query_is_named_with_its_words() -> None:
    query = a_result().query

    def at(*found: tuple[str, str], broken: tuple[str, ...] = ()) -> Any:
        edge = tuple(
            SimpleNamespace(query=id_, record=SimpleNamespace(message=words))
            for id_, words in found
        )
        return SimpleNamespace(
            node=SimpleNamespace(progress=lambda: SimpleNamespace(edge=edge)),
            feeder=SimpleNamespace(broken=lambda source: list(broken)),
        )

    runtimes = {
        "root": at(),
        "oslo": at((str(query.id), REFUSED), ("other@root#9", "not of this query")),
        "lima": at((str(query.id), ""), ("other@root#9", "not of this query")),
        "rome": at(broken=("a.csv.gz can't be read: too short",)),
    }
    federation = cast(Federation, SimpleNamespace(runtimes=runtimes))
    assert try_module._failed(federation, query) == {
        "oslo": REFUSED,
        "rome": "a.csv.gz can't be read: too short",
    }


def _pieces() -> int:
    lines = [
        line.split(",")
        for file in SHOPS.glob("sites/*/sales.csv")
        for line in file.read_text().splitlines()
    ]
    return sum(int(fields[2]) for fields in lines if len(fields) == 4)


def test_a_path_that_no_site_has_below_its_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By both ways, before a Spark is started."""
    for name in ("oslo", "rome"):
        (tmp_path / "sites" / name).mkdir(parents=True)
    file = tmp_path / "sales.sql"
    for path in ("/etc/passwd", f"{tmp_path}/sites/oslo/sales.csv"):
        file.write_text(SALES.replace("'sales.csv'", f"'{path}'"))
        for way in ((), ("--central",)):
            code = run_try(monkeypatch, *way, "--sites", str(tmp_path / "sites"), file=file)
            said = capsys.readouterr().err
            assert code != 0
            assert f"{path!r} is not below {tmp_path}/sites/" in said
