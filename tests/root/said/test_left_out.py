"""Groups that Spark could not compute: what the root says of an answer that lacks some."""

from __future__ import annotations

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.words.site_state import FOREVER
from headwater.root.outputs import WindowAnswered
from headwater.root.said.envelope import Envelope, LeftOut, LeftOutGroup

A, B = 100, 200
ONE = LeftOut(1, named=(LeftOutGroup({"domain": "a"}, "[DIVIDE_BY_ZERO] Division by zero."),))


def desk() -> RootDesk:
    query = make_query()
    root = RootDesk(query, make_roster(2))
    root.hear(state(query, 0, of=A), state(query, 1, of=B), now_s=0.0)
    root.left_out = {0: ONE}
    root.receive(whole(query, 0, 0, [1], of=A), whole(query, 0, 1, [2], of=B), now_s=12.0)
    root.work(now_s=12.0)
    return root


def test_an_answer_that_lacks_a_group_is_whole_but_not_exact():
    envelope = desk().newest(0).envelope
    assert (envelope.covered, envelope.missing, envelope.exact) == (2, (), False)
    assert envelope.left_out.count == 1
    assert envelope.left_out.exact_otherwise


def test_it_is_not_revised_for_ever_to_become_exact():
    root = desk()
    for second in range(13, 40):
        root.root.answers.mark(0)
        root.work(now_s=float(second))
    assert len(root.published[0]) == 1


def test_after_a_restart_it_is_not_published_again():
    root = desk()
    root.start(now_s=30.0)
    root.hear(state(root.query, 0, of=A), state(root.query, 1, of=B), now_s=30.0)
    for second in range(31, 60):
        root.work(now_s=float(second))
    assert len(root.published[0]) == 1
    assert root.root.why(0).left_out.count == 1


def test_it_becomes_final_as_ever():
    root = desk()
    root.hear(
        *(
            state(root.query, n, of=of, number=2, sealed_through=FOREVER)
            for n, of in ((0, A), (1, B))
        ),
        now_s=20.0,
    )
    root.work(now_s=25.0)
    newest = root.newest(0).envelope
    assert (newest.revision, newest.final, newest.exact) == (2, True, False)


def test_a_revision_in_which_the_group_is_mended_is_exact():
    root = desk()
    root.left_out = {}
    late = whole(root.query, 0, 0, [3], of=A)
    coverage = type(late.coverage).of_part(0, A, updates=((2, 2),), closed_at=2)
    root.receive(msgspec.structs.replace(late, coverage=coverage), now_s=20.0)
    root.work(now_s=25.0)
    newest = root.newest(0).envelope
    assert (newest.revision, newest.exact, newest.left_out) == (2, True, LeftOut())
    assert root.root.why(0).status == "exact"


def test_why_names_the_group_and_does_not_call_the_window_exact():
    why = desk().root.why(0)
    assert why.status == "answered"
    assert "1 group was left out: domain = a: [DIVIDE_BY_ZERO] Division by zero." in why.text()


def test_groups_are_counted_and_told():
    root = desk()
    (notice,) = [one for one in root.notices if one.kind == "group left out"]
    assert "window 0: 1 group was left out: domain = a" in notice.text
    assert root.root.counters["group left out"] == 1


def test_an_answer_of_a_version_without_left_out_groups_is_still_read():
    """The ledger and the published headers hold envelopes of former versions."""
    envelope = desk().newest(0).envelope
    plain = {k: v for k, v in msgspec.to_builtins(envelope).items() if k != "left_out"}
    found = msgspec.json.decode(msgspec.json.encode(plain), type=Envelope)
    assert found.left_out == LeftOut()
    answered = {"window": 0, "revision": 1, "kept_through": 1, "envelope": plain}
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(answered), type=WindowAnswered)
    assert again.envelope == found


def test_what_is_left_out_is_told_in_one_line():
    groups = tuple(LeftOutGroup({"k": key}, "") for key in ("a", None))
    text = LeftOut(count=7, unresolved=3, named=groups).text()
    assert text == (
        "7 groups were left out (3 of them because the search for those that fail has a limit): "
        "k = a; k = NULL; and 5 more"
    )
