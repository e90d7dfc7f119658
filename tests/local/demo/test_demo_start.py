"""The demo's start: its sites are there to see while Spark warms up."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from headwater.local.demo import demo
from headwater.local.demo.demo_snapshot import DemoSnapshot, SiteCondition
from headwater.spark.jvm.session import RunningSpark

WAIT_S_MAX = 30.0


class Ready(Exception):
    """The logs are about to begin, and that is as far as this goes."""


class NoFederation:
    def __init__(self, *_: object, **__: object) -> None:
        self.runtimes: dict[str, Any] = {}

    async def start(self) -> None:
        await asyncio.sleep(0)

    async def stop(self) -> None:
        pass


class Shown:
    """Each condition that all sites had at once; the warm-up ends when they were seen to be up."""

    def __init__(self) -> None:
        self.conditions: list[SiteCondition] = []
        self.elapsed_s: set[float] = set()
        self.are_up = threading.Event()

    def show(self, snapshot: DemoSnapshot) -> None:
        (condition,) = {SiteCondition(site.line.link) for site in snapshot.view.sites}
        self.elapsed_s.add(snapshot.elapsed_s)
        self.conditions.append(condition)
        if condition is SiteCondition.UP:
            self.are_up.set()

    def warm_up(self, *_: object) -> None:
        assert self.are_up.wait(WAIT_S_MAX), "nobody saw the sites while Spark warmed up"


def _ready(_: demo.Demo) -> None:
    raise Ready


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    made = Shown()
    monkeypatch.setattr(demo, "Federation", NoFederation)
    monkeypatch.setattr(demo, "_warm_up", made.warm_up)
    monkeypatch.setattr(demo.Demo, "_start_logs", _ready)
    return made


def run(shown: Shown, directory: Path) -> None:
    spark = cast(RunningSpark, None)
    demo.run_demo(directory, spark, seconds=20.0, seed=1, show=shown.show)


def test_the_sites_are_seen_before_spark_is_warm(shown: Shown, tmp_path: Path) -> None:
    with pytest.raises(Ready):
        run(shown, tmp_path)
    assert shown.conditions[0] is SiteCondition.STARTING
    assert shown.conditions[-1] is SiteCondition.UP
    assert shown.elapsed_s == {0.0}, "the minute begins with the questions"


def test_a_warm_up_that_fails_ends_the_demo_with_its_words(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(demo, "_warm_up", fails)
    with pytest.raises(OSError, match="no room"):
        run(shown, tmp_path)
