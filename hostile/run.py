"""One siege: agents are started, attacked row by row, started again, and must still be right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from headwater.errors import HeadwaterError
from headwater.overlay.messages import StatesMessage
from hostile import honest
from hostile.attacks import ROWS, Missing, Siege, Succeeded
from hostile.federation import Agents
from hostile.thief import Thief

WINDOWS_FIRST = 2
ANSWERS_S_MAX = 120.0
HELD, BROKEN, OPEN = "held", "BROKEN", "not built"


class Line(msgspec.Struct, frozen=True):
    row: int
    tried: str
    verdict: str
    happened: str

    def __str__(self) -> str:
        happened = " ".join(self.happened.split())
        return f"{self.row:>3}  {self.verdict:<9}  {self.tried:<62}  {happened[:200]}"


class Outcome(msgspec.Struct):
    lines: list[Line] = []
    troubles: list[str] = []
    """What was wrong beyond a single row."""
    windows: int = 0
    """That were final and exact in the end, and right."""

    @property
    def is_good(self) -> bool:
        return not self.troubles and all(line.verdict != BROKEN for line in self.lines)


def run(
    directory: Path,
    *,
    rows: Iterable[int],
    site_count: int,
    say: Callable[[str], None],
    has_spark: bool = True,
) -> Outcome:
    """Without Spark nothing is answered, and so no answer is looked at."""
    agents = Agents(directory, site_count=site_count, has_spark=has_spark)
    try:
        agents.start()
    except BaseException:
        agents.stop()
        raise
    writers = honest.Writers(directory, agents.sites)
    try:
        return asyncio.run(_run(agents, writers, tuple(rows), say))
    finally:
        writers.stop()
        agents.stop()


async def _run(
    agents: Agents, writers: honest.Writers, rows: tuple[int, ...], say: Callable[[str], None]
) -> Outcome:
    outcome = Outcome()
    answers = honest.Answers(agents.directory, agents.sites[0])
    problem = await agents.run(honest.SQL)
    if problem:
        raise HeadwaterError(problem)
    began = int(time.time()) + honest.WINDOW_S
    siege = Siege(agents, Thief(agents))
    await siege.thief.open()
    try:
        await _settled(siege, answers, began)
        for row in rows:
            line = await _attacked(siege, row)
            outcome.lines.append(line)
            say(str(line))
            outcome.troubles += await _well(agents, row)
        for to in agents.names:
            await siege.thief.say(to, siege.thief.end_own())
        await asyncio.sleep(1.0)
    finally:
        await siege.thief.close()
    outcome.troubles += await _restarted(agents, answers, say)
    outcome.troubles += answers.wrong(writers.truth, first=began)
    outcome.windows = _final_since(answers, began)
    return outcome


async def _settled(siege: Siege, answers: honest.Answers, began: int) -> None:
    """The thief has heard of the honest stream and told the truth of its own site, and the first
    windows are final."""
    deadline_s = time.monotonic() + ANSWERS_S_MAX
    told = False
    while not told or (siege.agents.has_spark and _final_since(answers, began) < WINDOWS_FIRST):
        if time.monotonic() > deadline_s:
            raise HeadwaterError("no window of the honest stream became final before any attack")
        for to in siege.agents.names:
            await siege.thief.linked(to)
        await siege.thief.beat(seconds=1.0, change=lambda beat: beat)
        for key, install in siege.thief.installs.items():
            if key.startswith(f"{honest.STREAM}@") and not told:
                state = StatesMessage((siege.thief.own_state(install.query),))
                await siege.thief.say(siege.agents.sites[0], state)
                told = True


def _final_since(answers: honest.Answers, began: int) -> int:
    return len([second for second in answers.final() if second > began])


async def _attacked(siege: Siege, row: int) -> Line:
    tried, attack = ROWS[row]
    try:
        return Line(row, tried, HELD, await attack(siege))
    except Succeeded as error:
        return Line(row, tried, BROKEN, str(error))
    except Missing as error:
        return Line(row, tried, OPEN, str(error))
    except (HeadwaterError, TimeoutError, OSError) as error:
        return Line(row, tried, BROKEN, f"{type(error).__name__}: {error}"[:300])


async def _well(agents: Agents, row: int) -> list[str]:
    """Nobody ended, and everybody answers an operator."""
    found = [
        f"after row {row}: {name} has ended" for name in agents.names if not agents.is_alive(name)
    ]
    for name in agents.names:
        try:
            lines = await agents.streams(at=name)
        except (HeadwaterError, TimeoutError, OSError) as error:
            found.append(f"after row {row}: {name} does not answer: {error}")
            continue
        if honest.STREAM not in lines:
            found.append(f"after row {row}: {name} knows nothing of the honest stream")
    return found


async def _restarted(
    agents: Agents, answers: honest.Answers, say: Callable[[str], None]
) -> list[str]:
    """All agents begin again from their disks, and the honest stream goes on."""
    before = set(answers.final())
    agents.stop()
    agents.start()
    say("     all agents were started again")
    deadline_s = time.monotonic() + ANSWERS_S_MAX
    while agents.has_spark and len(set(answers.final()) - before) < WINDOWS_FIRST:
        if time.monotonic() > deadline_s:
            return ["after the restart no window of the honest stream became final"]
        await asyncio.sleep(1.0)
    return await _well(agents, 0)
