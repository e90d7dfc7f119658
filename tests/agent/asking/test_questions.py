"""Questions at running agents: prepared, signed, answered from cubes, and over."""

from __future__ import annotations

from pathlib import Path

from tests.kits.asked_agents import AskedAgents, rows_of, run_asked

BY_STATUS = "SELECT status, count(*) AS n FROM hits GROUP BY status"


def test_an_answer_adds_up_the_panes_of_all_sites(tmp_path: Path) -> None:
    async def story(agents: AskedAgents) -> None:
        for site in agents.runtimes:
            await agents.give(site, {70: {("a", 200): 2, ("b", 200): 3}, 71: {("a", 500): 1}})
        question = await agents.prepared(BY_STATUS)
        (answer,) = await agents.asked(question.query)
        assert rows_of(answer) == [{"status": 200, "count_1": 15}, {"status": 500, "count_1": 3}]
        header = answer["header"]
        assert (header["covered"], header["expected"], header["exact"]) == (3, 3, True)
        assert "from the cube of pages@hub#1, closed through" in header["remarks"][0]["text"]

    run_asked(tmp_path, story)
