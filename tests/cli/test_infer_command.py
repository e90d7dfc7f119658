"""``headwater infer`` and ``check-source``: what they print, and what they refuse before Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.algebra.words.malformed import Malformed
from headwater.cli import main
from headwater.cli.commands.infer_command import sql_text, words
from headwater.local.look.check_source import SiteGives
from headwater.local.look.infer_check import Held
from headwater.local.look.infer_files import infer_files
from headwater.spark.jvm import session
from headwater.spark.source_check import SiteCheck
from headwater.sql.compile import parse_script

SHOPS = Path(__file__).resolve().parents[2] / "examples" / "shops"


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "start_session", lambda *_: pytest.fail("a Spark was started"))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main.main(list(arguments))
    return int(ended.value.code or 0)


def test_what_is_printed_is_a_file_of_sql(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer", str(SHOPS / "sites"), "--quick", "--name", "sold") == 0
    out, _ = capsys.readouterr()
    (source,) = parse_script(out).sources
    assert (source.name, source.path, source.time_column) == ("sold", "sales.csv", "column_1")
    assert "-- Not sure: no header was found" in out


def test_programs_get_an_object_with_each_doubt(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("infer", str(SHOPS / "sites"), "--quick", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["source"] == "sales"
    assert found["files"] == found["looked_at"] == 3
    assert len(found["doubts"]) == 2
    assert found["records"] is None


def test_a_source_that_can_not_be_run_as_it_is_is_shown_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``window`` is the name of an answer's window, in backticks as well."""
    (tmp_path / "a.csv").write_text("ts,window\n2026-05-01T12:00:00Z,1\n")
    assert run("infer", str(tmp_path / "a.csv")) == main.EXIT_REFUSED
    out, _ = capsys.readouterr()
    assert "-- Can't be run as it is: line 3" in out
    assert "CREATE SOURCE a (" in out


def test_records_and_malformed_lines_are_comments(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,city\n2026-05-01T12:00:00Z,Oslo\n")
    held = Held(SiteCheck(lines=2, malformed=1), ({"ts": "2026-05-01 12:00:00", "city": None},))
    text = sql_text(infer_files([tmp_path]), held)
    assert text.endswith(
        "-- Of the 2 lines that were looked at, 1 is malformed for it.\n"
        "-- The first records, as Spark reads them:\n"
        "--   ts                   city\n"
        "--   2026-05-01 12:00:00  NULL"
    )
    assert len(parse_script(text).sources) == 1


def test_files_that_were_not_read_are_comments(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,city\n2026-05-01T12:00:00Z,Oslo\n")
    held = Held(SiteCheck(lines=1), (), {"b.csv": "it is damaged"})
    text = sql_text(infer_files([tmp_path]), held)
    assert text.endswith("-- Not read: b.csv: it is damaged")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["infer", "nowhere"], "nowhere: there is no such file or folder"),
        (["infer", str(SHOPS), "-o", "csv"], "-o csv: this command prints sql or json"),
        (["try", "--sites", str(SHOPS / "sites")], "wanted a file of statements, or --infer"),
        (["check-source", "none.sql", "--sites", str(SHOPS / "sites")], "none.sql: can't be read"),
        (
            ["try", str(SHOPS / "sales.sql"), "--infer", "--sites", str(SHOPS / "sites")],
            "it declares all that it reads",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == main.EXIT_REFUSED
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_people_are_told_what_to_do_about_each_source() -> None:
    gives = [
        SiteGives("hits", "oslo", 1, 10, {}, SiteCheck(lines=9, behind_us=1_500_000)),
        SiteGives(
            "hits",
            "bern",
            1,
            10,
            {},
            SiteCheck(
                lines=2000,
                malformed=1500,
                behind_us=0,
                why=(Malformed(reason="n: wanted int", lines=1500, came="x", sample="12:00,x"),),
            ),
        ),
        SiteGives("hits", "rome", 0, 0, {}, SiteCheck()),
        SiteGives("hits", "lima", 2, 0, {}, SiteCheck(), empty=2),
    ]
    assert words(gives) == [
        "hits: no file matches at rome",
        "hits: all files are empty at lima",
        "hits: at bern 1,500 of 2,000 lines are malformed",
        "  n: wanted int, came 'x' (1,500 lines; the first: '12:00,x')",
        "hits: with disorder = '2s' all but one record in a thousand would have been on time at "
        "every site",
    ]
