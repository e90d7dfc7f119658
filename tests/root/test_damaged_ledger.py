"""A root whose ledger lost a summary asks the sites for it again, by its acknowledgements."""

from __future__ import annotations

from pane_kit import SOURCE, RootDesk, SiteDesk, SiteDisk, make_query, make_roster

from headwater.edge.config import EdgeConfig
from headwater.edge.report import BatchReport, QueryBatch


class World:
    """Two sites and a root, everything delivered at once."""

    def __init__(self, **query) -> None:
        self.query = make_query(**{"revise_every_s": 1.0, **query})
        self.root = RootDesk(self.query, make_roster(2))
        self.sites = [
            SiteDesk(n, [self.query], config=EdgeConfig(seal_every_s=1.0)) for n in range(2)
        ]

    def work(self, *, now_s: float) -> None:
        for _ in range(3):
            for site in self.sites:
                site.work(now_s=now_s)
                self.root.hear(*site.take_told(), now_s=now_s)
                self.root.receive(*site.take_said(), now_s=now_s)
            self.root.work(now_s=now_s)
            for ack in self.root.take_acks():
                for site in self.sites:
                    site.hear(ack, now_s=now_s)

    def run(self, *, from_s: int, to_s: int) -> None:
        """Both sites read to the end every second."""
        for second in range(from_s, to_s):
            for site in self.sites:
                site.commit(now_s=second, read_through_s=float(second))
            self.work(now_s=float(second))

    def lose(self, *numbers: int, now_s: float) -> None:
        """As the agent does it: the ledger drops them, the root begins anew."""
        disk = self.root.disk
        lost = [disk.kept.pop(number) for number in numbers]
        disk.incarnation += 1
        self.root.root.begin_anew(
            disk.restore(), incarnation=disk.incarnation, lost=lost, now_s=now_s
        )

    def numbers_of(self, pane: int) -> list[int]:
        kept = self.root.disk.kept
        return [n for n, one in kept.items() if one.pane == pane and one.rows is not None]


def test_what_the_ledger_lost_is_sent_again_though_it_was_acknowledged():
    world = World()
    world.sites[0].commit({0: [1, 2]}, now_s=5.0)
    world.sites[1].commit({0: [3]}, now_s=5.0)
    world.run(from_s=10, to_s=60)
    assert world.root.newest(0).rows == (1, 2, 3)
    assert all(site.edge.progress()[0].unacked_panes == 0 for site in world.sites)
    revisions = len(world.root.published[0])
    first, *_ = world.numbers_of(0)
    world.lose(first, now_s=60.0)
    world.run(from_s=60, to_s=100)
    assert world.root.disk.rows([0], kept_through=1_000) == (1, 2, 3), "each once"
    assert world.root.newest(0).rows == (1, 2, 3)
    assert all(p.rows == (1, 2, 3) for p in world.root.published[0][revisions - 1 :])
    assert world.root.newest(0).envelope.exact


def test_a_window_is_not_revised_to_less_than_it_had():
    world = World()
    world.sites[0].commit({0: [1]}, now_s=5.0)
    world.sites[1].commit({0: [3]}, now_s=5.0)
    world.run(from_s=10, to_s=60)
    before = list(world.root.published[0])
    for site in world.sites:
        site.disk.panes[str(world.query.id)].pop(0, None)  # the rows are gone there as well
    world.lose(*world.numbers_of(0), now_s=60.0)
    world.run(from_s=60, to_s=120)
    assert world.root.published[0] == before
    text = world.root.root.why(0).text()
    assert "s0, s1: declined (expired)" in text


def test_a_pane_that_a_final_window_shares_is_let_in_again_for_the_others():
    """Windows of two panes, one every pane, sealed after 20 s::

    pane      0    1    2
    window 0  |---------|            final
    window 1       |---------|       not yet, and its pane 1 is damaged
    """
    world = World(panes=2, slide=1, lateness_s=20.0)
    world.sites[0].commit({1: [1], 2: [2]}, now_s=25.0)
    world.run(from_s=26, to_s=44)
    assert world.root.newest(0).envelope.final
    assert not world.root.newest(1).envelope.final
    world.lose(*world.numbers_of(1), now_s=44.0)
    world.run(from_s=44, to_s=100)
    assert world.root.newest(1).rows == (1, 2)
    assert world.root.newest(1).envelope.exact


def test_a_pane_is_let_in_again_though_the_agent_ended_before_it_let_go_of_a_final_window():
    """The windows above; the final one was published, and the ledger not trimmed."""
    world = World(panes=2, slide=1, lateness_s=20.0)
    world.sites[0].commit({1: [1], 2: [2]}, now_s=25.0)
    world.run(from_s=26, to_s=44)
    assert world.root.newest(0).envelope.final
    world.root.disk.done_through = None
    world.lose(*world.numbers_of(1), now_s=44.0)
    world.run(from_s=44, to_s=55)
    assert world.root.disk.rows([1], kept_through=1_000) == (1,)


def test_unanswered_windows_are_answered_with_what_is_there_and_then_revised():
    world = World(deadline_s=5.0)
    world.sites[0].commit({0: [1]}, now_s=5.0)
    world.sites[0].commit(now_s=12.0, read_through_s=12.0)
    world.work(now_s=12.0)
    world.lose(*world.numbers_of(0), now_s=13.0)
    for second in range(13, 60):
        world.sites[0].commit(now_s=second, read_through_s=float(second))
        world.work(now_s=float(second))
    first, last = world.root.published[0][0], world.root.newest(0)
    assert first.rows == ()
    assert (last.rows, last.envelope.covered) == ((1,), 1)


class PartlySent(World):
    """Site 0 has two updates of pane 0, of which the root gets the first and answers at the
    deadline; then a batch fails, and the site declines what it has not read of the pane."""

    def __init__(self) -> None:
        super().__init__(deadline_s=5.0)
        self.sites[0] = SiteDesk(
            0, [self.query], disk=SiteDisk(1000, records_max=1), config=EdgeConfig(seal_every_s=1.0)
        )
        self.sites[0].commit({0: [1, 2]}, now_s=5.0)
        self.sites[0].commit(now_s=11.0, read_through_s=11.0)
        first, _lost_on_the_way = self.sites[0].take_said()
        self.root.receive(first, now_s=11.5)
        batch = QueryBatch(str(self.query.id), failed="[DIVIDE_BY_ZERO]", touched=(0, 0), failure=1)
        self.sites[0].report(BatchReport(SOURCE.name, (batch,)), now_s=12.0)
        self.run(from_s=13, to_s=25)
        answer = self.root.newest(0)
        assert (answer.rows, answer.envelope.covered) == ((1,), 1)

    def lose_the_first(self, *, now_s: float) -> None:
        (number,) = self.numbers_of(0)
        self.root.disk.lost = [self.root.disk.kept[number]]
        self.lose(number, now_s=now_s)


def test_what_was_sent_of_a_pane_whose_rest_is_declined_is_awaited_again():
    world = PartlySent()
    world.lose_the_first(now_s=25.0)
    world.run(from_s=25, to_s=100)
    assert all(1 in one.rows for one in world.root.published[0])
    assert world.root.newest(0).rows == (1, 2)


def test_after_a_restart_a_window_is_still_not_revised_to_less_than_it_had():
    world = PartlySent()
    world.lose_the_first(now_s=25.0)
    world.root.start(now_s=25.5)
    world.sites[1].commit({0: [3]}, now_s=26.0)
    world.run(from_s=27, to_s=40)
    assert all(1 in one.rows for one in world.root.published[0])
    world.run(from_s=40, to_s=100)
    assert world.root.newest(0).rows == (1, 2, 3)


def test_a_declined_site_is_asked_for_what_it_had_sent_wholly():
    """An acknowledgement names who declines as held, lest it be asked for what never comes."""
    world = World()
    world.sites[0].commit({0: [1, 2]}, now_s=5.0)
    world.run(from_s=10, to_s=20)
    batch = QueryBatch(str(world.query.id), failed="[DIVIDE_BY_ZERO]", touched=(0, 0), failure=1)
    world.sites[0].report(BatchReport(SOURCE.name, (batch,)), now_s=20.0)
    world.run(from_s=20, to_s=60)
    world.lose(*world.numbers_of(0), now_s=60.0)
    world.sites[1].commit({0: [3]}, now_s=60.0)
    world.run(from_s=61, to_s=120)
    assert world.root.newest(0).rows == (1, 2, 3)
