"""What a site does with questions that it has admitted: their turn, their limits, their pins.

A question waits for its turn, since few are answered at once. It is answered by this site's own
copies of both queries, so whoever asks can't have anything else computed; what it reads is pinned
until it ends. Whatever goes wrong is a refusal in a sentence, which travels: it never ends the
agent, nor touches other queries.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import structlog

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.asking.cube_answer import (
    CubeAnswer,
    OverLimit,
    as_of,
    damaged_ranges,
    panes_of,
    slice_bounds,
)
from headwater.agent.asking.estimating import estimated_rows, listed_rows
from headwater.agent.query_book import QueryBook
from headwater.algebra.words.site_state import Declined
from headwater.edge.take_asked import Asked
from headwater.errors import HeadwaterError, StoreBroken
from headwater.plan.query import Query
from headwater.plan.questions.ask import Ask
from headwater.spark.asked.cube_job import CubeSpark
from headwater.sql.questions.subsume import CubePart, subsume
from headwater.store.cube.asked.cube_slices import CubeSlice
from headwater.store.cube.cube import Cube

log = structlog.get_logger()

UNRECORDED_S = 0.05
"""Until the cube has a record of a question that was installed a moment ago it is looked again."""


class SiteQuestions:
    """Driven by the event loop; cubes and Spark are asked in threads of its own."""

    def __init__(
        self,
        site: str,
        cube: Cube,
        book: QueryBook,
        config: AskConfig,
        *,
        spark: CubeSpark | None,
        live: Callable[[str], bool],
        listed_bytes: Callable[[Query], int],
        told: Callable[[Asked], None],
        note: Callable[[str, str], None],
        now_s: Callable[[], float],
    ) -> None:
        """``live``: whether a stream of this id is installed here; ``listed_bytes``: what the files
        of a query's source have; ``told`` hears what a question
        has, on the loop."""
        self._cube = cube
        self._book = book
        self._config = config
        self._spark = spark
        self._live = live
        self._listed_bytes = listed_bytes
        self._told = told
        self._note = note
        self._now_s = now_s
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.turns = asyncio.Semaphore(config.questions_max)
        """Also of questions that read logs."""
        self._threads = ThreadPoolExecutor(config.questions_max, thread_name_prefix=f"{site}-asked")
        self.answered = 0
        self.refused = 0
        self.pinned_panes = 0
        """That retention passed over, each time counted; in this life, as all of these."""

    def install(self, query: Query) -> None:
        """It is answered when its turn has come; also after a restart."""
        question = str(query.id)
        if question not in self._tasks:
            self._tasks[question] = asyncio.create_task(self._answer(query))

    def withdraw(self, question: str) -> bool:
        """It is over here: removed, or answered and sealed. What it was given is rows of its own by
        then, which repairs are made of. False: it is none of these."""
        task = self._tasks.pop(question, None)
        self._cube.slices.pins.end(question)
        if task is None:
            return False
        task.cancel()
        return True

    async def stop(self) -> None:
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def counts(self) -> dict[str, int]:
        """For metrics."""
        return {
            "answered": self.answered,
            "refused": self.refused,
            "panes pinned": self.pinned_panes,
        }

    async def _answer(self, query: Query) -> None:
        loop = asyncio.get_running_loop()
        while self._cube.past_of(str(query.id)) is None:
            await asyncio.sleep(UNRECORDED_S)
        async with self.turns:
            found = await loop.run_in_executor(self._threads, lambda: self._found(query))
        if found.refused:
            self.refused += 1
            self._tasks.pop(found.question, None)
            self._cube.slices.pins.end(found.question)
            self._note("question refused", f"{found.question}: {found.refused}")
        else:
            self.answered += 1
        self._told(found)

    # In a thread

    def _found(self, query: Query) -> Asked:
        question = str(query.id)
        try:
            return self._asked(query)
        except StoreBroken as error:  # the loop finds that by itself, and the agent ends
            return Asked(question, refused=f"this site's store is broken: {error}")
        except HeadwaterError as error:
            return Asked(question, refused=str(error)[:400])
        except Exception as error:  # it fails alone
            log.exception("question failed", question=question)
            return Asked(question, refused=f"it failed: {type(error).__name__}: {error}"[:400])

    def _asked(self, query: Query) -> Asked:
        ask, question = query.asked, str(query.id)
        assert ask is not None, "only questions come here"
        if self._cube.asked_rows.is_made(question):
            return Asked(question)
        if not ask.stream:
            return self._log_estimate(query)
        stream, part = self._contained(query, ask)
        found = self._pinned(query, stream, part)
        deadline_s = time.monotonic() + min(ask.seconds_max, self._config.seconds_max)
        if ask.estimates:
            return self._estimated(query, stream, part, found)
        bytes_max = min(ask.bytes_max, self._config.bytes_max)
        if found.bytes > bytes_max:
            raise OverLimit(
                f"over its limit: it would read {found.bytes} bytes of {found.stream}, and may "
                f"read {bytes_max} here; ask about less, or raise ask.bytes_max"
            )
        made = self._answer_of(query, stream, part, found, deadline_s).made()
        rows = self._cube.asked_rows.keep(question, made.rows)
        return Asked(
            question,
            tuple(sorted(rows.items())),
            tuple(made.declined),
            damaged_ranges(made),
            as_of(found, stream),
        )

    def _contained(self, query: Query, ask: Ask) -> tuple[Query, CubePart]:
        """The stream, and how the question is computed of it. Raises ``HeadwaterError``."""
        if not self._live(ask.stream):
            raise HeadwaterError(
                f"stream {ask.stream}: it is not installed here; ask about one that runs"
            )
        stream = self._book.query(ask.stream)
        if ask.estimates:
            if not query.reads_as(stream):  # or it would count what whoever asks may not read
                raise HeadwaterError(
                    f"stream {ask.stream}: wanted an estimate of its own source, got one that "
                    "reads another source"
                )
            return stream, CubePart("", None, query.window.pane_us // stream.window.pane_us)
        return stream, subsume(query, stream)

    def _pinned(self, query: Query, stream: Query, part: CubePart) -> CubeSlice:
        question, now_s = str(query.id), self._now_s()
        slices = self._cube.slices
        first, last = slice_bounds(query, stream, part)
        opens = query.asked is not None and query.asked.adds_open
        if query.asked is not None and query.asked.estimates:
            return slices.slice(str(stream.id), first, last, opens=opens)
        until_s = now_s + self._config.life_s
        found = slices.pinned(question, str(stream.id), first, last, until_s=until_s, opens=opens)
        held = slices.pins.bytes(now_s=now_s, beside=question)
        if held + found.bytes > self._config.pinned_bytes_max:
            slices.pins.end(question)
            raise OverLimit(
                f"over its limit: questions hold {held} bytes here, {found.bytes} more would be "
                f"beyond {self._config.pinned_bytes_max} (ask.pinned_bytes_max); ask again later"
            )
        return found

    def _answer_of(
        self, query: Query, stream: Query, part: CubePart, found: CubeSlice, deadline_s: float
    ) -> CubeAnswer:
        def check() -> None:
            if time.monotonic() > deadline_s:
                raise OverLimit(
                    "over its limit: it did not end within the seconds that it may take here "
                    "(ask.seconds_max); ask about less"
                )

        def compute(sql: str, rows: pa.Table) -> pa.Table:
            if self._spark is None:
                raise HeadwaterError(
                    f"question {query.id}: wanted a Spark to compute conditions with, and this "
                    "site has none; ask without WHERE and computed keys"
                )
            left_s = max(0.1, deadline_s - time.monotonic())
            return self._spark.computed(query, sql, rows, job_s_max=left_s)

        return CubeAnswer(
            query,
            stream,
            part,
            found,
            load=self._cube.slices.load,
            load_anew=self._cube.slices.load_anew,
            merger=self._book.merger(str(stream.id)),
            compute=compute,
            check=check,
        )

    def _log_estimate(self, query: Query) -> Asked:
        """What the files of its source have, whatever time that is of: nobody has looked inside."""
        rows = listed_rows(self._listed_bytes(query), self._book.merger(str(query.id)).schema)
        kept = self._cube.asked_rows.keep(str(query.id), {panes_of(query).start: rows})
        return Asked(str(query.id), tuple(sorted(kept.items())))

    def _estimated(self, query: Query, stream: Query, part: CubePart, found: CubeSlice) -> Asked:
        """What there would be to read, as rows of the estimate: one for each pane that is here."""
        schema = self._book.merger(str(query.id)).schema
        by_pane, declined = {}, []
        for pane in panes_of(query):
            first = part.first_of(pane, query, stream)
            last = first + part.panes - 1
            why = found.why_lacking(first, last)
            if why is not None:
                declined.append(Declined(first=pane, last=pane, reason=why))
                continue
            rows = estimated_rows(found, first, last, schema)
            if rows is not None:
                by_pane[pane] = rows
        kept = self._cube.asked_rows.keep(str(query.id), by_pane)
        return Asked(str(query.id), tuple(sorted(kept.items())), tuple(declined))
