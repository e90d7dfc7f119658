"""One round: a query comes, reads a batch beside others, is answered, fails or not, and goes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from headwater.errors import GroupFailed, HeadwaterError
from headwater.plan.query import Query
from headwater.spark.jvm.lease import Spark
from headwater.spark.root.root_part import RootSpark
from headwater.spark.site.site_host import SiteHost
from headwater.sql.compile import compile_statements
from soak.site import SoakSite

SOURCE = """
CREATE SOURCE {source} (ts TIMESTAMP, name STRING, n BIGINT, x DOUBLE)
WITH (format = 'csv', path = '*', time = 'ts');
"""
STANDING = (
    "SELECT name, count(*) AS c, sum(n) AS s FROM hits GROUP BY window(ts, '10 seconds'), name"
)
SHAPES = (
    "SELECT name, count(*) AS c, avg(x) AS a FROM {source} WHERE n > {k} "
    "GROUP BY window(ts, '10 seconds'), name",
    "SELECT min(x + {k}) AS lo, max(x) AS hi FROM {source} GROUP BY window(ts, '20 seconds', "
    "'10 seconds')",
    "SELECT upper(name) AS u, sum(n + {k}) AS s FROM {source} "
    "GROUP BY window(ts, '10 seconds'), upper(name) ORDER BY s DESC LIMIT 3",
    "SELECT count(*) FILTER (WHERE x > {k}) AS c, sum(CAST(n AS DECIMAL(12, 2))) AS d "
    "FROM {source} GROUP BY window(ts, '10 seconds') HAVING count(*) > 1",
)
FAILING = "SELECT sum({k} DIV (n - n)) AS f FROM {source} GROUP BY window(ts, '10 seconds')"
OVERFLOWING = (
    "SELECT sum(n) + {k} + 9223372036854775806 AS o FROM {source} GROUP BY window(ts, '10 seconds')"
)
LINES = 40
RESTART_EVERY, VISIT_EVERY = 10, 25
"""Rounds from one stopped stream, or one source that comes and goes, to the next."""


class Soak:
    """Everything that an agent does with Spark, on one lease after the other."""

    def __init__(self, spark: Spark, directory: Path, *, seed: int) -> None:
        self._spark = spark
        self._directory = directory
        self._chance = random.Random(seed)
        self._root = RootSpark(spark)
        self._host = SiteHost(spark, directory / "host")
        (self._standing,) = _compiled(STANDING, "hits", "standing", 1)
        self._site = SoakSite(directory / "hits", self._standing.program.source)
        self._site.inbox.installed = frozenset([str(self._standing.id)])
        self._host.install(self._standing)
        self._host.serve("soak", self._site.inbox)
        self._numbers = 1
        self.failures = 0
        self.answers = 0

    def stop(self) -> None:
        self._host.stop()

    def round(self, number: int) -> None:
        """Two queries come and go, of which one fails: at the site, or at the root."""
        fine, broken = self._shape("hits", number), self._broken(number)
        with self._installed(fine, broken):
            self._batch(self._site, [fine, broken])
        if number % VISIT_EVERY == 0:
            self._visit(number)
        if number % RESTART_EVERY == 0:
            self._stop_a_stream()

    @contextmanager
    def _installed(self, *queries: Query) -> Iterator[None]:
        before = self._site.inbox.installed
        for query in queries:
            self._host.install(query)
        self._site.inbox.installed = before | {str(query.id) for query in queries}
        yield
        self._site.inbox.installed = before
        for query in queries:
            self._host.remove(str(query.id))

    def _shape(self, source: str, number: int) -> Query:
        self._numbers += 1
        text = SHAPES[number % len(SHAPES)].format(source=source, k=number)
        return _compiled(text, source, "fine", self._numbers)[0]

    def _broken(self, number: int) -> Query:
        self._numbers += 1
        text = (FAILING if number % 2 else OVERFLOWING).format(source="hits", k=number)
        return _compiled(text, "hits", "broken", self._numbers)[0]

    def _batch(self, site: SoakSite, queries: list[Query]) -> None:
        """One batch of all that are installed, and the answers of these."""
        site.put(_lines(self._chance))
        self._host.notice("")
        by_id = {str(query.id): query for query in queries}
        for result in site.wait():
            self.failures += result.failed is not None
            if result.table is not None and result.query in by_id:
                self._answer(by_id[result.query], result.table)

    def _answer(self, query: Query, table: pa.Table) -> None:
        window = query.window.windows_of(table["pane"][0].as_py())[-1]
        try:
            self._root.finish(query, {window: table.drop_columns("pane")})
            self.answers += 1
        except GroupFailed:
            self.failures += 1

    def _visit(self, number: int) -> None:
        """A source of its own: its stream starts, reads, and ends."""
        query = self._shape("visits", number)
        site = SoakSite(self._directory / "visits", query.program.source)
        site.inbox.installed = frozenset([str(query.id)])
        self._host.install(query)
        self._host.serve("visitor", site.inbox)
        self._batch(site, [query])
        self._host.withdraw("visitor")
        self._host.remove(str(query.id))

    def _stop_a_stream(self) -> None:
        """As trouble does; the host starts it again, with a new epoch."""
        lease = self._spark.lease()
        with suppress(HeadwaterError):
            for stream in lease.session.streams.active:
                stream.stop()
        lease.end()


def _compiled(select: str, source: str, name: str, counter: int) -> list[Query]:
    text = f"{SOURCE.format(source=source)} CREATE STREAM {name} AS {select};"
    return compile_statements(
        text, root="home", installer="home", next_counter=counter, begin="earliest"
    )


def _lines(chance: random.Random) -> str:
    return "".join(
        f"2026-05-01T12:00:{chance.randrange(10):02d}Z,name {chance.randrange(5)},"
        f"{chance.randrange(1, 9)},{chance.randrange(16) / 4}\n"
        for _ in range(LINES)
    )
