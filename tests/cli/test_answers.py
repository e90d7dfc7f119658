"""Answers in every form: what a file holds is what was answered, with the window it belongs to."""

import csv
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from headwater.algebra.demand import Demand
from headwater.algebra.fidelity import measure
from headwater.algebra.words.as_of import AsOf
from headwater.cli.show.answers import StreamAnswers, with_short_form, write_answers
from headwater.cli.show.headline import headline
from headwater.cli.show.output import OutputFormat
from headwater.errors import ConfigurationError
from headwater.root.said.reached import Reached
from headwater.root.said.withheld import StatedError, StatedErrors

NOON_US = 1_767_268_800_000_000


def header(number: int, **more: Any) -> dict[str, Any]:
    start_us = NOON_US + number * 10_000_000
    values = {
        "start_us": start_us,
        "end_us": start_us + 10_000_000,
        "revision": 1,
        "covered": 2,
        "expected": 2,
        "exact": True,
        "final": True,
        "missing": [],
    }
    return values | more


def answers(name: str = "requests") -> StreamAnswers:
    tables = [
        pa.table({"domain": ["a", "b"], "requests": [3, 1]}),
        pa.table({"domain": pa.array([], pa.string()), "requests": pa.array([], pa.int64())}),
        pa.table({"domain": ["a"], "requests": [9]}),
    ]
    last = header(2, covered=1, exact=False, final=False)
    return StreamAnswers(name, [header(0), header(1), last], tables)


def test_every_row_carries_its_window_and_the_short_form() -> None:
    rows = with_short_form(answers()).to_pylist()
    assert [row["requests"] for row in rows] == [3, 1, 9]
    assert rows[2]["window_start"].timestamp() * 1e6 == NOON_US + 20_000_000
    assert (rows[2]["covered"], rows[2]["exact"]) == (1, False)


def test_a_querys_own_column_keeps_its_name() -> None:
    table = pa.table({"revision": ["mine"]})
    (row,) = with_short_form(StreamAnswers("s", [header(0)], [table])).to_pylist()
    assert row["revision"] == "mine"
    assert row["_revision"] == 1


def test_json_has_one_row_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_answers([answers(), answers("other")], OutputFormat.JSON, None)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["stream"] for row in rows] == ["requests"] * 3 + ["other"] * 3
    assert rows[0]["window_start"] == "2026-01-01T12:00:00Z"


def test_parquet_and_csv_files_hold_the_same_rows(tmp_path: Path) -> None:
    write_answers([answers()], OutputFormat.PARQUET, tmp_path / "a.parquet")
    write_answers([answers()], OutputFormat.CSV, tmp_path / "a.csv")
    stored = parquet.read_table(tmp_path / "a.parquet")
    assert stored.equals(with_short_form(answers()))
    with (tmp_path / "a.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["requests"] for line in lines] == ["3", "1", "9"]


def test_several_streams_get_a_file_each(tmp_path: Path) -> None:
    both = [answers("one"), answers("two")]
    write_answers(both, OutputFormat.PARQUET, tmp_path / "a.parquet")
    write_answers(both, OutputFormat.JSON, tmp_path / "a.json")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a-one.json", "a-one.parquet", "a-two.json", "a-two.parquet"]


def test_several_streams_do_not_fit_one_csv_and_the_message_says_what_does() -> None:
    with pytest.raises(ConfigurationError, match="--out FILE"):
        write_answers([answers("one"), answers("two")], OutputFormat.CSV, None)


def test_a_struct_column_is_spread_over_csv_columns(tmp_path: Path) -> None:
    window = pa.array([{"start": 1, "end": 2}])
    stream = StreamAnswers("s", [header(0)], [pa.table({"window": window})])
    write_answers([stream], OutputFormat.CSV, tmp_path / "a.csv")
    assert '"window.start","window.end"' in (tmp_path / "a.csv").read_text()


def test_a_table_shows_windows_rows_and_what_they_cover(capsys: pytest.CaptureFixture[str]) -> None:
    write_answers([answers()], OutputFormat.TABLE, None)
    out = capsys.readouterr().out
    assert "2026-01-01 12:00:20 – 12:00:30" in out
    assert "exact final" in out
    assert "1 of 2 sites" in out


def test_a_stream_without_rows_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    write_answers([StreamAnswers("quiet", [], [])], OutputFormat.TABLE, None)
    assert capsys.readouterr().out == "quiet: no rows\n"


def test_a_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="nowhere"):
        write_answers([answers()], OutputFormat.JSON, tmp_path / "nowhere" / "a.json")


def test_the_headline_names_the_missing_and_counts_the_rest() -> None:
    missing = [[f"site{n}", "unknown", "" if n else "lost", [[0, 0]]] for n in range(6)]
    text = headline(header(0, revision=3, covered=1, expected=7, missing=missing, exact=False))
    assert "revision 3, 1 of 7 sites" in text
    assert "without site0 (lost); site1 (unknown); site2 (unknown); site3 (unknown)" in text
    assert "and 2 more" in text
    assert "exact" not in text


def of_fidelity(*panes: int, demand: Demand | None = None) -> dict[str, object]:
    found = measure(panes, 0b1111)
    return {"fidelity": msgspec.to_builtins(Reached.of(found, demand))}


def test_the_headline_says_how_much_of_the_area_is_in_where_sites_do_not_tell_it() -> None:
    assert "75 % of the area" in headline(header(0, **of_fidelity(0b1111, 0b0011)))
    assert "area" not in headline(header(0, **of_fidelity(0b1111, 0b1111))), "all is in"
    assert "area" not in headline(header(0, **of_fidelity(0b0011))), "the count of sites says it"


def test_the_headline_says_whether_a_demand_is_reached() -> None:
    half = Demand(area=50_000)
    silent = Demand(area=90_000, is_silent=True)
    assert "has area 50 %" in headline(header(0, **of_fidelity(0b0011, demand=half)))
    assert "NOT area 90 %: no rows" in headline(header(0, **of_fidelity(0b0011, demand=silent)))


LEFT_OUT = {
    "count": 2,
    "unresolved": 0,
    "named": [{"keys": {"domain": "a", "city": None}, "reason": "[DIVIDE_BY_ZERO] Division"}],
    "exact_otherwise": True,
}


def test_the_headline_counts_alarms_and_names_the_first() -> None:
    named = [{"site": "fra", "kind": "never cut"}, {"site": "", "kind": "unnamed"}]
    assert "2 alarms (of fra: never cut)" in headline(header(0, alarms=named, alarm_count=2))
    assert "1 alarm (of several sites: unnamed)" in headline(
        header(0, alarms=named[1:], alarm_count=1)
    )
    assert "alarm" not in headline(header(0, alarms=[], alarm_count=0))


def test_the_headline_tells_the_first_remark_of_a_site_about_its_input() -> None:
    named = [{"site": "oslo", "kind": "no file", "text": "no file matches 'a'"}]
    text = headline(header(0, remarks=named, remark_count=2))
    assert "2 remarks (oslo: no file matches 'a'), exact" in text
    assert "remark" not in headline(header(0, remarks=[], remark_count=0))


def test_the_headline_and_the_table_say_how_many_groups_were_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lacking = header(0, exact=False, left_out=LEFT_OUT)
    text = headline(lacking)
    assert "2 groups left out (domain = a, city = NULL: [DIVIDE_BY_ZERO] Division), final" in text
    write_answers([StreamAnswers("s", [lacking], [pa.table({"n": [1]})])], OutputFormat.TABLE, None)
    assert "final, 2 left out" in capsys.readouterr().out
    assert "left out" not in headline(header(0, left_out={"count": 0, "named": []}))


AWKWARD = pa.table(
    {
        "near": pa.array([float("nan"), float("-inf"), 0.5, None]),
        "list": pa.array([[1.5, float("inf")], [], None, [None]], pa.list_(pa.float64())),
        "by_flag": pa.array(
            [[(True, 1)], [], None, [(False, None)]], pa.map_(pa.bool_(), pa.int64())
        ),
        "by_day": pa.array([[(-800_000, 1)], [(0, 2)], None, []], pa.map_(pa.int32(), pa.int64())),
        "day": pa.array([-800_000, 0, None, 0], pa.int32()).cast(pa.date32()),
        "cell": pa.array([b"\xff\x00", b"", None, b"a"]),
        "deep": pa.array(
            [{"a": {"b": 1, "c": [Decimal("1.50")]}}] * 3 + [None],
            pa.struct(
                [("a", pa.struct([("b", pa.int64()), ("c", pa.list_(pa.decimal128(5, 2)))]))]
            ),
        ),
    }
)


def test_what_json_lacks_is_told_from_null(capsys: pytest.CaptureFixture[str]) -> None:
    write_answers([StreamAnswers("s", [header(0)], [AWKWARD])], OutputFormat.JSON, None)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["near"] for row in rows] == ["NaN", "-Infinity", 0.5, None]
    assert [row["list"] for row in rows] == [[1.5, "Infinity"], [], None, [None]]
    assert [row["by_flag"] for row in rows] == [{"true": 1}, {}, None, {"false": None}]
    assert [row["by_day"] for row in rows] == [{"-800000": 1}, {"0": 2}, None, {}]
    assert [row["cell"] for row in rows] == ["/wA=", "", None, "YQ=="]
    assert rows[1]["day"] == "1970-01-01"
    assert rows[0]["day"].startswith("-0221"), "before the years that Python knows"
    assert rows[0]["deep"] == {"a": {"b": 1, "c": [1.5]}}


def test_csv_has_lists_and_maps_as_json_and_fields_of_structs_as_columns(tmp_path: Path) -> None:
    write_answers(
        [StreamAnswers("s", [header(0)], [AWKWARD])], OutputFormat.CSV, tmp_path / "s.csv"
    )
    with (tmp_path / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["list"] == '[1.5,"Infinity"]'
    assert rows[0]["by_flag"] == '{"true":1}'
    assert (rows[0]["deep.a.b"], rows[0]["deep.a.c"]) == ("1", "[1.50]")
    assert (rows[0]["cell"], rows[2]["cell"]) == ("/wA=", "")


def test_a_table_shows_every_type(capsys: pytest.CaptureFixture[str]) -> None:
    write_answers([StreamAnswers("s", [header(0)], [AWKWARD])], OutputFormat.TABLE, None)
    shown = capsys.readouterr().out
    assert "NaN" in shown
    assert "/wA=" in shown


@pytest.mark.parametrize("key", [pa.decimal128(5, 2), pa.date32(), pa.list_(pa.int64())])
def test_a_map_may_have_any_keys(key: pa.DataType, capsys: pytest.CaptureFixture[str]) -> None:
    value = {"decimal128(5, 2)": Decimal("1.50"), "date32[day]": date(2020, 1, 1)}.get(
        str(key), [1]
    )
    table = pa.table({"m": pa.array([[(value, 1)]], pa.map_(key, pa.int64()))})
    write_answers([StreamAnswers("s", [header(0)], [table])], OutputFormat.JSON, None)
    (found,) = json.loads(capsys.readouterr().out)["m"]
    assert found == {"decimal128(5, 2)": "1.50", "date32[day]": "2020-01-01"}.get(str(key), "[1]")


def test_the_headline_says_how_stale_an_answer_was() -> None:
    assert "revision 1, 1.3 s after its end, 2 of 2 sites" in headline(header(0, staleness_s=1.34))
    assert "after its end" not in headline(header(0, staleness_s=0.0)), "by no clock"


def kept_back(largest: float, keys: int, *, is_kept: bool = True) -> dict[str, object]:
    column = StatedError("hits", "1 % of total", largest, largest / 3_000, 80.0, is_kept)
    return {"withheld": msgspec.to_builtins(StatedErrors((column,), keys))}


def test_the_headline_says_what_error_was_asked_and_reached() -> None:
    text = headline(header(0, exact=False, **kept_back(12.0, 80)))
    assert "hits may be off by 12 (0.4 % of total; asked: 1 % of total); 80 small groups" in text
    missed = headline(header(0, exact=False, **kept_back(90.0, 80, is_kept=False)))
    assert "(3 % of total; asked: 1 % of total; NOT kept)" in missed
    text = headline(header(0, **kept_back(0.0, 0)))
    assert "nothing kept back (asked: hits 1 % of total), exact" in text


def test_the_headline_says_of_whose_values_a_sample_is_and_estimates_totals() -> None:
    sample = {"key": "url", "share": 0.25, "estimates": [["hits", 1400.0, 70.7]]}
    told = headline(header(0, sampled=sample))
    assert "a sample: 1 in 4 of all url, each with all it has" in told
    assert "totals of all are estimated, with their standard errors: hits 1400 ± 70.7" in told


@pytest.mark.parametrize("trigger", ["complete", "enough", "hopeless", "deadline"])
def test_the_line_of_a_first_answer_says_by_what_it_was_given(trigger: str) -> None:
    assert f"revision 1 ({trigger})," in headline(header(0, trigger=trigger))


def test_the_line_of_a_revision_says_nothing_of_the_kind() -> None:
    assert "(" not in headline(header(0, trigger="revision"))


def test_the_headline_of_a_question_says_as_of_when_its_sites_answered() -> None:
    many = tuple(f"s{n}" for n in range(210))
    groups = [AsOf(("oslo", "rome"), "p@a#1", (0, 0), 1, 1), AsOf(many, "p@a#1", (0, 10**7), 9, 9)]
    text = headline(header(0, as_of=msgspec.to_builtins(groups)))
    assert ", as of 1970-01-01T00:00:00Z to 1970-01-01T00:00:10Z at 210 sites, " in text
    assert "1970-01-01T00:00:00Z at oslo and rome" in text
