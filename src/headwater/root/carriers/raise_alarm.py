"""Letting people hear that panes are not what they were said to be."""

from __future__ import annotations

from headwater.algebra.words.alarm import Alarm
from headwater.root.books import Books
from headwater.root.outputs import KeepAlarm


def raise_alarm(books: Books, alarm: Alarm, *, now_s: float) -> None:
    """Kept before the state that told of it: so a crash in between lets the site say it again.

    An alarm is about what this root holds or held, so nothing beyond is doubted for it. Windows
    that it concerns are not exact, those apart that are final.
    """
    windows, table = books.windows, books.table
    newest = max([*books.scoreboard.boards, windows.done_through - 1])
    found = alarm.within(table.begin, newest)
    site = table.names.get(alarm.ordinal, "several sites")
    if found is None:
        books.notice("alarm of nothing", f"{site}: of panes that the root holds nothing of")
        return
    known = (*books.carriers_of(found.ordinal), *found.carriers)
    carriers = [name for name in known if name != books.query.root]
    panes = (found.first, found.last)
    found = Alarm.of(found.kind, books.id, found.ordinal, panes, found.text, carriers)
    wall_s = now_s + windows.ahead_s
    standing = books.alarms.add(found, done_through=windows.done_through, wall_s=wall_s)
    books.outputs.append(KeepAlarm(books.id, standing))
    books.notice("alarm", f"{site}: {found.text}")
    for number, window in windows.windows.items():
        concerned = windows.spec.panes_of(number)
        if not window.is_final and standing.alarm.concerns(concerned.start, concerned.stop - 1):
            books.answers.mark(number)
