"""What faults do to simulated sites (``Struck``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headwater.sim.transcript import Transcript
from headwater.sim.world.operators import Operators
from headwater.sim.world.site import SimulatedSite

LOST_RECORDS = 3
"""Records that one loss of input takes."""


class StruckSites:
    def __init__(
        self,
        sites: Mapping[str, SimulatedSite],
        operators: Operators,
        transcript: Transcript,
        lie: Callable[..., None],
    ) -> None:
        self.lie = lie
        self._sites = sites
        self._transcript = transcript
        self.install_another = operators.install_another
        self.replan_one = operators.replan_one
        self.remove_one = operators.remove_one

    def site_names(self) -> Iterable[str]:
        return self._sites

    def straggle(self, site: str, *, by_s: float) -> None:
        self._sites[site].straggle(by_s)

    def slow_down(self, site: str, *, factor: float) -> None:
        self._sites[site].slow_down(factor)

    def crash(self, site: str, *, power: bool, loses_disk: bool, after_effects: int) -> None:
        self._sites[site].crash(power=power, loses_disk=loses_disk, after_effects=after_effects)

    def start(self, site: str) -> None:
        self._sites[site].end_pending_crash()
        self._sites[site].start()

    def stall(self, site: str, *, until_s: float) -> None:
        self._sites[site].stall(until_s)

    def replay(self, site: str) -> None:
        self._sites[site].replay()

    def fill_disk(self, site: str, *, is_full: bool) -> None:
        self._sites[site].disk.is_full = is_full

    def slow_disk(self, site: str, *, delay_s: float) -> None:
        self._sites[site].disk.delay_s = delay_s

    def step_clock(self, site: str, *, by_s: float) -> None:
        self._sites[site].step_clock(by_s)

    def fail_query(self, site: str, *, until_s: float) -> None:
        self._sites[site].fail_queries(until_s)

    def lose_log(self, site: str) -> None:
        """What nobody has read yet vanishes, as by a rotation that came too early."""
        self._sites[site].log.lose_next(LOST_RECORDS)
        self._transcript.count("unread input was lost")
