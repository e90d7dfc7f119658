"""Deals the tests to workers (``pytest -n 2``) by whole files, the longest first.

A file's tests share what its fixtures made, often with a JVM, so they stay together. The longest
files come first, because a long one that begins last keeps a single worker busy while the others
have nothing left. Files that start federations of real processes are one bundle: two of them at
once would take each other's processors, and each waits for what its processes do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

PROCESSES = "files that start federations of real processes"
BUNDLED = (
    "tests/processes/test_up.py",
    "tests/processes/test_declared_sources.py",
    "tests/processes/test_hostile.py",
    "tests/processes/test_crowd.py",
    "tests/cluster/test_standalone.py",
)
LONGEST = (
    "tests/conformance/test_federated_equals_central.py",
    "tests/awkward/test_awkward.py",
    "tests/conformance/test_queries.py",
    "tests/conformance/test_guide.py",
    "tests/conformance/test_generated_queries.py",
    "tests/algebra/aggregates/test_laws.py",
    "tests/sim/test_checkers_can_fail.py",
    "tests/sim/test_sweep.py",
    "tests/test_contributing.py",
    "tests/spark/workers/test_worker_lines.py",
    "tests/store/test_follow_schedules.py",
    "tests/agent/test_clock_ahead.py",
    "tests/spark/site/test_standing_objects.py",
    "tests/conformance/test_groups_left_out.py",
    "tests/sim/test_growth.py",
    "tests/cli/test_try_command.py",
    "tests/conformance/test_examples.py",
    "tests/sim/test_clocks.py",
    "tests/spark/root/test_root_part.py",
    "tests/processes/test_soak.py",
    "tests/shell/test_schedules.py",
    "tests/conformance/test_formats_equal_central.py",
    "tests/spark/site/test_batch.py",
)
"""Before all others, in this order: each takes more than half a minute of processor time."""


class WorkDealer(LoadScopeScheduling):
    """Keeps the order in which the tests were collected."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return bundle(nodeid.partition("::")[0])


def bundle(path: str) -> str:
    """What is dealt together with this file, by name."""
    return PROCESSES if path in BUNDLED else path


def longest_first(items: list[pytest.Item], longest: Sequence[str] = LONGEST) -> None:
    """In place; those that are not named stay in their order, behind those that are."""
    places = {path: place for place, path in enumerate((*BUNDLED, *longest))}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
