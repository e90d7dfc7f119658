"""Answers with columns that are near the truth: never exact, and not revised to become so."""

import msgspec
from pane_kit import RootDesk, make_query, make_roster, state, whole

from headwater.algebra.rows.bounded import Bound, Bounded, BoundedColumn, BoundKind
from headwater.root.said.view import explain

NEAR = Bounded((BoundedColumn("n", Bound(BoundKind.VALUE, 0.05, 0.95)),))
LIFE = 77


def answered() -> RootDesk:
    query = msgspec.structs.replace(make_query(), bounded=NEAR)
    root = RootDesk(query, make_roster(2), now_s=0.0)
    root.hear(*(state(query, ordinal, of=LIFE) for ordinal in (0, 1)), now_s=0.0)
    root.work(now_s=10.0)
    for ordinal in (0, 1):
        root.receive(whole(query, 0, ordinal, [ordinal], of=LIFE), now_s=11.0)
    root.work(now_s=12.0)
    return root


def test_a_complete_answer_lists_its_bounded_columns_and_is_not_exact() -> None:
    envelope = answered().newest(0).envelope
    assert envelope.covered == envelope.expected == 2
    assert not envelope.exact
    assert envelope.bounded.columns == NEAR.columns
    assert envelope.bounded.exact_otherwise


def test_it_is_not_revised_to_say_the_same_again() -> None:
    root = answered()
    for now_s in (13.0, 20.0, 60.0):
        root.work(now_s=now_s)
    assert root.newest(0).envelope.revision == 1


def test_why_says_how_near_it_is() -> None:
    found = explain(answered().root, 0)
    assert found.status == "bounded"
    assert "  n is within 5% of the value in 95% of cases" in found.text()
