"""What the root asks for where sites send the largest groups alone, and what it calls exact."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from pane_kit import NumbersMerger, RootDesk, make_query, make_roster, part, state, whole

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainder
from headwater.algebra.remainders.tolerance import Finally, Largest, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Partial
from headwater.algebra.summary import Summary
from headwater.algebra.top.keyed import Keyed
from headwater.algebra.top.request import TOP_KEYS_MAX, TOP_REQUESTS_MAX, TopRequest
from headwater.algebra.words.site_state import Declined, Reason
from headwater.plan.query import Query
from headwater.root.config import RootConfig
from headwater.root.said.top_book import (
    AGAIN_ACKS,
    ASKS_MAX,
    GIVE_UP_ACKS,
    KEYS_TOLD_MAX,
    WAIT_ACKS,
)
from headwater.root.said.withheld import FirstRows, in_short

LIFE = 77
COUNT = 2
EVERY_S = RootConfig().ack_every_s


class Keys(NumbersMerger):
    """Rows are keys, each as often as it has records; a key is its own hash."""

    def keyed(self, parts: Sequence[tuple[int, ...]], partial: str) -> Keyed:
        counts = [Counter(part) for part in parts]
        keys = sorted({key for one in counts for key in one})
        at = {key: n for n, key in enumerate(keys)}
        return Keyed(
            tuple(np.array([at[key] for key in one], dtype=np.int64) for one in counts),
            tuple(np.array(list(one.values()), dtype=float) for one in counts),
            np.array(keys, dtype=np.uint64),
        )


@pytest.fixture(autouse=True)
def _merger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pane_kit.NumbersMerger", Keys)


def query_of(finally_: Finally = Finally.BOUNDED) -> Query:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 1.0)
    query = make_query()
    program = msgspec.structs.replace(query.program, partials=(Partial("n", "bigint", "sum"),))
    tolerance = Tolerance((column,), finally_, largest=Largest("n", COUNT))
    return msgspec.structs.replace(query, program=program, tolerance=tolerance)


class Desk:
    """Two sites, and what they keep back."""

    def __init__(
        self, finally_: Finally = Finally.BOUNDED, config: RootConfig | None = None
    ) -> None:
        self.query = query_of(finally_)
        self.root = RootDesk(self.query, make_roster(2), config=config, now_s=0.0)
        self.root.hear(*(state(self.query, one, of=LIFE) for one in (0, 1)), now_s=0.0)
        self.root.work(now_s=10.0)
        self.now_s = 11.0

    def first(self, site: int, rows: str, largest: float, keys: int = 1) -> None:
        """Its close; ``rows`` are letters, each a record of a key."""
        self._take(whole(self.query, 0, site, _rows(rows), of=LIFE), largest, keys, 0)

    def answer(self, site: int, rows: str, largest: float, asked: int, *, update: int = 2) -> None:
        updates = ((update, update),)
        summary = part(self.query, 0, site, _rows(rows), of=LIFE, updates=updates, closed_at=update)
        self._take(summary, largest, 1, asked)

    def _take(self, summary: Summary, largest: float, keys: int, asked: int) -> None:
        kept = Remainder(largest, largest, keys, 100.0, asked=asked)
        coverage = msgspec.structs.replace(summary.coverage, withheld=(kept,) if largest else ())
        self.root.receive(msgspec.structs.replace(summary, coverage=coverage), now_s=self.now_s)

    def pass_s(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.now_s += 1.0
            self.root.work(now_s=self.now_s)

    @property
    def asked(self) -> TopRequest | None:
        """The newest request that was told."""
        told = [one for ack in self.root.acks for one in ack.largest]
        return told[-1] if told else None

    @property
    def first_rows(self) -> FirstRows | None:
        first: FirstRows | None = self.root.newest(0).envelope.withheld.first
        return first


def _rows(letters: str) -> list[int]:
    return [ord(letter) for letter in letters]


def test_nothing_is_asked_where_the_first_are_sure_already() -> None:
    desk = Desk()
    desk.first(0, "a" * 9 + "b" * 6, 1.0)
    desk.first(1, "a" * 9 + "b" * 6, 1.0)
    desk.pass_s(5 * EVERY_S)
    assert desk.asked is None
    assert desk.first_rows == FirstRows("n", 2, COUNT)


def test_it_asks_for_a_share_of_the_kth_and_then_by_key_until_the_first_are_sure() -> None:
    desk = Desk()
    desk.first(0, "aaaaabbbb", 4.0)
    desk.first(1, "cccccaaaa", 3.0)
    desk.pass_s(2 * EVERY_S)
    second = desk.asked
    assert second is not None
    assert (second.pane, second.least, second.keys) == (0, 2.5, ())
    assert desk.first_rows == FirstRows("n", 1, COUNT), "both have sent a, and c has 9 at most"
    desk.answer(0, "cccc", 2.0, second.number)
    desk.answer(1, "bbb", 2.0, second.number)
    desk.pass_s(2 * EVERY_S)
    assert desk.first_rows == FirstRows("n", 2, COUNT), "9 of c and of a; 7 of b, and 2 at most"
    assert desk.asked == second, "nothing more was asked"


def test_groups_in_question_are_asked_for_by_key_and_of_all_sites() -> None:
    desk = Desk()
    desk.first(0, "aaaaaabbbbb", 4.0)
    desk.first(1, "ccccccddddd", 4.0)
    desk.pass_s(2 * EVERY_S)
    second = desk.asked
    assert second is not None
    assert second.least == 3.0
    desk.answer(0, "dddd", 2.0, second.number)
    desk.answer(1, "", 2.0, second.number)
    desk.pass_s(2 * EVERY_S)
    third = desk.asked
    assert third is not None
    assert third.number > second.number
    assert third.least == 3.0, "who missed the second step answers both"
    assert third.keys == tuple(map(ord, "abc"))
    desk.answer(0, "c", 2.0, third.number, update=3)
    desk.answer(1, "a", 2.0, third.number, update=3)
    desk.pass_s(2 * EVERY_S)
    assert desk.first_rows == FirstRows("n", 2, COUNT)


def test_a_site_that_misses_the_second_step_keeps_rows_from_being_called_exact() -> None:
    desk = Desk()
    desk.first(0, "aaaaabbbb", 4.0)
    desk.first(1, "cccccdddd", 4.0)
    desk.pass_s(2 * EVERY_S)
    second = desk.asked
    assert second is not None
    desk.answer(0, "", 2.0, second.number)
    desk.pass_s(GIVE_UP_ACKS * EVERY_S)
    assert desk.first_rows == FirstRows("n", 0, COUNT)
    envelope = desk.root.newest(0).envelope
    assert envelope.covered == 2
    assert envelope.withheld.columns[0].largest == 6.0, "that of the answer, and of the close"


@pytest.mark.parametrize("is_asked", [True, False])
def test_nothing_is_final_while_it_asks(is_asked: bool) -> None:
    desk = Desk()
    desk.first(0, "aaaaabbbb" if is_asked else "a" * 20 + "b" * 20, 4.0)
    desk.first(1, "cccccdddd" if is_asked else "a" * 20 + "b" * 20, 4.0)
    desk.pass_s(2.0)
    sealed = (state(desk.query, one, of=LIFE, number=2, sealed_through=1) for one in (0, 1))
    desk.root.hear(*sealed, now_s=desk.now_s)
    desk.pass_s(2 * EVERY_S)
    assert desk.root.newest(0).envelope.final is not is_asked
    desk.pass_s((GIVE_UP_ACKS + 5) * EVERY_S)
    envelope = desk.root.newest(0).envelope
    assert envelope.final
    assert envelope.withheld.columns[0].largest == 8.0, "what is sealed and stays is stated"
    assert not envelope.exact
    desk.pass_s(10_000.0)
    tops = desk.root.root.books.tops
    assert tops is not None
    assert not tops._panes, "what nobody asks for any more is let go"


def test_a_root_that_is_started_again_asks_nothing_and_calls_nothing_exact() -> None:
    desk = Desk()
    desk.first(0, "a" * 9 + "b" * 6, 1.0)
    desk.root.start(now_s=desk.now_s)
    desk.first(1, "a" * 9 + "b" * 6, 1.0)
    desk.pass_s(5 * EVERY_S)
    assert desk.asked is None
    assert desk.first_rows == FirstRows("n", 0, COUNT)
    assert desk.root.newest(0).envelope.withheld.columns[0].largest == 2.0


def test_where_there_is_no_room_for_rows_nothing_is_exact() -> None:
    desk = Desk(config=RootConfig(top_bytes_max=1))
    desk.first(0, "a" * 9 + "b" * 6, 1.0)
    desk.first(1, "a" * 9 + "b" * 6, 1.0)
    desk.pass_s(5 * EVERY_S)
    assert desk.asked is None
    assert desk.first_rows == FirstRows("n", 0, COUNT)


def test_a_pane_is_asked_for_a_bounded_number_of_times() -> None:
    desk = Desk()
    desk.first(0, "aaaaabbbb", 4.0)
    desk.first(1, "cccccdddd", 4.0)
    numbers = set()
    for update in range(2, 3 * ASKS_MAX):
        desk.pass_s(2 * EVERY_S)
        asked = desk.asked
        assert asked is not None
        numbers.add(asked.number)
        for site in (0, 1):  # they lie: nothing of it is sent
            desk.answer(site, "", 4.0, asked.number, update=update)
    assert len(numbers) <= ASKS_MAX


def test_why_says_where_it_stands() -> None:
    desk = Desk()
    desk.first(0, "aaaaabbbb", 4.0)
    desk.first(1, "cccccaaaa", 3.0)
    desk.pass_s(2 * EVERY_S)
    (line,) = desk.root.root.why(0).altered
    assert line == (
        "request 1 for the largest groups: all with at least 2.5; it is told until sites have "
        "answered"
    )
    assert TOP_KEYS_MAX > COUNT


@pytest.mark.parametrize(("largest", "unsure"), [(1.0, []), (4.0, ["none of the first 2 rows"])])
def test_the_short_form_says_so_where_not_all_of_them_are_sure(
    largest: float, unsure: list[str]
) -> None:
    desk = Desk()
    desk.first(0, "a" * 9 + "b" * 6, largest)
    desk.first(1, "a" * 9 + "b" * 6 if largest == 1.0 else "cccccdddd", largest)
    desk.pass_s(2.0)
    said = in_short(desk.root.newest(0).envelope.withheld)["uncertain"]
    assert [one.partition(" by ")[0] for one in said] == unsure


def test_a_site_that_comes_later_is_asked_too() -> None:
    desk = Desk()
    desk.first(0, "aaaaabbbb", 0.0)
    desk.pass_s(30.0)
    assert desk.asked is None
    desk.first(1, "cccccdddd", 4.0)
    desk.pass_s(2 * EVERY_S)
    assert desk.asked is not None


SURE = "a" * 9 + "b" * 6


def test_where_both_are_in_whole_the_first_are_exact_and_where_one_is_not_none_is() -> None:
    whole_desk, desk = Desk(), Desk()
    for one, update in ((whole_desk, 1), (desk, 2)):
        one.answer(0, SURE, 1.0, 0, update=update)  # the close; of two updates one is missing
        one.first(1, SURE, 1.0)
        one.pass_s(30.0)
    assert whole_desk.first_rows == FirstRows("n", 2, COUNT)
    assert desk.first_rows == FirstRows("n", 0, COUNT)


def test_where_something_left_before_the_close_a_group_may_be_in_in_part() -> None:
    desk = Desk()
    left = part(desk.query, 0, 0, _rows(SURE), of=LIFE, updates=((1, 1),), closed_at=None)
    desk.root.receive(left, now_s=desk.now_s)
    desk.answer(0, "", 9.0, 0)
    desk.first(1, SURE, 0.0)
    desk.pass_s(5 * EVERY_S)
    assert desk.asked is None
    assert desk.first_rows == FirstRows("n", 0, COUNT), "9 more of `a` may be kept back, or of `b`"


@pytest.mark.parametrize(
    "said",
    [{"damaged": ((0, 0),)}, {"declined": (Declined(0, 0, Reason.FAILED),)}],
    ids=["damaged", "declined"],
)
def test_of_what_a_site_could_not_read_or_send_whole_nothing_is_exact(said: dict) -> None:
    desk = Desk()
    for site in (0, 1):
        desk.first(site, SURE, 1.0)
    desk.root.hear(state(desk.query, 1, of=LIFE, number=2, **said), now_s=desk.now_s)
    desk.pass_s(5 * EVERY_S)
    assert desk.first_rows == FirstRows("n", 0, COUNT)


def in_question() -> tuple[Desk, TopRequest]:
    """The second step is asked for, of groups of which none is sure."""
    desk = Desk()
    desk.first(0, "aaaaaabbbbb", 4.0)
    desk.first(1, "ccccccddddd", 4.0)
    desk.pass_s(2 * EVERY_S)
    assert desk.asked is not None
    return desk, desk.asked


def test_only_who_has_answered_a_request_by_key_has_nothing_more_of_these_groups() -> None:
    desk, second = in_question()
    desk.answer(0, "dddd", 2.0, second.number)
    desk.answer(1, "", 2.0, second.number)
    desk.pass_s(2 * EVERY_S)
    third = desk.asked
    assert third is not None
    desk.answer(0, "c", 2.0, third.number, update=3)
    desk.pass_s(2.0)
    assert desk.first_rows == FirstRows("n", 1, COUNT), "7 of c, and 8 of a with what 1 may have"
    desk.answer(1, "", 2.0, third.number, update=3)
    desk.pass_s(2.0)
    assert desk.first_rows == FirstRows("n", 2, COUNT), "it has none of them"


def test_who_does_not_answer_is_waited_for_and_then_left_aside() -> None:
    desk, second = in_question()
    desk.answer(0, "dddd", 2.0, second.number)
    desk.pass_s((WAIT_ACKS - 3) * EVERY_S)
    assert desk.asked == second
    desk.pass_s(4 * EVERY_S)
    third = desk.asked
    assert third is not None
    assert third.keys == (ord("c"),), "of the others the site that has answered has sent all"


def test_a_request_is_told_again_after_a_while_and_not_with_every_acknowledgement() -> None:
    desk, second = in_question()
    desk.pass_s((WAIT_ACKS - 3) * EVERY_S)
    told = [second in ack.largest for ack in desk.root.acks]
    places = [at for at, is_told in enumerate(told) if is_told]
    assert len(places) >= 2
    assert min(b - a for a, b in itertools.pairwise(places)) >= AGAIN_ACKS


def test_rows_of_a_site_that_keeps_nothing_back_count_at_once() -> None:
    desk = Desk()
    desk.first(0, SURE, 1.0)
    desk.pass_s(30.0)
    assert desk.first_rows == FirstRows("n", 2, COUNT)
    desk.first(1, "c" * 20, 0.0)
    desk.pass_s(1.0)
    assert desk.first_rows == FirstRows("n", 0, COUNT), "21 of c, if the first site has one"


def test_of_a_pane_whose_sites_differ_from_what_relays_brought_nothing_is_exact() -> None:
    desk = Desk()
    for site in (0, 1):
        desk.first(site, SURE, 1.0)
    desk.pass_s(2.0)
    books = desk.root.root.books
    withheld = desk.root.newest(0).envelope.withheld
    assert books.tops is not None
    assert books.tops.stated(range(1), withheld).first == FirstRows("n", 2, COUNT)
    books.scoreboard.disputed[0] = {1: LIFE}
    assert books.tops.stated(range(1), withheld).first == FirstRows("n", 0, COUNT)


def test_where_too_many_groups_are_in_question_all_above_half_are_asked_for_a_few_times() -> None:
    desk, told = Desk(), list[TopRequest]()
    many = "".join(map(chr, range(1_000, 1_001 + TOP_KEYS_MAX)))
    desk.first(0, many, 4.0)
    desk.first(1, "", 4.0)
    for update in range(2, 3 * ASKS_MAX):
        desk.pass_s(2 * EVERY_S)
        asked = desk.asked
        assert asked is not None
        told += [asked] if asked not in told else []
        for site in (0, 1):  # nothing of it is sent
            desk.answer(site, "", 4.0, asked.number, update=update)
    assert [one.least for one in told] == [0.5 / 2**n for n in range(ASKS_MAX)]
    assert {one.keys for one in told} == {()}


@pytest.mark.parametrize("keys", [1, 900])
def test_one_acknowledgement_asks_for_some_panes_and_the_next_for_others(keys: int) -> None:
    desk, panes = Desk(), TOP_REQUESTS_MAX + 4
    desk.now_s = 10.0 * panes + 1.0
    some = _rows("".join(map(chr, range(1_000, 1_000 + keys))) + "aaaabbbb")

    def hear(site: int, update: int, asked: int, rows: list[int]) -> None:
        kept = Remainder(3.0, 3.0, 1, 100.0, asked=asked)
        for pane in range(panes):
            summary = part(
                desk.query, pane, site, rows, of=LIFE, updates=((update, update),), closed_at=update
            )
            coverage = msgspec.structs.replace(summary.coverage, withheld=(kept,))
            summary = msgspec.structs.replace(summary, coverage=coverage)
            desk.root.receive(summary, now_s=desk.now_s)

    for site in (0, 1):
        hear(site, 1, 0, some if site == 0 else [])
    desk.pass_s(3 * EVERY_S)
    number = max(ack.number for ack in desk.root.acks)
    for site in (0, 1):
        hear(site, 2, number, [])
    desk.pass_s(6 * EVERY_S)
    told = [ack.largest for ack in desk.root.acks]
    assert {one.pane for largest in told for one in largest} == set(range(panes))
    assert max(map(len, told)) <= TOP_REQUESTS_MAX
    named = [sum(len(one.keys) for one in largest) for largest in told]
    assert max(named) <= KEYS_TOLD_MAX + TOP_KEYS_MAX
    assert max(named) >= keys, "what is in question was asked for by key"
