"""Sessions for the root parts of queries: as many as are at work at once, not as many as queries.

A session holds a query's settings and the view that its root part reads. What a session takes in
the JVM is small but not nothing, and queries come and go for months, so a session belongs to
nobody: a job borrows one with its settings, and leaves it without a view.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator

from pyspark.sql import SparkSession

from headwater.spark.jvm.lease import AnyLease
from headwater.spark.jvm.session import apply_settings
from headwater.spark.site.query_group import Settings

IDLE_MAX = 16
"""Sessions that nobody uses now. As a rule there are as many as jobs run at once, two for each
site, since settings hardly differ."""


class RootSessions:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._idle: OrderedDict[SparkSession, tuple[int, Settings]] = OrderedDict()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def borrowed(self, lease: AnyLease, settings: Settings, *, view: str) -> Iterator[SparkSession]:
        """One with these settings, for one job. It comes back only if the job went well."""
        session = self._found(lease, settings) or apply_settings(lease.session, dict(settings))
        try:
            yield session
        finally:
            with contextlib.suppress(Exception):  # the JVM may be gone
                session.catalog.dropTempView(view)
                self._put_back(session, lease, settings)

    def _found(self, lease: AnyLease, settings: Settings) -> SparkSession | None:
        with self._lock:
            for session, (generation, of) in list(self._idle.items()):
                if generation != lease.generation:
                    del self._idle[session]
                elif of == settings:
                    del self._idle[session]
                    return session
        return None

    def _put_back(self, session: SparkSession, lease: AnyLease, settings: Settings) -> None:
        with self._lock:
            self._idle[session] = (lease.generation, settings)
            while len(self._idle) > IDLE_MAX:
                self._idle.popitem(last=False)
