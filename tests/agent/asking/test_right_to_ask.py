"""``ask`` is a right of its own: a question counts as the stream whose panes it reads."""

from __future__ import annotations

import msgspec
import pytest

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.control.rights import OperatorRights, Right
from headwater.errors import ConfigurationError
from headwater.plan.duty import Duty
from headwater.plan.needs import missing
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.sql.admit.needs import OF_0_3, QUESTION
from headwater.sql.compile import compile_statements
from headwater.sql.questions.asking import asking

SOURCE = "CREATE SOURCE hits (ts TIMESTAMP) WITH (format = 'csv', path = 'a/*.csv', time = 'ts');"
OF_PAGES = Ask(stream="pages@hub#1", until_us=1)
OF_LOGS = Ask(until_us=1)


def compiled(options: str) -> Query:
    (query,) = compile_statements(
        f"{SOURCE}CREATE STREAM ask_1 WITH ({options}) AS SELECT count(*) AS n FROM hits;",
        root="hub",
        installer="hub",
        next_counter=2,
        now_us=1_800_000_000_000_000,
    )
    return query


ASKED = compiled("begin = '2026-05-01', extent = '1 hour', window = '1 hour every 10 minutes'")


def objection(query: Query, *granted: OperatorRights, duty: Duty = Duty.READ) -> str | None:
    admit = admit_with(PolicyConfig(operators=granted), SourcesConfig(), site="oslo")
    return admit(query, duty, "ann")


@pytest.mark.parametrize("duty", [Duty.READ, Duty.ANSWER])
def test_who_may_ask_need_not_be_let_to_install(duty: Duty) -> None:
    question = asking(ASKED, OF_PAGES)
    may_ask = OperatorRights("ann", may=(Right.ASK,), streams=("pages",), sources=("a/*",))
    assert objection(question, may_ask, duty=duty) is None
    said = objection(ASKED, may_ask, duty=duty)
    assert said == (
        "the [policy] of oslo does not let ann install stream 'ask_1' of source path 'a/*.csv'"
    )
    may_install = OperatorRights("ann", may=(Right.INSTALL,))
    said = objection(question, may_install, duty=duty)
    assert said == (
        "the [policy] of oslo does not let ann ask stream 'pages' of source path 'a/*.csv'"
    )


def test_logs_are_of_no_stream_so_that_all_have_to_be_granted() -> None:
    question = asking(ASKED, OF_LOGS)
    assert objection(question, OperatorRights("ann", may=(Right.ASK,))) is None
    some = OperatorRights("ann", may=(Right.ASK,), streams=("pages",))
    assert objection(question, some) is not None


def test_an_agent_that_does_not_know_questions_of_cubes_declines_them() -> None:
    assert asking(ASKED, OF_PAGES).needs == ("option ask", "option extent")
    assert asking(ASKED, OF_LOGS).needs == ("option extent",)
    said = missing(("option ask",), OF_0_3, "0.3.0")
    assert said is not None
    assert QUESTION in said
    assert said.startswith("version: ")


@pytest.mark.parametrize(
    ("options", "ask"),
    [
        ("begin = '2026-05-01', window = '1 hour'", OF_PAGES),
        ("begin = '2027-05-01', extent = '1 hour', window = '1 hour'", OF_PAGES),
        (
            "begin = '2026-05-01', extent = '1 hour', window = '1 hour', fidelity = 'area 80 %'",
            OF_PAGES,
        ),
        (
            "begin = '2026-05-01', extent = '1 hour', window = '1 hour'",
            Ask(estimates=True, until_us=1),
        ),
        ("begin = '2026-05-01', extent = '1 hour', window = '1 hour'", Ask(stream="pages")),
    ],
)
def test_a_query_that_goes_on_or_gives_less_is_no_question(options: str, ask: Ask) -> None:
    with pytest.raises((ConfigurationError, ValueError)):
        asking(compiled(options), ask)


def test_questions_are_on_the_wire_and_others_are_as_they_were() -> None:
    question = asking(ASKED, OF_PAGES)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(question), type=Query) == question
    assert "ask" not in msgspec.to_builtins(ASKED)
    assert question.source_name == "question ask_1@hub#2"
    assert asking(ASKED, OF_LOGS).source_name == "hits"
