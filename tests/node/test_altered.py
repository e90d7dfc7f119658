"""Settings that are altered, at whole nodes: sites and root go by them where their policy lets the
operator, a restart keeps them, and no window is missing."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import make_query
from tests.node.test_node import ID, QUERY, World

from headwater.node import effects as do
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter
from headwater.plan.duty import Admit
from headwater.plan.notice import Notice


@pytest.fixture
def world() -> World:
    made = World()
    made.install(QUERY)
    made.run(12.0)
    return made


class WithPolicy(World):
    """The second site takes nothing of ben."""

    def admit_at(self, name: str) -> Admit:
        return lambda query, duty, operator: (
            "not ben's" if (operator, name) == ("ben", "s1") else None
        )


def give(world: World, *, first_pane: int, deadline_s: float = 30.0, operator: str = "") -> None:
    alter = Alter(
        id=QUERY.id,
        installer="s0",
        counter=QUERY.id.counter + 1,
        number=1,
        first_pane=first_pane,
        settings=Settings(deadline_s=deadline_s),
        operator=operator,
    )
    assert world["s0"].node.command(alter, now_s=world.now_s) is None
    world["s0"].work()
    world.deliver()


def told(world: World, name: str) -> tuple[tuple[int, int], ...]:
    return world[name].node.edge.progress()[0].record.settings


def test_every_site_says_from_which_pane_on_it_goes_by_them(world: World) -> None:
    give(world, first_pane=9)
    for name in world.hosts:
        assert told(world, name) == ((1, 9),)
        (altered,) = world[name].of(do.Altered)
        assert altered.settings.number_at(9) == 1
    root = world["s0"].node.root(ID)
    assert root is not None
    assert [root.windows.settings_of(n).deadline_s for n in (8, 9)] == [
        QUERY.timing.deadline_s,
        30.0,
    ]


def test_a_restart_keeps_them(world: World) -> None:
    give(world, first_pane=9)
    world["s1"].start()
    assert told(world, "s1") == ((1, 9),)
    *_, altered = world["s1"].of(do.Altered)
    assert altered.settings.number_at(9) == 1


def test_a_restart_keeps_them_of_a_query_that_is_suspended(world: World) -> None:
    """What was kept back by them may still have to follow."""
    give(world, first_pane=9)
    world["s1"].node.suspend(ID, "it takes more than its share", now_s=world.now_s)
    world.run(20.0)
    world["s1"].effects.clear()
    world["s1"].start()
    assert not world["s1"].node.edge.is_running(ID)
    *_, altered = world["s1"].of(do.Altered)
    assert altered.settings.number_at(9) == 1


def test_the_settings_of_an_install_are_its_own() -> None:
    settings = Settings.of(make_query())
    assert settings.on(make_query()) == make_query()
    late = msgspec.structs.replace(settings, deadline_s=99.0)
    assert late.on(make_query()).timing.deadline_s == 99.0
    assert not late.is_like(settings)


def test_where_the_policy_does_not_let_the_operator_it_goes_by_the_ones_before() -> None:
    world = WithPolicy()
    world.install(QUERY)
    world.run(12.0)
    give(world, first_pane=9, operator="ben")
    assert told(world, "s1") == ()
    assert told(world, "s2") == ((1, 9),)
    notices = [one.text for one in world["s1"].of(Notice) if one.kind == "settings refused"]
    assert len(notices) == 1
    assert "not ben's" in notices[0]
