"""A stream that is ended by command while its panes stay, at whole nodes: its last window, what is
read no more, and who hears late or starts anew."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import make_query
from tests.node.test_node import ID, QUERY, World

from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter
from headwater.plan.duty import Admit

SLIDING = make_query(panes=3, slide=1, begin_pane=1)


@pytest.fixture
def world() -> World:
    made = World()
    made.install(QUERY)
    made.run(12.0)
    return made


def end(world: World, *, pane: int, query=QUERY, operator: str = "") -> None:
    alter = Alter(
        id=query.id,
        installer="s0",
        counter=query.id.counter + 1,
        number=1,
        first_pane=pane,
        settings=msgspec.structs.replace(Settings.of(query), is_end=True),
        operator=operator,
    )
    assert world["s0"].node.command(alter, now_s=world.now_s) is None
    world["s0"].work()
    world.deliver()


def fill(world: World, pane: int) -> None:
    for number, host in enumerate(world.hosts.values()):
        host.commit(QUERY, pane, [10 * pane + number])


def record(world: World, name: str):
    return world[name].node.edge.progress()[0].record


def windows(world: World) -> list[int]:
    return sorted({window for _, window, _, _ in world["s0"].published})


def test_its_last_window_is_answered_and_none_behind_it(world: World) -> None:
    end(world, pane=3)
    for pane in (1, 2, 3):
        fill(world, pane)
    world.run(80.0)
    assert windows(world) == [1, 2]
    assert (ID, 2, (20, 21, 22), True) in world["s0"].published
    assert {record(world, name).end_pane for name in world.hosts} == {3}
    assert {record(world, name).closed_through for name in world.hosts} == {3}


def test_it_is_live_until_it_is_removed_also_after_a_restart(world: World) -> None:
    end(world, pane=3)
    world.run(40.0)
    for name in ("s1", "s0"):
        world[name].start()
        world.link(name, "s0" if name == "s1" else "s1")
    world.link("s0", "s2")
    world.run(80.0)
    assert windows(world) == [1, 2]
    for name in world.hosts:
        assert ID in world[name].node.peer.live_queries()
        assert record(world, name).end_pane == 3


def test_who_hears_late_keeps_what_it_has_closed_and_nobody_waits_for_it(world: World) -> None:
    """It has closed two panes behind the end by then, which are wanted by nobody."""
    world.run(52.0)
    assert record(world, "s1").closed_through == 5
    end(world, pane=3)
    late = record(world, "s1")
    assert (late.end_pane, late.unwanted) == (5, ((3, 4),))


def test_a_window_that_is_open_and_reaches_beyond_the_end_is_none() -> None:
    world = World()
    world.install(SLIDING)
    world.run(12.0)
    root = world["s0"].node.root(str(SLIDING.id))
    assert root is not None
    for host in world.hosts.values():
        host.commit(SLIDING, 3, [1])
    world.run(41.0)
    assert set(root.windows.windows) >= {1, 2, 3}
    end(world, pane=5, query=SLIDING)
    assert max(root.windows.windows) == 2
    world.run(90.0)
    assert windows(world) == [1, 2]


class Refuses(World):
    """The second site lets ben install nothing."""

    def admit_at(self, name: str) -> Admit:
        return lambda query, duty, operator: (
            "not ben's" if (operator, name) == ("ben", "s1") else None
        )


def test_an_end_is_a_removal_which_no_policy_of_a_site_holds_up() -> None:
    world = Refuses()
    world.install(QUERY)
    world.run(12.0)
    end(world, pane=3, operator="ben")
    assert record(world, "s1").end_pane == 3
