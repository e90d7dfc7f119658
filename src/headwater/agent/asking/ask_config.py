"""``[ask]``: what questions about the past may take of an agent, on either end."""

from __future__ import annotations

import msgspec

from headwater.plan.questions.ask import ASK_BYTES_MAX, ASK_LIFE_S, ASK_S_MAX, LIFE_S_MAX


class AskConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of a question that was taken here, and of any question at this site; the least counts."""

    bytes_max: int = ASK_BYTES_MAX
    """Panes that a question reads at one site, as they lie on its disk, or the files of the logs
    that it reads; beyond, it is declined (refused: over its limit)."""
    seconds_max: float = ASK_S_MAX
    """How long a site works for one question, also one that reads the logs; then it is declined,
    too."""
    questions_max: int = 2
    """Questions that this site answers at once; others wait for their turn."""
    life_s: float = ASK_LIFE_S
    """After which a question that was taken here ends, answered or not; as long at most it keeps
    retention from the panes that it reads here."""
    pinned_bytes_max: int = 1 << 30
    """Panes that questions may hold so at once; beyond, new questions are declined."""

    def __post_init__(self) -> None:
        for name in ("bytes_max", "questions_max", "pinned_bytes_max"):
            if getattr(self, name) <= 0:
                raise ValueError(f"ask.{name}: wanted more than 0, got {getattr(self, name)}")
        for name in ("seconds_max", "life_s"):
            if not 0.0 < getattr(self, name) <= LIFE_S_MAX:
                raise ValueError(
                    f"ask.{name}: wanted more than 0 and at most {LIFE_S_MAX:g}, got "
                    f"{getattr(self, name)}"
                )
