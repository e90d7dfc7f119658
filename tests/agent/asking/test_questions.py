"""Questions at running agents: prepared, signed, answered from cubes, and over."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.agent.asking.asked_agents import (
    PAGES,
    ROSTER,
    AskedAgents,
    Rows,
    rows_of,
    run_asked,
    until,
)

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.control import control_api as api
from headwater.agent.control.ask_api import AskRequest
from headwater.agent.control.operator_client import give_question, prepared_question, run_statements
from headwater.errors import ConfigurationError, HeadwaterError
from headwater.net.identity.signing import OperatorSignature
from headwater.net.memory.memory_network import FEDERATION
from headwater.plan.query import Query

BY_STATUS = "SELECT status, count(*) AS n FROM hits GROUP BY status"
PANES: dict[int, Rows] = {70: {("a", 200): 2, ("b", 200): 3}, 71: {("a", 500): 1}}


def live_questions(agents: AskedAgents) -> list[str]:
    return [
        f"{site} {query_id}"
        for site, runtime in agents.runtimes.items()
        for query_id, install in runtime.node.peer.live_queries().items()
        if install.query.asked is not None
    ]


def reasons_of(event: dict[str, Any]) -> dict[str, str]:
    return {site: reason for site, _, reason, _ in event["header"]["missing"]}


async def give_all(agents: AskedAgents, by_pane: dict[int, Rows] | None = None) -> None:
    for site in agents.runtimes:
        await agents.give(site, PANES if by_pane is None else by_pane)


def test_an_answer_adds_up_the_panes_of_all_sites(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 3}]
        header = answer["header"]
        assert (header["covered"], header["expected"], header["exact"]) == (3, 3, True)
        groups = header["as_of"]
        assert {site for one in groups for site in one["sites"]} == set(agents.runtimes)
        assert {one["stream"] for one in groups} == {"pages@hub#1"}
        assert sum(one["rows"] for one in groups) == 9

    run_asked(tmp_path, story)


@pytest.mark.parametrize("bytes_max", [1, 1 << 20])
def test_a_question_has_windows_of_its_own_and_asks_some_sites_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_max: int
) -> None:
    """However little is merged, or computed, at a time."""
    for name in ("MERGE_BYTES_MAX", "JOB_BYTES_MAX"):
        monkeypatch.setattr(f"headwater.agent.asking.cube_answer.{name}", bytes_max)
    select = "SELECT page, count(*) AS n FROM hits GROUP BY window(ts, '5 minutes'), page"

    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(select, since_s=1200.0, sites="oslo")
        window, query = question.query.window, question.query
        assert query.begin_pane is not None
        count = (query.ends_at or 0) - query.begin_pane
        assert window.panes_per_window == 1
        answers = await agents.asked(query, answers=count)
        found = Counter[str]()
        for row in (row for answer in answers for row in answer["rows"]):
            found[row["page"]] += row["count_1"]
        assert found == {"a": 3, "b": 3}
        assert {answer["header"]["expected"] for answer in answers} == {1}

    run_asked(tmp_path, story)


class KeepsOneStatus:
    """Stands in for Spark: the condition of one question, in Arrow."""

    def __init__(self) -> None:
        self.sql: list[str] = []

    def computed(self, question: Query, sql: str, rows: pa.Table, *, job_s_max: float) -> pa.Table:
        self.sql.append(sql)
        return rows.filter(pc.equal(rows["page"], "a")).select(["pane", "status", "count_1"])


def test_a_condition_on_keys_is_computed_of_merged_rows(tmp_path: Path) -> None:
    select = "SELECT status, count(*) AS n FROM hits WHERE page = 'a' GROUP BY status"

    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        spark = KeepsOneStatus()
        for runtime in agents.runtimes.values():
            runtime.questions._spark = spark  # type: ignore[assignment]
        question = await agents.prepared(select)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 6}, {"status": 500, "count_1": 3}]
        sql = "SELECT pane, status, count_1 FROM cube WHERE (page = 'a')"
        assert spark.sql == [sql] * 3

    run_asked(tmp_path, story)


def test_how_much_it_reads_is_asked_before_and_counted_by_manifests(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        assert question.estimate is not None
        (answer,) = await agents.asked(question.estimate)
        (row,) = answer["rows"]
        assert (row["count_1"], row["count_3"]) == (9, 9)
        assert row["count_2"] > 0
        (answer,) = await agents.asked(question.query)
        assert answer["header"]["covered"] == 3

    run_asked(tmp_path, story)


def test_a_site_over_its_limit_declines_and_the_others_answer(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        rome = agents.runtimes["rome"].questions
        rome._config = msgspec.structs.replace(rome._config, bytes_max=1)
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 10}, {"status": 500, "count_1": 2}]
        assert answer["header"]["exact"] is False
        assert "refused: over its limit: it would read" in reasons_of(answer)["rome"]
        assert rome.refused == 1

    run_asked(tmp_path, story)


def test_a_question_that_all_decline_is_answered_with_why(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query)
        assert not answer["rows"]
        assert len(answer["header"]["missing"]) == 3

    run_asked(tmp_path, story, AskConfig(bytes_max=1))


def test_panes_before_a_site_knew_the_stream_are_not_read_as_empty(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS, since_s=3600.0)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 3}]
        assert answer["header"]["exact"] is False
        assert reasons_of(answer) == dict.fromkeys(agents.runtimes, "not installed")

    run_asked(tmp_path, story)


def test_what_retention_took_is_declined_and_never_empty(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        oslo = agents.runtimes["oslo"].stores.cube
        oslo._retention = msgspec.structs.replace(oslo._retention, retention_bytes=0)
        assert (await asyncio.to_thread(oslo.retention, now_s=time.time())).dropped == 2
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 10}, {"status": 500, "count_1": 2}]
        assert reasons_of(answer)["oslo"] == "expired"

    run_asked(tmp_path, story)


def test_open_panes_are_left_out_unless_they_are_wanted_and_marked(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await agents.give("hub", PANES)
        await agents.give("oslo", PANES)
        await agents.give("rome", {**PANES, 110: {("a", 500): 7}}, behind_s=300.0)
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 3}]
        assert reasons_of(answer) == {"rome": "not closed"}
        question = await agents.prepared(BY_STATUS, name="ask_2", adds_open=True)
        assert question.query.asked is not None
        assert question.query.asked.adds_open
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 10}]
        assert (answer["header"]["covered"], answer["header"]["exact"]) == (3, False)
        groups = answer["header"]["as_of"]
        (rome,) = [one for one in groups if "rome" in one["sites"]]
        assert rome["open_from_us"] == rome["through_us"][0]
        assert rome["open_rows"] == 1

    run_asked(tmp_path, story)


def test_nobody_signs_open_panes_that_were_not_asked_for(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        async def opens(name: str, payload: dict[str, Any]) -> Any:
            return await agents.desks["hub"].handle(name, {**payload, "adds_open": True})

        request = AskRequest(select=BY_STATUS, name="ask_1", since_s=600.0)
        with pytest.raises(HeadwaterError, match="nothing is signed"):
            await prepared_question(opens, request)

    run_asked(tmp_path, story)


def test_who_asked_ends_it_everywhere(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        await agents.asked(question.query)
        ids = (str(question.query.id),)
        reply = await agents.desks["hub"].handle(api.END_ASK, {"questions": ids})
        assert reply == {"ended": (str(question.query.id),)}
        await until(lambda: not live_questions(agents))
        assert "pages@hub#1" in agents.runtimes["rome"].node.peer.live_queries()

    run_asked(tmp_path, story)


def test_a_viewer_signs_a_question_and_no_stream(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        name = "viewer/walter"
        key = agents.world.keys.make_operator(name)
        walter = OperatorSignature(FEDERATION, name, key)
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query, signature=walter)
        assert answer["header"]["covered"] == 3
        commanded = {
            install.operator
            for runtime in agents.runtimes.values()
            for install in runtime.node.peer.live_queries().values()
            if install.query.asked is not None
        }
        assert commanded == {name}
        with pytest.raises(ConfigurationError, match="wanted the signature of operator"):
            await run_statements(agents.desks["hub"].handle, PAGES, walter)

    run_asked(tmp_path, story)


def test_a_question_ends_when_it_was_prepared_to_whatever_is_signed(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        question = await agents.prepared(BY_STATUS)
        ask = question.query.asked
        assert ask is not None
        later = msgspec.structs.replace(ask, until_us=ask.until_us + 3_600_000_000)
        longer = msgspec.structs.replace(question.query, ask=later)
        with pytest.raises(ConfigurationError, match=r"wanted one that ends within 600 s"):
            await agents.asked(longer)

    run_asked(tmp_path, story)


def test_a_question_ends_by_itself_where_nobody_waits_for_it(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        await give_question(
            agents.desks["hub"].handle, question.query, ROSTER.version, agents.world.operator
        )
        await until(lambda: live_questions(agents))
        await until(lambda: not live_questions(agents))

    run_asked(tmp_path, story, AskConfig(life_s=3.0))


def test_a_site_that_is_started_anew_answers_what_it_had_not(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        agents.runtimes["oslo"].questions.install = lambda query: None  # type: ignore[method-assign]
        question = await agents.prepared(BY_STATUS)
        asked = asyncio.create_task(agents.asked(question.query))
        await until(lambda: any(one.startswith("oslo ") for one in live_questions(agents)))
        await asyncio.sleep(0.5)
        await agents.end("oslo")
        await agents.begin("oslo")
        (answer,) = await asked
        assert rows_of(answer) == [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 3}]
        assert answer["header"]["exact"] is True

    run_asked(tmp_path, story)


def test_an_estimate_counts_nothing_of_another_source(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        question = await agents.prepared(BY_STATUS)
        assert question.estimate is not None
        program = question.estimate.program
        source = msgspec.structs.replace(program.source, path="other.csv")
        program = msgspec.structs.replace(program, source=source)
        estimate = msgspec.structs.replace(question.estimate, program=program)
        (answer,) = await agents.asked(estimate)
        assert not answer["rows"]
        assert "reads another source" in reasons_of(answer)["rome"]

    run_asked(tmp_path, story)


def test_streams_are_not_ended_as_questions_are(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        reply = await agents.desks["hub"].handle(api.END_ASK, {"questions": ("pages@hub#1",)})
        assert reply == {"ended": ()}
        hub = agents.runtimes["hub"]
        hub._tell(hub.node.end_questions, ["pages@hub#1"])
        await asyncio.sleep(0.2)
        assert "pages@hub#1" in hub.node.peer.live_queries()

    run_asked(tmp_path, story)


def test_what_no_cube_has_is_asked_of_the_logs_with_the_reason(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        question = await agents.prepared("SELECT max(ts) AS last FROM hits")
        assert question.estimate is not None
        assert question.estimate.asked is not None
        assert (question.estimate.asked.estimates, question.estimate.reads_cube) == (True, True)
        assert question.prepared.why_not == ("pages does not compute MAX(ts)",)
        assert (question.query.reads_cube, question.query.reads_past) == (False, True)
        assert question.query.asked is not None
        with pytest.raises(ConfigurationError, match="no stream reads `nothing`"):
            await agents.prepared("SELECT count(*) FROM nothing")
        with pytest.raises(ConfigurationError, match="'pages' is a stream; ask what it reads"):
            await agents.prepared("SELECT count(*) FROM pages")

    run_asked(tmp_path, story)


def test_another_question_than_was_asked_for_is_not_signed(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        async def lies(name: str, payload: dict[str, Any]) -> Any:
            payload = {**payload, "select": payload["select"].replace("status", "page")}
            return await agents.desks["hub"].handle(name, payload)

        request = AskRequest(select=BY_STATUS, name="ask_1", since_s=600.0)
        with pytest.raises(HeadwaterError, match="nothing is signed"):
            await prepared_question(lies, request)

    run_asked(tmp_path, story)


def test_what_sites_do_not_keep_so_long_is_not_asked_of_their_cubes(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        question = await agents.prepared(BY_STATUS, since_s=10 * 86_400.0)
        (why,) = question.prepared.why_not
        assert "pages: wanted panes from" in why
        assert "sites keep them for 7 days" in why
        assert not question.query.reads_cube
        kept = msgspec.structs.replace(agents.stream, keep_s=11 * 86_400.0)
        hub = agents.runtimes["hub"]
        (install,) = hub.node.peer.live_queries().values()
        kept_longer = {agents.stream.id: msgspec.structs.replace(install, query=kept)}
        hub.node.peer.live_queries = lambda: kept_longer  # type: ignore[method-assign]
        assert (await agents.prepared(BY_STATUS, since_s=10 * 86_400.0)).query.reads_cube

    run_asked(tmp_path, story)
