"""Windows of the past: who is waited for, until when, and what the sites are told of it.

Panes of ten seconds, a deadline of ten. The query comes at 1,005 s and begins with pane 0.
"""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.words.absence import Absence
from headwater.algebra.words.remark import Remark, RemarkKind
from headwater.algebra.words.site_state import FOREVER, Declined, Reason
from headwater.root.config import RootConfig
from headwater.root.said.awaited import awaited_window
from headwater.root.said.envelope import Trigger
from headwater.root.said.view import all_remarks

A, B = 100, 200
LATE = msgspec.structs.replace(make_query(begin_pane=0, deadline_s=10.0), reads_past=True)


def desk(*behind: bool, query=LATE) -> RootDesk:
    """Each site says whether it catches up; site 0 is the parent of site 1."""
    config = RootConfig(clock_settle_s=0.001)
    parents = {0: (), 1: (0,)}
    root = RootDesk(
        query, make_roster(2), config=config, now_s=1005.0, parents_of=lambda of: parents[of]
    )
    first = -FOREVER if query.begin_pane is None else 0
    for ordinal, is_behind in enumerate(behind):
        speak(root, ordinal, 1, now_s=1005.5, behind=is_behind, first=first)
    return root


def speak(
    root: RootDesk, ordinal: int, number: int, *, now_s: float, behind: bool = True, first: int = 0
) -> None:
    of = (A, B)[ordinal]
    word = state(root.query, ordinal, of=of, number=number, first_pane=first, catching_up=behind)
    root.hear(word, now_s=now_s)
    root.work(now_s=now_s)


def awaited(root: RootDesk, *, now_s: float) -> int | None:
    """As the newest acknowledgement names it."""
    root.work(now_s=now_s)
    return root.acks[-1].awaited_from


def test_a_window_of_the_past_gets_its_deadline_when_all_who_speak_have_passed_it():
    root = desk(True, True)
    root.receive(whole(LATE, 0, 0, [1], of=A), now_s=1011.0)
    for number in range(2, 6):
        speak(root, 0, number, now_s=1000.0 + 20.0 * number)
        speak(root, 1, number, now_s=1000.0 + 20.0 * number)
    assert 0 not in root.published, "site 1 reads the past and speaks"
    speak(root, 1, 9, now_s=1110.0, behind=False)
    root.work(now_s=1119.9)
    assert 0 not in root.published
    root.work(now_s=1120.0)
    assert root.newest(0).envelope.trigger is Trigger.DEADLINE
    assert root.newest(0).rows == (1,)
    assert 1 not in root.published, "site 0 has not passed that"


def test_a_site_that_its_parents_have_lost_is_not_waited_for_until_it_speaks():
    root = desk(False, True)
    catching_up = root.root.books.catching_up
    assert catching_up.follow(now_s=1006.0) != FOREVER
    word = Absence(str(LATE.id), 0, clock_s=1007.0, lost=(1,))
    root.root.receive_absence(word, now_s=1007.0)
    assert catching_up.follow(now_s=1007.0) == FOREVER
    speak(root, 1, 2, now_s=1008.0)
    assert catching_up.follow(now_s=1008.0) != FOREVER


def test_a_site_that_falls_silent_is_not_waited_for_and_is_again_when_it_speaks():
    root = desk(True, True)
    root.receive(whole(LATE, 0, 0, [1], of=A), now_s=1006.0)
    speak(root, 0, 2, now_s=1040.0)
    root.work(now_s=1066.0)
    speak(root, 1, 2, now_s=1070.0)
    root.work(now_s=1080.0)
    assert 0 not in root.published, "it spoke before the deadline that its silence had brought"
    for number in range(3, 8):
        speak(root, 0, number, now_s=1040.0 + 20.0 * number)
    assert root.newest(0).rows == (1,)


def test_windows_that_end_later_have_their_deadline_as_ever():
    root = desk(True, True)
    root.receive(whole(LATE, 100, 0, [7], of=A), now_s=1011.0)
    root.work(now_s=1020.9)
    assert root.published == {}
    root.work(now_s=1021.0)
    assert list(root.published) == [100]


def test_acknowledgements_name_the_lowest_pane_awaited_from_who_catches_up():
    root = desk(True, True)
    for pane in range(3):
        root.receive(whole(LATE, pane, 0, [pane], of=A), now_s=1006.0)
    assert awaited(root, now_s=1010.0) == 0, "site 1 has sent nothing"
    for pane in range(2):
        root.receive(whole(LATE, pane, 1, [pane], of=B), now_s=1011.0)
    assert awaited(root, now_s=1015.0) == 2
    speak(root, 0, 2, now_s=1060.0)
    assert awaited(root, now_s=1090.0) == 3, "site 1 is silent: only site 0 is awaited"
    speak(root, 0, 3, now_s=1091.0, behind=False)
    assert awaited(root, now_s=1095.0) is None


def test_of_the_earliest_records_what_has_come_says_what_is_awaited():
    query = make_query(begin_pane=None, deadline_s=10.0)
    root = desk(True, True, query=query)
    assert awaited(root, now_s=1006.0) is None, "nobody knows where the records begin"
    root.receive(whole(query, 50, 0, [1], of=A), now_s=1007.0)
    assert awaited(root, now_s=1010.0) == 50
    root.receive(whole(query, 20, 1, [1], of=B), now_s=1011.0)
    assert awaited(root, now_s=1015.0) == 20


# For people


def test_streams_why_and_watch_say_how_far_a_catch_up_is_and_where_it_begins():
    root = desk(True, True)
    text = "catching up: 43% of 1.2 MB of the past is read"
    remark = Remark.of(RemarkKind.CATCHING_UP, text)
    late = {"first_pane": 7, "catching_up": True, "remarks": (remark,)}
    declined = (Declined(first=0, last=6, reason=Reason.NOT_RETAINED),)
    root.hear(state(LATE, 1, of=B, number=2, declined=declined, **late), now_s=1006.0)
    root.work(now_s=1006.0)
    first = "its first whole pane begins at 1970-01-01 00:01:10 UTC; what was before is declined"
    told = [one.line() for one in all_remarks(root.root)]
    assert told == [f"s1: {first}", f"s1: {text}"], "as streams shows it"
    why = root.root.why(8).text()
    assert first in why
    assert text in why
    assert "s1: deferred (catching up)" in why
    speak(root, 0, 2, now_s=1007.0, behind=False)
    for pane in range(8):
        root.receive(whole(LATE, pane, 0, [pane], of=A), now_s=1008.0)
    root.receive(whole(LATE, 7, 1, [1], of=B), now_s=1008.0)
    root.work(now_s=1009.0)
    awaited = awaited_window(root.root, now_s=1009.0)
    assert awaited is not None
    assert f"s1 ({text})" in awaited.text(), "as watch shows it"
    assert awaited.due_us is None, "it is answered when it is complete"
