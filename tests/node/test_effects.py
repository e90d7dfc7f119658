"""The table of effects: it names them all, and whoever executes it can do them all."""

from __future__ import annotations

from typing import get_args

import pytest
from pane_kit import RootDisk, SiteDisk

from headwater.agent.answers.answers_shell import AnswersShell
from headwater.agent.effects import NetworkShell
from headwater.agent.input.site_shell import SiteShell
from headwater.agent.runtime import SiteRuntime
from headwater.node import effects as do
from headwater.node.node import Node
from headwater.sim.records.ledger_disk import LedgerDisk
from headwater.sim.world.disk import CubeDisk, Disk
from headwater.sim.world.life import Life
from headwater.store.commands import CommandStore
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_writes import CubeWriter
from headwater.store.ledger.root_ledger import RootLedger

REAL: dict[do.Store, type] = {
    "network": NetworkShell,
    "cube": CubeWriter,
    "site": SiteShell,
    "ledger": RootLedger,
    "answers": AnswersShell,
    "commands": CommandStore,
    "people": SiteRuntime,
}
SIMULATED: dict[do.Store, type] = {
    "network": Life,
    "cube": CubeDisk,
    "site": Life,
    "ledger": LedgerDisk,
    "answers": Life,
    "commands": Disk,
    "people": Life,
}
OF_TESTS: dict[do.Store, type] = {"cube": SiteDisk, "ledger": RootDisk}


def test_the_table_names_every_effect() -> None:
    assert set(do.WORK) == set(get_args(do.Effect))


def test_the_table_names_every_store() -> None:
    assert {work.store for work in do.WORK.values()} == set(get_args(do.Store)) == set(REAL)
    assert set(SIMULATED) == set(REAL)


@pytest.mark.parametrize("stores", [REAL, SIMULATED, OF_TESTS], ids=["real", "simulated", "tests"])
def test_every_store_has_the_methods_that_the_table_names(stores: dict[do.Store, type]) -> None:
    wanted = [work for work in do.WORK.values() if work.store in stores]
    lacking = [work for work in wanted if not callable(getattr(stores[work.store], work.method, 0))]
    assert lacking == []


def test_every_real_store_of_durable_effects_writes_runs_of_them() -> None:
    durable = {work.store for work in do.WORK.values() if work.is_durable}
    writers = {**REAL, "cube": Cube}
    assert [store for store in durable if not callable(getattr(writers[store], "write", 0))] == []


def test_the_node_hears_what_the_table_says_that_it_is_told() -> None:
    told = [work.told for work in do.WORK.values() if work.told]
    assert [name for name in told if not callable(getattr(Node, name, 0))] == []


def test_only_what_is_durable_is_told() -> None:
    """The others are answered by calls of their own, when they are done."""
    assert all(work.is_durable for work in do.WORK.values() if work.told)
