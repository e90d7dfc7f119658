"""Whether a site's wall clock agrees with those of the other sites, as roots tell them."""

from __future__ import annotations

from headwater.plan.notice import Notice


class ClockWatch:
    """All in seconds by which a clock is ahead of this site's steady one."""

    def __init__(self, tolerance_s: float) -> None:
        self._tolerance_s = tolerance_s
        self.ahead_s = 0.0
        """Of this site's wall clock."""
        self.behind_s = 0.0
        """By how much the wall clock shows less than it is believed to, as yet."""
        self.others_s: float | None = None
        """Of the others' clocks, in the middle, as a root last told; None: none has."""
        self._is_off = False

    def off_s(self) -> float:
        """How far this site's wall clock is ahead of the others'."""
        return 0.0 if self.others_s is None else self.ahead_s - self.others_s

    def hear(self, others_s: float | None) -> list[Notice]:
        """Says so when the wall clock turns out to be off, and when it is right again."""
        if others_s is not None:
            self.others_s = others_s
        off_s = self.off_s()
        is_off = abs(off_s) > self._tolerance_s
        if is_off == self._is_off:
            return []
        self._is_off = is_off
        text = "this site's clock agrees with the others' again"
        if is_off:
            text = (
                f"this site's clock is {abs(off_s):.0f} s {'ahead of' if off_s > 0 else 'behind'} "
                "the other sites', in the middle; set it right: until then the site's records lie "
                "in other windows than theirs"
            )
        return [Notice("edge", "clock is off" if is_off else "clock is right", text)]
