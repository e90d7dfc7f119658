"""What a site does not read is part of its word, and told as seldom as the tally."""

from __future__ import annotations

from pane_kit import SiteDesk, make_query

from headwater.algebra.words.acknowledgement import Acknowledgement, Greeting, with_leaves
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import (
    FOREVER,
    UNREAD_CHARACTERS_MAX,
    UNREAD_NAMED_MAX,
    Unread,
)
from headwater.edge.config import EdgeConfig

QUERY = make_query()
ONE = Unread.of(1, [("a.zip", "can't be expanded here")])


def greeted() -> SiteDesk:
    """A site of whose state its root knows everything."""
    site = SiteDesk(0, [QUERY], config=EdgeConfig(clock_settle_s=0.5, tally_every_s=10.0))
    greeting = Greeting(ordinal=0, incarnation=1000, number=site.told[-1].number)
    head = Acknowledgement(
        query=str(QUERY.id),
        root_incarnation=50,
        number=1,
        done_through=-FOREVER,
        listed=((-FOREVER, FOREVER),),
    )
    site.hear(with_leaves(head, greetings=(greeting,)), now_s=0.5)
    site.take_told()
    return site


def poll(site: SiteDesk, unread: Unread, *, now_s: float, source: str = "hits") -> None:
    site.edge.input_unread(source, unread)
    site.work(now_s=now_s)


def test_what_is_not_read_is_told_and_so_is_that_it_is_read_again() -> None:
    site = greeted()
    poll(site, ONE, now_s=20.0)
    assert site.take_told()[-1].unread == ONE
    poll(site, Unread(), now_s=40.0)
    assert site.take_told()[-1].unread == Unread()


def test_a_file_that_comes_and_goes_makes_no_more_states_than_the_tally() -> None:
    site = greeted()
    poll(site, ONE, now_s=20.0)
    number = site.take_told()[-1].number
    for step in range(1, 10):
        poll(site, ONE if step % 2 else Unread(), now_s=20.0 + step)
    assert {state.number for state in site.take_told()} <= {number}


def test_the_same_at_every_poll_is_no_news() -> None:
    site = greeted()
    poll(site, ONE, now_s=20.0)
    number = site.take_told()[-1].number
    for turn in range(1, 10):
        poll(site, ONE, now_s=20.0 + 20.0 * turn)
    assert {state.number for state in site.take_told()} <= {number}


def test_only_queries_of_that_source_tell_it() -> None:
    site = greeted()
    poll(site, ONE, now_s=20.0, source="other")
    assert site.take_told() == []


def test_what_is_told_is_bounded_and_the_end_of_a_long_name_is_kept() -> None:
    name, reason = "x" * 5_000 + "/end.zip", "because " * 1_000
    unread = Unread.of(1_000, [(name, reason)] * 1_000)
    assert len(unread.named) == UNREAD_NAMED_MAX
    told, why = unread.named[0]
    assert len(told) == len(why) == UNREAD_CHARACTERS_MAX
    assert told.endswith("/end.zip")
    assert why.startswith("because")
    assert unread.text().endswith(f"; and {1_000 - UNREAD_NAMED_MAX} more")


def test_remarks_about_the_input_are_told_and_taken_back() -> None:
    site = greeted()
    none = (Remark("no file", "no file matches 'a'"),)
    site.edge.input_remarks("hits", none)
    site.edge.input_remarks("another", ())
    site.work(now_s=20.0)
    assert site.take_told()[-1].remarks == none
    site.edge.input_remarks("hits", ())
    site.work(now_s=40.0)
    assert site.take_told()[-1].remarks == ()
