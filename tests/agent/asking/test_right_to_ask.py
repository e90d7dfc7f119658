"""``ask`` is a right of its own: a question counts as the stream whose panes it reads."""

from __future__ import annotations

import msgspec
import pytest

from headwater.agent.admission import admit_with
from headwater.agent.config import PolicyConfig, SourcesConfig
from headwater.agent.control.rights import OperatorRights, Right
from headwater.errors import ConfigurationError
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Install, Remove
from headwater.plan.duty import Duty
from headwater.plan.needs import missing
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.plan.questions.viewer import may_sign
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


def objection(
    query: Query, *granted: OperatorRights, duty: Duty = Duty.READ, who: str = "ann"
) -> str | None:
    admit = admit_with(PolicyConfig(operators=granted), SourcesConfig(), site="oslo")
    return admit(query, duty, who)


@pytest.mark.parametrize("duty", [Duty.READ, Duty.ANSWER])
def test_viewers_ask_where_the_policy_of_a_site_says_so(duty: Duty) -> None:
    question = asking(ASKED, OF_PAGES)
    lets = OperatorRights("walter", streams=("pages",), viewers_ask=True)
    assert objection(question, lets, duty=duty, who="viewer/walter") is None
    assert objection(ASKED, lets, duty=duty, who="viewer/walter") == (
        "walter is a viewer, who changes nothing; wanted an operator's certificate"
    )
    for granted in (
        (),
        (OperatorRights("walter"),),
        (OperatorRights("walter", may=(Right.READ,), viewers_ask=True),),
        (OperatorRights("ann", viewers_ask=True),),
    ):
        said = objection(question, *granted, duty=duty, who="viewer/walter")
        assert said is not None
        assert said.endswith("got neither"), said
    other = OperatorRights("walter", streams=("sales",), viewers_ask=True)
    said = objection(question, other, duty=duty, who="viewer/walter")
    assert said is not None
    assert "does not let walter ask stream 'pages'" in said
    said = objection(question, other, OperatorRights("walter"), duty=duty, who="viewer/walter")
    assert said is not None, "what operators of the name may is not theirs"
    assert objection(question, OperatorRights("viewer/*"), who="viewer/walter") is not None


def test_a_viewer_signs_questions_and_nothing_else() -> None:
    question = asking(ASKED, OF_PAGES)
    install = Install(query=question, trees=(), roster_version=1)
    assert may_sign("viewer/walter", install)
    stream = msgspec.structs.replace(install, query=ASKED)
    removal = Remove(id=question.id, installer="hub", counter=3)
    budget = SiteBudget("oslo", "", 1, 1e6)
    assert not any(may_sign("viewer/walter", one) for one in (stream, removal, budget))
    assert all(may_sign("ann", one) for one in (install, stream, removal, budget))


def test_a_question_takes_no_name_of_a_stream() -> None:
    stream = msgspec.structs.replace(ASKED.id, name="pages")
    with pytest.raises(ValueError, match="wanted a question's name to begin with ask_"):
        msgspec.structs.replace(asking(ASKED, OF_PAGES), id=stream).__post_init__()


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
            Ask(open_panes=True, until_us=1),
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
