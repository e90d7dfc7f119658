"""Every refusal says where, what came, and what was wanted or what to do: held by a rule, not by
goodwill.

A rule can't read, so it looks for words. What it can't see is listed here with its reason; a
message that passes leaves the list, which shrinks.
"""

from __future__ import annotations

import ast

import message_catalogue
import pytest
from message_catalogue import Message, messages

EXCUSED = {
    ("cli/commands/try_command.py", "try: wanted a file of statements"): "nothing was given",
    ("local/look/infer_files.py", "{paths}: no source could be inferred"): "what was found follows",
    ("local/look/sampling.py", "{path}: can't be read"): "the system's words follow",
    ("cli/current.py", "no federation was named"): "those that run, or how to start one, follow",
    (
        "sql/admit/admit_sql.py",
        "root part: {node} does not merge",
    ): "of SQL that nobody wrote by hand",
    ("sql/admit/column_levels.py", "column {column} of source"): "what the level allows follows",
    (
        "sql/read/refusal.py",
        "line {number}:{column}",
    ): "it puts the place before the words of others",
    (
        "spark/site/batch.py",
        "a batch failed though all its lines",
    ): "Spark's words; the batch comes again",
    ("node/node.py", "{query_id} is not answered here"): "the root's own refusal follows",
    ("spark/root/bad_groups.py", "{error} (though each of"): "Spark's words",
    ("spark/jvm/jvm.py", "the JVM did not come up"): "where its log is follows",
    (
        "store/results/results.py",
        "{path}: this publication is not there",
    ): "the newest that are follow",
}
"""(file, how it begins), and why it may stay as it is."""


@pytest.fixture(scope="module")
def found() -> list[Message]:
    """All of the code, read once."""
    return messages()


def excused(message: Message) -> bool:
    return any(
        message.file == file and message.text.startswith(beginning) for file, beginning in EXCUSED
    )


def test_every_message_says_where_and_what_came_and_what_was_wanted_or_what_to_do(
    found: list[Message],
) -> None:
    lacking = [one for one in found if one.lacks and not excused(one)]
    told = [f"{one.file}, {one.function}: {one.text!r} lacks {one.lacks}" for one in lacking]
    assert told == [], "mend the message; docs/reference/messages.md shows how others say it"


@pytest.mark.parametrize(("file", "beginning"), EXCUSED)
def test_an_excuse_is_still_needed(found: list[Message], file: str, beginning: str) -> None:
    meant = [one for one in found if one.file == file and one.text.startswith(beginning)]
    assert any(one.lacks for one in meant), "it passes, or is gone: take it off the list"


def test_the_list_of_excuses_shrinks() -> None:
    assert len(EXCUSED) <= 12


def found_in(code: str) -> list[Message]:
    return list(message_catalogue._in(ast.parse(code), "x.py", ""))


def test_a_message_is_read_with_what_is_filled_in() -> None:
    (one,) = found_in(
        "def check(path):\n"
        "    raise ConfigurationError(\n"
        "        f'{path}: wanted {len(names)} names, got {query.id.name[:80]!r}' + hint\n"
        "    )\n"
    )
    assert one.text == "{path}: wanted {names} names, got {name}{hint}"
    assert (one.function, one.kind, one.lacks) == ("check", "ConfigurationError", ())


@pytest.mark.parametrize(
    ("code", "lacks"),
    [
        ("raise ConfigurationError('something went wrong')", 3),
        ("raise ConfigurationError(f'{path}: something went wrong')", 2),
        ("raise ConfigurationError(f'{path}: wanted a number')", 1),
        ("raise ConfigurationError(f'{path}: wanted a number, got {value}')", 0),
        ("raise ConfigurationError(f'{path}: wanted a number, it is empty')", 0),
        (
            "raise ConfigurationError(f'key {path}: wanted at most {LIMIT} bytes; give a shorter')",
            1,
        ),
        ("raise ConfigurationError(f'--sample {share}: wanted a share up to 1')", 0),
        ("raise ConfigurationError('no file was found; name one')", 1),
        ("raise refusal(text, 7, 'name it')", 0),
        ("raise refusal(text, 7, 'oh dear')", 1),
        ("raise ConfigurationError(f'{path}: {error}')", 0),
        ("raise SparkFailed(f'query {id}, root part: {error}')", 0),
        ("raise SparkFailed(f'query {id} failed: {error}')", 1),
        ("raise ConfigurationError(f'{path}: no such file; name one that exists')", 0),
    ],
)
def test_what_a_message_lacks_is_seen(code: str, lacks: int) -> None:
    (one,) = found_in(code)
    assert len(one.lacks) == lacks, one.lacks


def test_errors_between_parts_of_an_agent_are_no_messages_and_say_what_comes_of_them() -> None:
    assert found_in("raise EpochOver('over')") == []
    assert all(message_catalogue.WITHIN.values())


def test_most_refusals_of_the_code_are_found(found: list[Message]) -> None:
    """So that a rule that finds nothing does not pass for a code without a fault."""
    assert len(found) > 350
    assert {"cli", "agent", "local", "sql", "net", "store", "spark"} <= {
        one.file.partition("/")[0] for one in found
    }
