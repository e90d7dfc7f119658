"""The steady clock never steps, whatever is done to the wall clock."""

from headwater.agent.clock import SiteClock


class Machine:
    """A wall clock that can be set, and a monotonic one that can't."""

    def __init__(self) -> None:
        self.wall_s = 1.7e9
        self.monotonic_s = 50.0

    def run(self, seconds: float) -> None:
        self.wall_s += seconds
        self.monotonic_s += seconds

    def clock(self) -> SiteClock:
        return SiteClock(wall=lambda: self.wall_s, monotonic=lambda: self.monotonic_s)


def test_a_wall_clock_that_is_set_does_not_move_the_steady_one():
    machine = Machine()
    clock = machine.clock()
    before_s = clock.now_s()
    for step_s in (90_000.0, -90_000.0, -3_600.0, 0.3):
        machine.wall_s += step_s
        machine.run(1.0)
    assert clock.now_s() == before_s + 4.0
    assert round(clock.ahead_s(), 3) == -3_599.7


def test_a_new_process_begins_with_what_the_wall_clock_shows():
    machine = Machine()
    machine.clock()
    machine.run(10.0)
    machine.wall_s -= 3_600.0
    clock = machine.clock()
    assert clock.now_s() == machine.wall_s
    assert clock.ahead_s() == 0.0
