"""When a site takes an update for held: see "Held means all that the root knows to be closed".

::

    first close 1 … n     a bit, or the pane in ``held``
    late update           the same, and a greeting of a state that counts it
    either                rounds or extra, that list it
"""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.algebra.words.acknowledgement import (
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    RoundsHeld,
    with_leaves,
)
from headwater.algebra.words.site_state import FOREVER

QUERY = make_query()
ME, ROOT = 1000, 50
CLOSED_S, LATE_S, ASKED_S = 11.0, 15.0, 500.0
ALL = ((-FOREVER, FOREVER),)


def ack(number: int, *, root: int = ROOT, several: bool = True, **said: object) -> Acknowledgement:
    held = said.pop("held", ())
    head = Acknowledgement(
        query=str(QUERY.id),
        root_incarnation=root,
        number=number,
        done_through=-FOREVER,
        listed=ALL,
        held=held,
        tells_several=several,
    )
    return with_leaves(head, **said)  # type: ignore[arg-type]


def greeting(site: SiteDesk, number: int | None = None) -> tuple[Greeting, ...]:
    number = site.told[-1].number if number is None else number
    return (Greeting(ordinal=0, incarnation=ME, number=number),)


def greeted(updates: int = 3) -> SiteDesk:
    """It has sent the first close of pane 0."""
    site = SiteDesk(0, [QUERY], disk=SiteDisk(ME, records_max=1))
    site.hear(ack(1, greetings=greeting(site)), now_s=0.5)
    site.commit({0: list(range(updates))}, now_s=CLOSED_S, read_through_s=CLOSED_S)
    assert [one.coverage.sites for one in site.take_said()] == [1] * updates
    return site


def late(site: SiteDesk) -> None:
    """One update more, of which nobody but the site knows."""
    site.commit({0: [99]}, now_s=LATE_S)
    site.commit(now_s=LATE_S + 5.0, read_through_s=LATE_S)
    assert len(site.take_said()) == 1


def repaired(site: SiteDesk, said: Acknowledgement) -> list[int]:
    """The updates of pane 0 that it sends again when it hears this, long after."""
    site.hear(said, now_s=ASKED_S)
    site.work(now_s=ASKED_S + 1.0)
    spares = [one for one in site.take_said() if one.pane == 0]
    return sorted(n for one in spares for a, b in one.coverage.parts[0].updates for n in (a, b))


def again(site: SiteDesk, said: Acknowledgement) -> list[int]:
    return sorted(set(repaired(site, said)))


BITS = [{"held": ((0, 0),)}, {"panes": (PaneHeld(0, 1),)}]


@pytest.mark.parametrize("said", BITS, ids=["in a range", "by a bit"])
def test_a_bit_speaks_of_all_updates_of_the_first_close(said) -> None:
    assert again(greeted(), ack(2, **said)) == []
    assert again(greeted(), ack(2)) == [1, 2, 3]


@pytest.mark.parametrize("said", BITS, ids=["in a range", "by a bit"])
def test_that_of_a_root_of_before_speaks_of_the_first_update(said) -> None:
    assert again(greeted(), ack(2, several=False, **said)) == [2, 3]


def test_a_first_close_is_not_counted_by_the_state_and_a_late_update_is() -> None:
    site = greeted()
    assert site.told[-1].counts == ()
    late(site)
    assert site.told[-1].counts == ((0, 4),)


def test_a_late_update_is_not_held_by_a_root_that_has_not_heard_of_it() -> None:
    """It calls the pane held by the close that it knows. The only copy may be lost."""
    site = greeted()
    late(site)
    assert again(site, ack(2, held=((0, 0),))) == [4]


def test_a_late_update_is_held_when_the_root_has_greeted_a_state_that_counts_it() -> None:
    site = greeted()
    former = site.told[-1].number
    late(site)
    assert again(site, ack(2, held=((0, 0),), greetings=greeting(site, former))) == [4]
    assert again(site, ack(3, held=((0, 0),), greetings=greeting(site))) == []


def test_what_this_life_of_the_root_has_not_greeted_does_not_count() -> None:
    site = greeted()
    late(site)
    site.hear(ack(2, greetings=greeting(site)), now_s=LATE_S + 6.0)
    site.hear(ack(1, root=ROOT + 1), now_s=LATE_S + 7.0)
    assert again(site, ack(2, root=ROOT + 1, held=((0, 0),))) == [4]


@pytest.mark.parametrize(
    "said",
    [
        {"extra": (ExtraHeld(pane=0, ordinal=0, incarnation=ME, updates=((1, 1), (3, 4))),)},
        {"rounds": (RoundsHeld(0, 1, 1, 0b1), RoundsHeld(0, 3, 4, 0b11), RoundsHeld(0, 2, 2, 2))},
    ],
    ids=["spelled out", "by bitmaps"],
)
def test_what_is_listed_is_held(said) -> None:
    site = greeted()
    late(site)
    assert again(site, ack(2, **said)) == [2]


def test_bitmaps_of_updates_speak_of_a_life_that_was_greeted() -> None:
    site = SiteDesk(0, [QUERY], disk=SiteDisk(ME, records_max=1))
    site.commit({0: [1, 2]}, now_s=CLOSED_S, read_through_s=CLOSED_S)
    site.take_said()
    assert again(site, ack(2, rounds=(RoundsHeld(0, 1, 2, 0b1),))) == [1, 2]


def test_a_late_update_that_has_arrived_is_counted_no_more() -> None:
    """A state does not grow with every pane that ever had one."""
    site = greeted()
    late(site)
    site.hear(ack(2, held=((0, 0),), greetings=greeting(site)), now_s=LATE_S + 6.0)
    site.commit({1: [7]}, now_s=22.0, read_through_s=22.0)
    site.commit({1: [8]}, now_s=26.0)
    site.commit(now_s=31.0, read_through_s=26.0)
    assert site.told[-1].counts == ((1, 2),)


def test_after_a_restart_all_that_may_be_late_is_counted() -> None:
    site = greeted()
    site.start(now_s=30.0)
    site.work(now_s=30.0)
    assert site.told[-1].counts == ((0, 3),)
    assert again(site, ack(2, held=((0, 0),), greetings=greeting(site, 1))) == [2, 3]
    assert again(site, ack(3, held=((0, 0),), greetings=greeting(site))) == []


def test_a_root_that_began_anew_is_told_of_what_was_late() -> None:
    site = greeted()
    late(site)
    site.hear(ack(2, held=((0, 0),), greetings=greeting(site)), now_s=LATE_S + 6.0)
    site.hear(ack(1, root=ROOT + 1), now_s=LATE_S + 7.0)
    site.work(now_s=LATE_S + 8.0)
    assert site.told[-1].counts == ((0, 4),)


def test_an_alarm_is_given_where_bitmaps_name_an_update_that_was_never_cut() -> None:
    site = greeted()
    site.hear(ack(2, rounds=(RoundsHeld(0, 1, 5, 0b1),)), now_s=ASKED_S)
    site.work(now_s=ASKED_S + 1.0)
    assert [one.kind for one in site.notices if one.kind == "alarm"] == ["alarm"]
    assert msgspec.structs.asdict(site.told[-1])["alarms"]
