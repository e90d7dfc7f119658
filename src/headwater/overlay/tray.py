"""Where the parts of a peer lay down what they want done, in the order in which it is wanted."""

from __future__ import annotations

from headwater.overlay.lie_book import LieBook, Untrue
from headwater.overlay.messages import Message
from headwater.overlay.notice_board import NoticeBoard
from headwater.overlay.outputs import Notice, Output, Transmit


class Tray:
    """Shared by the parts of one peer. ``now_s`` is set whenever the peer is called."""

    def __init__(self, *, notice_every_s: float) -> None:
        self.now_s = 0.0
        self.board = NoticeBoard(every_s=notice_every_s)
        self.lies = LieBook()
        self._outputs: list[Output] = []

    def put(self, *outputs: Output) -> None:
        self._outputs.extend(outputs)

    def transmit(self, to: str, message: Message, lane_priority: int) -> None:
        self._outputs.append(Transmit(to, message, lane_priority))

    def note(self, kind: str, text: str, *, times: int = 1) -> None:
        notice: Notice | None = self.board.note(kind, text, now_s=self.now_s, times=times)
        if notice is not None:
            self._outputs.append(notice)

    def refuse(self, sender: str, problem: str) -> None:
        """What this neighbour sent is dropped; a lie is written down."""
        if isinstance(problem, Untrue):
            self.lies.add(problem, sender=sender, now_s=self.now_s)
        self.note("refused", f"{sender}: {problem}")

    def take(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs
