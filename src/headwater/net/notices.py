"""Notices for people, at most one of a kind in a while: a flood of strangers stays readable."""

import asyncio

from headwater.net.network import Notify

NOTICE_EVERY_S = 1.0


class Notices:
    def __init__(self, notify: Notify | None) -> None:
        self._notify = notify
        self._said_s: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def say(self, kind: str, text: str) -> None:
        """``kind`` comes from a small fixed set of words; what is left out is counted."""
        if self._notify is None:
            return
        now_s = asyncio.get_running_loop().time()
        if now_s - self._said_s.get(kind, float("-inf")) < NOTICE_EVERY_S:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return
        self._said_s[kind] = now_s
        more = self._left_out.pop(kind, 0)
        self._notify(kind, f"{text} (and {more} more of this kind)" if more else text)
