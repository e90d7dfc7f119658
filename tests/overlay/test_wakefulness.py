"""A peer that is late itself: it accuses nobody, and makes less work. Rule "Trouble must shed"."""

from __future__ import annotations

import pytest

from headwater.overlay.config import OverlayConfig
from headwater.overlay.outputs import AckDelivered, Dial, Hangup
from headwater.overlay.wakefulness import Wakefulness

CONFIG = OverlayConfig()
STAR = "root\n  a\n  b\n  c"
CHAIN = "root\n  a\n    b\n      c\n        d"


@pytest.fixture
def wake() -> Wakefulness:
    wake = Wakefulness(CONFIG)
    wake.promise(0.0, now_s=0.0)
    wake.wake(now_s=100.0)  # the first tick: nothing can have been promised before
    return wake


def test_the_first_tick_is_never_late(wake: Wakefulness) -> None:
    assert wake.asleep_s == 0.0
    assert wake.share(100.0) == 1.0


def test_a_tick_is_late_by_what_passed_since_it_was_promised(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    assert wake.wake(now_s=105.0) == 3.0
    assert wake.late_s(105.0) == 3.0


def test_a_tick_within_the_tolerance_is_in_time(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    assert wake.wake(now_s=102.0 + CONFIG.late_after_s) == 0.0


def test_a_tick_that_is_wanted_at_once_counts_from_then(wake: Wakefulness) -> None:
    wake.promise(110.0, now_s=100.0)
    wake.promise(0.0, now_s=104.0)
    assert wake.wake(now_s=105.0) == 1.0


def test_what_is_heard_while_a_tick_is_overdue_does_not_hide_that(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    for now_s in (103.0, 104.0, 105.0):
        wake.promise(0.0, now_s=now_s)
    assert wake.wake(now_s=106.0) == 4.0


def test_a_deadline_that_moved_away_is_not_held_against_a_tick(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    wake.promise(108.0, now_s=101.0)
    assert wake.wake(now_s=108.0) == 0.0


def test_a_tick_that_is_overdue_stays_so_whatever_a_message_settles(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    wake.promise(108.0, now_s=103.0)
    assert wake.wake(now_s=109.0) == 7.0


def test_the_share_falls_with_sleep_and_comes_back(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    wake.wake(now_s=112.0)
    fallen = wake.share(112.0)
    assert 0.3 < fallen < 0.45
    assert fallen < wake.share(120.0) < wake.share(160.0)
    assert wake.share(200.0) > 0.99


def test_the_share_never_falls_below_what_a_budget_keeps(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    wake.wake(now_s=10_000.0)
    assert wake.share(10_000.0) == CONFIG.budget_share_min


def test_lateness_is_forgotten_after_the_life_of_a_summary(wake: Wakefulness) -> None:
    wake.promise(102.0, now_s=100.0)
    wake.wake(now_s=105.0)
    assert wake.late_s(105.0 + CONFIG.summary_life_s) == 3.0
    assert wake.late_s(106.0 + CONFIG.summary_life_s) == 0.0


def test_a_shorter_sleep_does_not_hide_a_longer_one_before_it(wake: Wakefulness) -> None:
    for due_s, came_s in ((102.0, 107.0), (108.0, 109.0)):
        wake.promise(due_s, now_s=due_s - 1.0)
        wake.wake(now_s=came_s)
    assert wake.late_s(110.0) == 5.0


# In a peer


def silenced(world, name: str) -> list[Hangup]:
    return [out for out in world.of(name, Hangup) if world.peers[name].is_silent(out.site)]


def test_a_peer_that_is_always_somewhat_late_accuses_nobody(overlay) -> None:
    """Late by less than the patience for others, but again and again: a loop with too much to do.
    What came meanwhile is heard after the tick."""
    world = overlay.World(STAR)
    world.run(10.0)
    world.outputs["a"].clear()
    for _ in range(20):
        world.asleep, world.deaf = {"a"}, {("root", "a")}
        world.run(4.0)
        world.asleep, world.deaf = set(), set()
        world.run(0.5)
    assert "silent" not in world.notices("a")
    assert not silenced(world, "a")


def test_silence_that_a_peer_could_have_heard_is_still_noticed_by_one_that_sleeps(overlay) -> None:
    world = overlay.World(STAR)
    world.run(10.0)
    world.deaf = {("root", "a"), ("a", "root")}
    world.outputs["a"].clear()
    for _ in range(20):
        world.asleep = {"a"}
        world.run(1.0)
        world.asleep = set()
        world.run(2.0)
    assert "silent" in world.notices("a")


def test_who_slept_does_not_seek_a_host_for_what_it_has_missed(overlay) -> None:
    """Neither the root's signs nor its parent have gone quiet in the time that it was awake."""
    world = overlay.World(CHAIN)
    world.run(10.0)
    world.outputs["c"].clear()
    world.deaf = {("b", "c"), ("d", "c")}
    for _ in range(3):
        world.asleep = {"c"}
        world.run(4.0)
        world.asleep = set()
        world.run(0.3)
    world.deaf = set()
    world.run(3.0)
    assert not world.of("c", Dial)
    assert "silent" not in world.notices("c")


def test_who_slept_gives_its_trees_the_time_that_it_slept(overlay) -> None:
    """Its parent is lost just before: a host is sought when no tree has led on in time awake."""
    world = overlay.World(CHAIN)
    world.run(10.0)
    world.outputs["c"].clear()
    world.sever("b", "c")
    world.asleep, world.deaf = {"c"}, {("d", "c")}
    world.run(CONFIG.resort_after_s + 1.0)
    world.asleep, world.deaf = set(), set()
    world.run(0.5)
    assert not [dial for dial in world.of("c", Dial) if dial.as_host]
    world.run(CONFIG.resort_after_s + 1.0)
    assert [dial for dial in world.of("c", Dial) if dial.as_host]


def test_lateness_is_shown(overlay) -> None:
    world = overlay.World(STAR)
    world.run(10.0)
    world.asleep, world.deaf = {"a"}, {("root", "a")}
    world.run(4.0)
    world.asleep, world.deaf = set(), set()
    world.run(1.0)
    assert "late" in world.notices("a")
    assert world.peers["a"].wake.asleep_s > 1.0
    assert world.peers["a"].wake.share(world.now_s) < 1.0


# What a late peer says of others


def late_in(world, name: str) -> list[float]:
    return [out.ack.late_s for out in world.of(name, AckDelivered)]


def test_who_was_late_makes_the_acknowledgements_that_it_hands_on_later_by_that(overlay) -> None:
    """What the sites below sent may lie unheard at a relay, as it may at the root."""
    world = overlay.World(CHAIN)
    query = world.install()
    world.run(5.0)
    world.acknowledge(query, number=1)
    world.run(1.0)
    assert late_in(world, "d") == [0.0]
    world.asleep = {"b"}
    world.run(4.0)
    world.asleep = set()
    world.run(0.5)
    world.acknowledge(query, number=2)
    world.run(1.0)
    assert late_in(world, "a")[-1] == 0.0
    (slept_s,) = {late_in(world, name)[-1] for name in ("b", "c", "d")}
    assert 1.0 < slept_s < 4.0


# Budgets


def test_a_peer_that_slept_dials_less_at_once(overlay) -> None:
    """All its neighbours are lost when its loop has had too much to do for a while."""

    def dialled(*, naps: int) -> tuple[int, float]:
        names = [f"n{number}" for number in range(40)]
        drawing = "\n".join(["root", *(f"  {name}" for name in names)])
        world = overlay.World(drawing, hidden=["root"])
        world.run(10.0)
        for _ in range(naps):
            world.asleep, world.deaf = {"root"}, {(name, "root") for name in names}
            world.run(4.0)
            world.asleep, world.deaf = set(), set()
            world.run(0.5)
        world.outputs["root"].clear()
        world.part("root")
        share = world.peers["root"].wake.share(world.now_s)
        world.run(0.1)
        return len(world.of("root", Dial)), share

    assert dialled(naps=0) == (40, 1.0)
    count, share = dialled(naps=10)
    assert share < 0.6
    assert count == int(CONFIG.dials_burst_max * share)


def test_dials_keep_within_their_budget_and_none_is_forgotten(overlay) -> None:
    names = [f"n{number}" for number in range(30)]
    drawing = "\n".join(["root", *(f"  {name}" for name in names)])
    config = OverlayConfig(dials_per_s_max=2.0, dials_burst_max=4.0)
    world = overlay.World(drawing, hidden=["root"], linked=False, config=config)
    world.run(1.0)
    at_first = len(world.of("root", Dial))
    assert 4 <= at_first <= 6
    assert "dials wait" in world.notices("root") or len(world.of("n0", Dial)) == 0
    world.run(30.0)
    assert len(world.links) == len(names)


def test_hosts_are_sought_within_their_budget(overlay) -> None:
    def sought(**limits: float) -> int:
        world = overlay.World(CHAIN, config=OverlayConfig(**limits))
        world.run(10.0)
        world.part("d")
        world.run(60.0)
        return sum(dial.as_host for dial in world.of("d", Dial))

    assert sought(hosts_sought_per_s_max=0.05, hosts_sought_burst_max=1.0) <= 4 < sought()


def test_a_busy_peer_seeks_fewer_hosts(overlay, monkeypatch) -> None:
    def sought(share: float) -> int:
        monkeypatch.setattr(Wakefulness, "share", lambda self, now_s: share)
        config = OverlayConfig(hosts_sought_per_s_max=1.0, hosts_sought_burst_max=8.0)
        world = overlay.World(CHAIN, config=config)
        world.run(10.0)
        world.part("d")
        world.run(5.0)
        return sum(dial.as_host for dial in world.of("d", Dial))

    assert sought(0.1) == 1 < sought(1.0)


def test_a_small_budget_of_dials_goes_round(overlay) -> None:
    """Nobody answers, and there is one dial for every two pauses: all are dialled in turn."""
    names = [f"n{number}" for number in range(6)]
    drawing = "\n".join(["root", *(f"  {name}" for name in names)])
    config = OverlayConfig(
        dials_per_s_max=0.05, dials_burst_max=1.0, dial_first_s=5.0, dial_last_s=10.0
    )
    world = overlay.World(drawing, hidden=["root"], linked=False, config=config)
    world.part("root")
    world.run(20.0 * len(names))
    assert {dial.site for dial in world.of("root", Dial)} == set(names)


def test_a_relay_that_is_mostly_asleep_does_not_merge(overlay) -> None:
    """Those above it do, and nothing is lost."""
    world = overlay.World("root\n  a\n    b\n      c\n      d")
    query = world.install()
    world.run(6.0)
    for _ in range(6):
        world.asleep = {"b"}
        world.run(4.0)
        world.asleep = set()
        world.run(0.3)
    for site in ("c", "d"):
        world.originate(site, 7, query=query)
    world.run(10.0)
    assert world.peers["b"].counts()["unmerged"] == 2
    sites = set().union(*world.delivered_sites(7))
    assert {"c", "d"} <= sites
    world.check_truth()
