"""Which options of a stream can change while it runs, and what is said of the others."""

from __future__ import annotations

import pytest

from headwater.cli.commands.operator_commands import alter
from headwater.errors import QueryRefused
from headwater.sql.alter import ALTERABLE, NOT_ALTERABLE, check_alterable, merged_options, text_with
from headwater.sql.alter_statement import read_settings, split_alters
from headwater.sql.compile import parse_script
from headwater.sql.read.streams import STREAM_OPTIONS


def test_each_option_of_a_stream_can_be_altered_or_says_why_not() -> None:
    assert set(STREAM_OPTIONS) == {*ALTERABLE, *NOT_ALTERABLE}
    for name in NOT_ALTERABLE:
        with pytest.raises(QueryRefused, match=r"can't change while a stream runs: .*; install a"):
            check_alterable(read_settings(f"{name} = 'x'"))


def test_the_help_of_the_command_names_each_of_them() -> None:
    said = (alter.__doc__ or "").partition("\n\n")[0].replace(",", " ").replace(".", " ").split()
    assert set(ALTERABLE) <= set(said)


@pytest.mark.parametrize(
    ("present", "settings", "wanted"),
    [
        ("", "error = '1 %'", "error = '1 %'"),
        ("error = '1 %'", "deadline = '9 s'", "error = '1 %', deadline = '9 s'"),
        ("error = '1 %', finally = 'exact'", "error = 'none'", ""),
        ("deadline = '9 s'", "staleness = '5 s'", "staleness = '5 s'"),
        ("staleness = '5 s'", "deadline = '9 s'", "deadline = '9 s'"),
        ("deadline = '9 s'", "answer = 'complete'", "answer = 'complete'"),
        ("weight = 2", "budget = '80 kbit/s'", "budget = '80 kbit/s', weight = 2"),
        ("budget = '80 kbit/s', weight = 2", "budget = 'none'", "weight = 2"),
        ("finally = 'bounded', degrade = 'a'", "degrade = 'none'", ""),
        ("degrade = 'a', backlog_age = '9 s'", "degrade = 'none'", ""),
        ("degrade = 'a', backlog_age = '9 s'", "backlog_age = 'none'", "degrade = 'a'"),
        ("degrade = 'a'", "backlog_bytes = '1 MB'", "degrade = 'a', backlog_bytes = '1 MB'"),
        (
            "error = '1 %', finally = 'exact', degrade = 'a'",
            "error = 'none'",
            "finally = 'exact', degrade = 'a'",
        ),
        ("finally = 'exact', degrade = 'a'", "degrade = 'none'", "finally = 'exact'"),
        ("error = '1 %', finally = 'enough'", "error = 'none'", "finally = 'enough'"),
        ("degrade = 'a'", "degrade = 'none', finally = 'exact'", "finally = 'exact'"),
    ],
)
def test_what_is_not_named_stays_but_for_what_it_makes_meaningless(
    present: str, settings: str, wanted: str
) -> None:
    former = tuple((one.name, one.written) for one in read_settings(present)) if present else ()
    merged = merged_options(former, read_settings(settings))
    assert ", ".join(f"{name} = {value}" for name, value in merged) == wanted


def test_settings_that_end_early_are_none() -> None:
    with pytest.raises(QueryRefused, match="wanted settings, as in"):
        read_settings("error = '1 %'); CREATE STREAM q AS SELECT (1")


def test_a_statement_keeps_all_else_that_is_written_of_it() -> None:
    text = "create stream s WITH (begin = 'now', error = '1 %') AS\n  SELECT 1 AS n FROM t"
    assert text_with(text, (("deadline", "'9 s'"),)) == (
        "CREATE STREAM s WITH (deadline = '9 s', begin = 'now') AS\nSELECT 1 AS n FROM t"
    )


def test_alterations_are_told_apart_and_others_stay_where_they_are() -> None:
    text = "CREATE STREAM a AS SELECT 1;\nALTER STREAM b SET\n (error = '1 %');\nCREATE STREAM"
    rest, (alter,) = split_alters(text)
    assert (alter.name, alter.options[0].written) == ("b", "'1 %'")
    assert rest.index("CREATE STREAM", 1) == text.index("CREATE STREAM", 1)
    assert "ALTER" not in rest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ALTER TABLE x", "wanted ALTER STREAM name SET"),
        ("ALTER STREAM SET (error = '1')", "wanted SET"),
        ("ALTER STREAM x (error = '1')", "wanted SET"),
        ("ALTER STREAM x SET error = '1'", "settings, as in SET"),
        ("ALTER STREAM x SET (error = '1') AS SELECT 1", "wanted `;` or the end"),
        ("ALTER STREAM x SET (error)", "wanted `error = 'value'`"),
    ],
)
def test_one_that_is_not_as_it_must_be_says_what_is_wanted(text: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said.replace("(", "[(]")):
        split_alters(text)


def test_where_streams_are_installed_an_alteration_says_where_it_belongs() -> None:
    with pytest.raises(QueryRefused, match="which `headwater run` does"):
        parse_script("ALTER STREAM x SET (error = '1')")
