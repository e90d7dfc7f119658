"""Where the parts of a peer lay down what they want done, in the order in which it is wanted.

All of them speak so: what comes is an argument, what is to be done is laid down here, and nothing
is handed back for the caller to do.
"""

from __future__ import annotations

from headwater.overlay.lie_book import LieBook, Untrue
from headwater.overlay.messages import Message
from headwater.overlay.notice_board import NoticeBoard
from headwater.overlay.outputs import Output, Transmit


class Tray:
    """Shared by the parts of one peer."""

    def __init__(self, *, notice_every_s: float) -> None:
        self.board = NoticeBoard(every_s=notice_every_s)
        self.lies = LieBook()
        self._outputs: list[Output] = []

    def put(self, *outputs: Output) -> None:
        self._outputs.extend(outputs)

    def transmit(self, to: str, message: Message, lane_priority: int) -> None:
        self._outputs.append(Transmit(to, message, lane_priority))

    def note(self, kind: str, text: str, *, now_s: float, times: int = 1) -> None:
        notice = self.board.note(kind, text, now_s=now_s, times=times)
        if notice is not None:
            self._outputs.append(notice)

    def refuse(self, sender: str, problem: str, *, now_s: float) -> None:
        """What this neighbour sent is dropped; a lie is written down."""
        if isinstance(problem, Untrue):
            self.lies.add(problem, sender=sender, now_s=now_s)
        self.note("refused", f"{sender}: {problem}", now_s=now_s)

    def take(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs
