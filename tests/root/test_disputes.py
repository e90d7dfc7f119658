"""Carriers are checked from behind: three sites with their edges, a root, and a relay between them
that merges what it carries and may lie about it (``federations.relayed``).
"""

import msgspec
import pytest
from federations.relayed import SITES, Federation, Lie
from pane_kit import NumbersMerger, RootDesk, make_query, make_roster, state

from headwater.algebra.coverage import Coverage, SitePart
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.close_digest import BlockDigest, Closes, digest_of
from headwater.algebra.words.site_state import PaneState
from headwater.edge.words.close_words import CloseWords
from headwater.root import outputs as root_out
from headwater.root.carriers.disputes import Disputes
from headwater.root.said.top_book import TopBook


def claim(pane: int, site: int, part: SitePart) -> Lie:
    """The relay says this of the site's pane, and drops its rows."""

    def lie(merged: Summary) -> Summary:
        bit = 1 << site
        if merged.pane != pane or not merged.coverage.sites & bit:
            return merged
        honest = merged.coverage
        parts = tuple(p for p in honest.parts if p.ordinal != site)
        if not honest.parts:  # all in the short form: spelled out, so that the tag may be left
            members = [n for n in range(SITES) if (honest.whole | honest.empty) >> n & 1]
            parts = tuple(
                SitePart(
                    ordinal=n,
                    incarnation=1000 + n,
                    updates=((1, 1),) if honest.whole >> n & 1 else (),
                    closed_at=honest.whole >> n & 1,
                )
                for n in members
                if n != site
            )
        told = tuple(sorted((*parts, part), key=lambda one: one.ordinal))
        rows = tuple(r for r in merged.rows or () if r % 100 != site)
        return msgspec.structs.replace(merged, coverage=Coverage(parts=told), rows=rows or None)

    return lie


def part_of(site: int, updates: tuple[tuple[int, int], ...], closed_at: int) -> SitePart:
    return SitePart(ordinal=site, incarnation=1000 + site, updates=updates, closed_at=closed_at)


LIES = {
    "rows told as an empty close": (2, 2, part_of(2, (), 0)),
    "an empty close told as rows": (3, 2, part_of(2, ((1, 1),), 1)),
    "an update that was never cut": (2, 1, part_of(1, ((1, 2),), 2)),
    "a close of more updates than there are": (2, 1, part_of(1, ((1, 1),), 3)),
    "a close of updates where there are none": (3, 2, part_of(2, (), 2)),
}


def test_in_calm_all_becomes_final_and_nothing_is_asked():
    world = Federation()
    world.run(200.0, panes=6)
    world.check_right_in_the_end(6)
    assert world.count("disputed") == 0
    assert not any(ack.ack.asked or ack.ack.wanted for ack in acks(world))


def acks(world: Federation) -> list[root_out.Acknowledge]:
    return [one for one in world.root.outputs if isinstance(one, root_out.Acknowledge)]


def lied_to(lie):
    """A federation in which this lie is told, and the pane that it is about."""
    pane, site, part = LIES[lie]
    world = Federation()
    world.lie = claim(pane, site, part)
    return world, pane


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_what_a_site_has_signed_otherwise_is_disputed_and_then_replaced(lie):
    world, pane = lied_to(lie)
    world.run(300.0, panes=6)
    assert any(world.disputed(pane)), "an answer says so"
    for one in world.root.published[pane]:
        assert not (one.envelope.disputed and (one.envelope.exact or one.envelope.final))
    assert world.count("disputed") == 1
    assert world.count("replaced") == 1
    world.check_right_in_the_end(6, lied_about=pane)


def test_a_range_that_grows_with_each_seal_is_asked_about_as_well():
    pane, site, part = LIES["rows told as an empty close"]
    world = Federation(digest_panes=64)
    world.lie = claim(pane, site, part)
    world.run(500.0, panes=6)
    assert world.count("replaced") == 1
    world.check_right_in_the_end(6, lied_about=pane)


def test_a_close_that_is_claimed_before_the_pane_is_over_is_found_by_the_digest():
    """Two sites are said to have closed it with updates, of which none is there."""
    world = Federation()
    world.run(43.0, panes=6)
    parts = (part_of(0, (), 1), part_of(2, (), 2))
    forged = Summary(query=str(world.query.id), pane=4, coverage=Coverage(parts=parts), rows=None)
    world.root.receive(forged, now_s=world.now_s)
    world.run(300.0, panes=6)
    assert world.count("disputed") == 1
    world.check_right_in_the_end(6, lied_about=4)


def test_no_answer_loses_anything_while_a_pane_is_disputed():
    world, pane = lied_to("rows told as an empty close")
    world.run(300.0, panes=6)
    seen: set[int] = set()
    for one in world.root.published[pane]:
        assert set(one.rows) >= seen
        seen = set(one.rows)


def test_what_is_disputed_goes_on_counting_while_a_site_of_its_piece_is_away():
    world, pane = lied_to("rows told as an empty close")
    world.run(32.0, panes=6)
    world.silent = {0}
    world.run(200.0, panes=6)
    assert world.newest(pane).disputed
    assert world.rows(pane) == {world.record(0, pane), world.record(1, pane)}
    world.silent = set()
    world.run(200.0, panes=6)
    world.check_right_in_the_end(6, lied_about=pane)


def test_nothing_is_replaced_while_an_answer_is_made_of_it():
    world, pane = lied_to("rows told as an empty close")
    world.run(32.0, panes=6)
    world.silent = {0}
    world.run(60.0, panes=6)
    world.root.is_slow, world.silent = True, set()
    world.run(100.0, panes=6)
    assert world.root.under_way is not None
    assert world.count("own word") >= SITES
    assert world.count("replaced") == 0
    world.root.is_slow = False
    world.root.finish(now_s=world.now_s)
    world.run(200.0, panes=6)
    world.check_right_in_the_end(6, lied_about=pane)


def test_what_is_final_stays_as_it_is():
    world, pane = lied_to("an update that was never cut")
    world.run(32.0, panes=6)
    world.root.root.scoreboard.open(pane).is_frozen = True
    world.run(200.0, panes=6)
    assert pane in world.root.root.scoreboard.disputed
    assert world.count("replaced") == 0


def test_of_what_was_replaced_no_groups_are_followed(monkeypatch):
    """Its rows are others than those that were looked at."""
    world, pane = lied_to("an update that was never cut")
    books, blocked = world.root.root.books, []
    books.tops = TopBook(books.scoreboard, books.windows, books.config, NumbersMerger())
    monkeypatch.setattr(books.tops, "block", blocked.append)
    world.run(232.0, panes=6)
    assert world.count("replaced") == 1
    assert blocked == [pane]


def test_a_dispute_outlives_the_root():
    world, pane = lied_to("an update that was never cut")
    world.run(32.0, panes=6)
    world.silent = {0}
    world.run(60.0, panes=6)
    assert world.newest(pane).disputed
    before = world.root.root.scoreboard.disputed
    world.root.start(now_s=world.now_s)
    assert world.root.root.scoreboard.disputed == before
    assert not world.root.root.answers.assess(pane).is_exact
    world.silent = set()
    world.run(300.0, panes=6)
    assert world.count("disputed") == 0, "the alarm is not raised again by a restart"
    world.check_right_in_the_end(6, lied_about=pane)


def test_agreement_outlives_root_and_sites():
    world = Federation()
    world.run(100.0, panes=6)
    through = world.root.root.scoreboard.agreed_through
    assert through > 5
    world.root.start(now_s=world.now_s)
    assert world.root.root.scoreboard.agreed_through == through
    for desk in world.sites:
        desk.start(now_s=world.now_s)
    world.run(200.0, panes=6)
    world.check_right_in_the_end(6)
    assert world.count("disputed") == 0


def test_nothing_is_final_by_its_seal_before_its_sites_have_agreed(monkeypatch):
    world = Federation()
    world.run(30.0, panes=6)
    monkeypatch.setattr(CloseWords, "digests", lambda *_: ())
    world.run(200.0, panes=6)
    assert world.root.root.table.sealed_through > 6
    assert world.newest(5).exact
    assert not world.newest(5).final
    assert not world.root.root.answers.assess(5).is_final


def test_a_state_that_tells_digests_alone_is_not_greeted_and_one_that_answers_is():
    query = make_query()
    root = RootDesk(query, make_roster(1), compares=True)
    blank = (BlockDigest(first=0, last=3, digest=digest_of(1000, ())),)
    told = (
        {},
        {"digests": blank},
        {"digests": blank, "closes": (Closes(first=0, last=3, asked=1),)},
    )
    greeted = []
    for number, fields in enumerate(told, start=1):
        root.hear(state(query, 0, of=1000, number=number, **fields), now_s=10.0 * number)
        root.work(now_s=10.0 * number + 5.0)
        greeted += [hail.number for ack in root.take_acks() for hail in ack.greetings]
    assert greeted == [1, 3]


def test_what_carriers_bring_after_a_pane_was_compared_is_asked_about():
    """A forged late update of two sites, long after their digests were agreed to."""
    world = Federation()
    world.run(50.0, panes=3)
    assert world.root.root.scoreboard.agreed_through >= 2
    parts = tuple(part_of(n, ((2, 2),), 2) for n in (0, 1))
    forged = Summary(
        query=str(world.query.id),
        pane=1,
        coverage=Coverage(parts=parts),
        rows=(9_901,),
        lane=Lane.BACKLOG,
    )
    world.root.receive(forged, now_s=world.now_s)
    assert not world.root.root.answers.assess(1).is_final
    world.run(200.0, panes=3)
    assert world.count("disputed") > 0
    assert any(world.disputed(1))
    assert world.rows(1) == world.truth(1)
    assert world.newest(1).final


def test_what_is_doubted_is_doubted_also_by_the_next_process_of_the_root():
    world = Federation()
    world.run(50.0, panes=3)
    parts = tuple(part_of(n, ((2, 2),), 2) for n in (0, 1))
    forged = Summary(
        query=str(world.query.id),
        pane=1,
        coverage=Coverage(parts=parts),
        rows=(9_901,),
        lane=Lane.BACKLOG,
    )
    world.root.receive(forged, now_s=world.now_s)
    before = dict(world.root.root.scoreboard.doubted)
    assert before == {1: 0b011}
    world.root.start(now_s=world.now_s)
    assert world.root.root.scoreboard.doubted == before
    world.run(200.0, panes=3)
    assert any(world.disputed(1))
    assert world.rows(1) == world.truth(1)


def test_a_late_update_that_its_site_tells_of_is_no_dispute():
    world = Federation()
    world.run(48.0, panes=3)
    late = 9_777
    world.sites[0].commit({1: [late]}, now_s=world.now_s, read_through_s=world.now_s)
    world.run(200.0, panes=3)
    assert world.rows(1) == world.truth(1) | {late}
    assert world.newest(1).final
    assert world.count("disputed") == 0


def test_why_names_what_is_disputed():
    world, pane = lied_to("rows told as an empty close")
    world.run(32.0, panes=6)
    world.silent = {0}
    world.run(60.0, panes=6)
    text = world.root.root.why(pane).text()
    assert "disputed" in text
    assert "s2" in text


def test_beyond_the_limit_of_disputes_nothing_becomes_final_by_its_seal():
    world = Federation(disputes_max=1)
    first = claim(*LIES["rows told as an empty close"])
    second = claim(*LIES["an update that was never cut"][:1], 1, part_of(1, ((1, 2),), 2))
    world.lie = lambda merged: second(first(merged)) if merged.pane == 2 else merged
    world.run(300.0, panes=6)
    for pane in range(6):
        for one in world.root.published[pane]:
            if one.envelope.final:
                assert set(one.rows) == world.truth(pane)


def test_a_site_that_has_not_closed_the_pane_says_so_and_holds_up_nobody():
    """Site 0's Spark stands still; a relay says that it has closed pane 2 all the same, and that
    site 2 has nothing in it."""
    world = Federation()
    world.run(19.0, panes=6)
    world.stalled = {0}
    told = claim(2, 2, part_of(2, (), 0))

    def lie(merged: Summary) -> Summary:
        lied = told(merged)
        if merged.pane != 2 or merged.coverage.sites & 1:
            return lied
        parts = tuple(
            sorted((*lied.coverage.parts, part_of(0, (), 0)), key=lambda one: one.ordinal)
        )
        return msgspec.structs.replace(lied, coverage=Coverage(parts=parts))

    world.lie = lie
    world.run(30.0, panes=6)
    assert world.rows(2) == {world.record(1, 2)}
    assert not world.newest(2).missing, "as the relay says"
    world.lie = lambda merged: merged
    world.run(170.0, panes=6)
    assert world.count("disputed") == 1
    assert world.count("replaced") == 1, "though site 0 has not closed the pane yet"
    assert not world.newest(2).disputed
    (missing,) = world.newest(2).missing
    assert (missing.site, missing.state) == ("s0", PaneState.OPEN), "nobody claims it any more"
    assert world.rows(2) == world.truth(2) - {world.record(0, 2)}
    world.stalled = set()
    world.run(200.0, panes=6)
    assert world.rows(2) == world.truth(2) - {world.record(0, 2)}, "site 0 had read nothing in it"
    assert world.newest(2).final


class OneBench:
    """Room for one disputed pane at a time; of all of them everything is in."""

    def __init__(self, *panes: int, lasting: frozenset[int] = frozenset()) -> None:
        self.waiting = list(panes)
        self.lasting = lasting
        """Disputed still when they have been replaced."""
        self.benches: dict[int, None] = {}
        self.begin_more(now_s=0.0)

    def begin_more(self, *, now_s: float) -> None:
        if self.waiting and not self.benches:
            self.benches[self.waiting.pop(0)] = None

    def complete(self, pane: int) -> list[Summary]:
        return []

    def replaced(self, pane: int) -> None:
        del self.benches[pane]
        self.waiting += [pane] if pane in self.lasting else []


@pytest.mark.parametrize("lasting", [frozenset(), frozenset({5})])
def test_panes_of_which_all_is_in_are_replaced_at_once_however_little_room_there_is(
    monkeypatch: pytest.MonkeyPatch, lasting: frozenset[int]
) -> None:
    disputes = Federation().root.root.disputes
    bench = OneBench(5, 3, 9, 7, lasting=lasting)
    found: list[int] = []

    def replace(_: Disputes, pane: int, own: object, *, now_s: float) -> None:
        found.append(pane)
        bench.replaced(pane)

    monkeypatch.setattr(Disputes, "_replace", replace)
    monkeypatch.setattr(disputes, "replacing", bench)
    disputes.replace(now_s=1.0)
    assert found == [5, 3, 9, 7], "each once, also where it stays disputed"
