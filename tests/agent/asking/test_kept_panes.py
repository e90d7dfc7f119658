"""Panes of a stream that has ended, by command or by its extent, are asked until they are let go
of."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.agent.asking.asked_agents import PAGES, AskedAgents, rows_of, run_asked, until
from tests.agent.asking.test_questions import BY_STATUS, give_all, reasons_of

from headwater.agent.control.altering import check_first, prepare_end
from headwater.agent.control.operator_client import (
    alter_stream,
    end_stream,
    remove_stream,
    run_statements,
)
from headwater.errors import ConfigurationError
from headwater.plan.altered.settings import ENDED

OF_ALL = [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 3}]
STATES = """
CREATE STREAM last AS SELECT page, count(*) AS n FROM hits
GROUP BY last_rows(5, every => '10 seconds'), page;
"""

YOUNG = """
CREATE STREAM young AS SELECT page, count(*) AS n FROM hits GROUP BY window(ts, '1 day'), page;
"""


async def end_it(agents: AskedAgents) -> None:
    (altered,) = await end_stream(agents.desks["hub"].handle, "pages", agents.world.operator)
    assert altered.changes == ENDED
    for runtime in agents.runtimes.values():
        await until(
            lambda here=runtime: all(one.record.end_pane for one in here.node.progress().edge)
        )


def test_a_stream_that_was_removed_with_its_panes_kept_is_asked_until_they_go(
    tmp_path: Path,
) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        await end_it(agents)
        question = await agents.prepared(BY_STATUS, name="ask_1")
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == OF_ALL
        assert answer["header"]["exact"] is True
        await agents.end("rome")
        await agents.begin("rome")
        question = await agents.prepared(BY_STATUS, name="ask_2")
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == OF_ALL
        lines = (await agents.desks["hub"].handle("streams", {}))["streams"]
        assert [ENDED in one["settings"] for one in lines if one["stream"] == "pages"] == [True]
        await remove_stream(agents.desks["hub"].handle, "pages", agents.world.operator)
        with pytest.raises(ConfigurationError, match="no stream reads `hits`"):
            await agents.prepared(BY_STATUS, name="ask_3")

    run_asked(tmp_path, story)


def test_an_end_is_said_once_and_nothing_is_changed_behind_it(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        desk, operator = agents.desks["hub"].handle, agents.world.operator
        await give_all(agents)
        await end_it(agents)
        assert await end_stream(desk, "pages", operator) == ()
        with pytest.raises(ConfigurationError, match=r"has ended .* nothing to change"):
            await alter_stream(desk, "pages", "deadline = '20 s'", operator)

    run_asked(tmp_path, story)


def test_a_stream_that_nobody_could_ask_is_removed_wholly_or_not_at_all(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        desk, operator = agents.desks["hub"].handle, agents.world.operator
        source = PAGES[: PAGES.index("CREATE STREAM")]
        await run_statements(desk, source + STATES, operator)
        with pytest.raises(ConfigurationError, match=r"last holds states.* without --keep-panes"):
            await end_stream(desk, "last", operator)

    run_asked(tmp_path, story)


def test_a_stream_that_has_had_no_window_is_removed_wholly_or_not_at_all(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        desk, operator = agents.desks["hub"].handle, agents.world.operator
        source = PAGES[: PAGES.index("CREATE STREAM")]
        await run_statements(desk, source + YOUNG, operator)
        with pytest.raises(ConfigurationError, match=r"'young' has had none yet"):
            await end_stream(desk, "young", operator)

    run_asked(tmp_path, story)


def test_an_end_with_other_settings_beside_it_is_refused(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        here = agents.runtimes["hub"]
        (alter,) = prepare_end(here, "pages")
        check_first(here, alter)
        settings = msgspec.structs.replace(alter.settings, deadline_s=99.0)
        with pytest.raises(ConfigurationError, match="an end and nothing else"):
            check_first(here, msgspec.structs.replace(alter, settings=settings))

    run_asked(tmp_path, story)


def test_panes_of_a_stream_whose_extent_is_over_are_asked(tmp_path: Path, monkeypatch) -> None:
    """Behind it there is nothing, and that is not said to be empty."""
    text = PAGES.replace("'20 minutes ago'", "'20 minutes ago', extent = '15 minutes'")
    monkeypatch.setattr("tests.agent.asking.asked_agents.PAGES", text)

    async def story(agents: AskedAgents) -> None:
        await give_all(agents)
        end = agents.stream.ends_at
        assert end is not None
        for runtime in agents.runtimes.values():
            (kept,) = runtime.node.progress().edge
            assert kept.record.closed_through == end
        to_us = agents.stream.window.pane_start_us(end)
        about = {"since_s": None, "from_us": to_us - 600_000_000}
        question = await agents.prepared(BY_STATUS, **about, to_us=to_us)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == OF_ALL
        assert answer["header"]["exact"] is True
        beyond = await agents.prepared(BY_STATUS, name="ask_2", since_s=600.0)
        (answer,) = await agents.asked(beyond.query)
        assert set(reasons_of(answer).values()) == {"not installed"}
        right_behind = {"since_s": None, "from_us": to_us, "to_us": to_us + 60_000_000}
        for name, when in (("ask_3", {"since_s": 120.0}), ("ask_4", right_behind)):
            behind = await agents.prepared(BY_STATUS, name=name, **when)
            assert not behind.query.reads_cube
            assert "it ended at" in behind.prepared.why_not[0]

    run_asked(tmp_path, story)
