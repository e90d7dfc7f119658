"""Edges and a root over a channel that loses, repeats and reorders, against a model of records.

A Hypothesis state machine: records are born at sites, sites read, crash and lose nothing that is
durable; summaries, states and acknowledgements travel as messages that may be dropped, delivered
again, delivered in any order, and merged with others on the way. After every step the published
answers are true: no record twice, none that was not born, exactly what the envelope covers. In the
end everything heals, and every window becomes final, exact and equal to what was born.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pane_kit import (
    PANE_S,
    NumbersMerger,
    RootDesk,
    RootDisk,
    SiteDesk,
    SiteDisk,
    make_query,
    make_roster,
)

from headwater.algebra.summary import Lane, Summary, merge_summaries
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.edge.config import EdgeConfig
from headwater.root.config import RootConfig
from headwater.root.root import Root

SITES = 3
LATENESS_S = 200.0
LIFE_S = 25.0
HEAL_STEPS_MAX = 400
FATES = ("deliver", "deliver and keep", "keep", "drop")


class EdgesAndRoot(RuleBasedStateMachine):
    """Time is seconds from 0; panes are ten seconds long."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.next_record = 0
        self.admitted: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        """Pane -> site -> records that its cube took."""
        self.channel: list[tuple[str, int, object]] = []
        self.was_final: dict[int, tuple[int, ...]] = {}
        self.old_disks: dict[int, SiteDisk] = {}
        self.lossy: set[tuple[int, int]] = set()
        """(site, pane) of which records may be missing for good."""
        self.checked: dict[int, int] = defaultdict(int)

    @initialize(slides=st.booleans(), is_earliest=st.booleans(), splits=st.booleans())
    def begin(self, slides: bool, is_earliest: bool, splits: bool) -> None:
        records_max = 1 if splits else 9
        self.query = make_query(
            panes=2 if slides else 1,
            slide=1,
            begin_pane=None if is_earliest else 0,
            lateness_s=LATENESS_S,
            revise_for_s=10_000.0,
            deadline_s=5.0,
        )
        edge = EdgeConfig(summary_life_s=LIFE_S, state_every_s=3.0, seal_every_s=1.0)
        self.sites = [
            SiteDesk(n, [self.query], disk=SiteDisk(1000 + n, records_max=records_max), config=edge)
            for n in range(SITES)
        ]
        config = RootConfig(summary_life_s=LIFE_S, ack_every_s=1.0, ack_idle_s=2.0)
        self.root = RootDesk(self.query, make_roster(SITES), config=config, compares=True)
        self.collect()

    # What happens

    @rule(site=st.integers(0, SITES - 1), back=st.integers(0, 3), count=st.integers(1, 3))
    def read(self, site: int, back: int, count: int) -> None:
        """A site reads records of this pane, or late ones, and is at the end of its input."""
        pane = max(0, int(self.now_s // PANE_S) - back)
        records = list(range(self.next_record, self.next_record + count))
        self.next_record += count
        desk = self.sites[site]
        stored = desk.commit({pane: records}, now_s=self.now_s, read_through_s=self.now_s)
        self.admitted[pane][site] |= stored
        self.collect()

    @rule(site=st.integers(0, SITES - 1))
    def poll(self, site: int) -> None:
        self.sites[site].commit(now_s=self.now_s, read_through_s=self.now_s)
        self.collect()

    @rule(by_s=st.sampled_from([0.5, 1.0, 3.0, 7.0, 12.0]))
    def pass_time(self, by_s: float) -> None:
        self.now_s += by_s
        self.channel = [(kind, to, self.aged(message, by_s)) for kind, to, message in self.channel]
        self.tick()

    @rule(counts=st.tuples(*[st.integers(0, 2)] * SITES), back=st.integers(0, 2))
    def a_pane_passes(self, counts: tuple[int, ...], back: int) -> None:
        """All sites read something, time goes on to the next pane, and all of them poll."""
        for site, count in enumerate(counts):
            if count:
                self.read(site, back, count)
        self.pass_time(by_s=PANE_S - self.now_s % PANE_S + 1.5)
        for site in range(SITES):
            self.poll(site)

    @rule(site=st.integers(0, SITES - 1), is_open=st.booleans())
    def cut_off(self, site: int, is_open: bool) -> None:
        self.sites[site].room = (1 << 30) if is_open else 0

    @rule(is_slow=st.booleans())
    def slow_spark(self, is_slow: bool) -> None:
        self.root.is_slow = is_slow

    @precondition(lambda self: self.root.under_way is not None)
    @rule(fails=st.booleans())
    def spark_ends(self, fails: bool) -> None:
        self.root.failure = "Spark failed" if fails else None
        self.root.finish(now_s=self.now_s)
        self.root.failure = None
        self.collect()

    # The channel

    @precondition(lambda self: self.channel)
    @rule()
    def deliver_all(self) -> None:
        waiting, self.channel = self.channel, []
        for one in waiting:
            self.hand_over(one)

    @precondition(lambda self: self.channel)
    @rule(fates=st.lists(st.sampled_from(FATES), min_size=1, max_size=8), turn=st.integers(0, 50))
    def shake(self, fates: list[str], turn: int) -> None:
        """Each message meets a fate, beginning anywhere, backwards or not."""
        turn %= len(self.channel)
        waiting = self.channel[turn:] + self.channel[:turn]
        self.channel = []
        for at, one in enumerate(waiting if turn % 2 else waiting[::-1]):
            fate = fates[at % len(fates)]
            if fate in ("deliver", "deliver and keep"):
                self.hand_over(one)
            if fate in ("keep", "deliver and keep"):
                self.channel.append(one)

    @precondition(lambda self: self.channel)
    @rule()
    def relays_merge(self) -> None:
        """All that may be merged is."""
        waiting, self.channel = self.channel, []
        for kind, to, message in waiting:
            partner = next(
                (
                    at
                    for at, (other_kind, _, other) in enumerate(self.channel)
                    if kind == other_kind == "summary" and self.may_merge(message, other)
                ),
                None,
            )
            if partner is None:
                self.channel.append((kind, to, message))
            else:
                merged = merge_summaries((self.channel[partner][2], message), NumbersMerger())
                self.channel[partner] = (kind, to, merged)

    @precondition(lambda self: self.channel)
    @rule(data=st.data(), fate=st.sampled_from(FATES))
    def one_message(self, data: st.DataObject, fate: str) -> None:
        one = self.channel[data.draw(st.integers(0, len(self.channel) - 1))]
        if "deliver" in fate:
            self.hand_over(one)
        if "keep" not in fate:
            self.channel = [other for other in self.channel if other is not one]

    def may_merge(self, left: Summary, right: Summary) -> bool:
        if Lane.SPARE in (left.lane, right.lane):
            return False
        same = (left.pane, left.lane) == (right.pane, right.lane)
        return same and not left.coverage.intersects(right.coverage)

    @precondition(lambda self: any(kind == "summary" for kind, _, _ in self.channel))
    @rule(data=st.data())
    def a_copy_overtakes_its_aggregate(self, data: st.DataObject) -> None:
        summaries = [one for one in self.channel if one[0] == "summary"]
        copy = summaries[data.draw(st.integers(0, len(summaries) - 1))]
        self.hand_over(copy)
        self.relays_merge()
        self.deliver_all()

    # Crashes

    @rule(site=st.integers(0, SITES - 1))
    def restart_site(self, site: int) -> None:
        self.sites[site].start(now_s=self.now_s)
        self.collect()

    @rule()
    def restart_root(self) -> None:
        former = self.root.root
        self.root.start(now_s=self.now_s)
        panes = former.scoreboard.boards.keys() | self.root.root.scoreboard.boards.keys()
        before, after = self.snapshot(former, panes), self.snapshot(self.root.root, panes)
        assert after == before, f"a restart changed the scoreboard:\n{before}\n{after}"
        self.collect()

    @rule(site=st.integers(0, SITES - 1))
    def crash_before_sending(self, site: int) -> None:
        """The newest words of a site are lost with its process."""
        said = {id(summary) for summary in self.sites[site].said}
        self.channel = [one for one in self.channel if id(one[2]) not in said]
        self.restart_site(site)

    @precondition(lambda self: not self.old_disks)
    @rule(site=st.integers(0, SITES - 1))
    def lose_cube(self, site: int) -> None:
        """The site lives anew, from the end of its input; what it had not sent is lost."""
        desk = self.sites[site]
        self.old_disks[site] = desk.disk
        incarnation = desk.disk.incarnation + 1000
        desk.disk = SiteDisk(incarnation, born_s=self.now_s, records_max=desk.disk.records_max)
        desk.start(now_s=self.now_s)
        first = desk.disk.records[str(self.query.id)].first_pane
        for pane in [p for p in self.admitted if p < first or self.query.begin_pane is None]:
            self.lossy.add((site, pane))
        self.collect()

    @precondition(lambda self: self.root.disk.incarnation == 50)
    @rule()
    def lose_ledger(self) -> None:
        """The root begins anew; what sites have forgotten since it was done with it is gone."""
        self.root.disk = RootDisk(incarnation=51)
        done = max(desk.edge.progress()[0].record.done_through for desk in self.sites)
        self.lossy |= {(s, p) for s in range(SITES) for p in self.admitted if p < done}
        self.root.published.clear()
        self.was_final.clear()
        self.checked.clear()
        self.root.start(now_s=self.now_s)
        self.collect()

    def snapshot(self, root: Root, panes: set[int]) -> object:
        windows = root.windows.windows.values()
        return (
            [root.scoreboard.peek(pane).snapshot() for pane in sorted(panes)],
            sorted((w.window, w.revision, w.is_final) for w in windows if w.revision),
            root.windows.done_through,
            root.kept,
        )

    # Driving

    def tick(self) -> None:
        for desk in self.sites:
            desk.work(now_s=self.now_s)
        self.root.work(now_s=self.now_s)
        self.collect()

    def collect(self) -> None:
        """What was said is on the channel now."""
        for at, desk in enumerate(self.sites):
            self.channel += [("summary", at, one) for one in desk.take_said()]
            self.channel += [("state", at, one) for one in desk.take_told()]
            assert all(notice.kind != "alarm" for notice in desk.notices), desk.notices
        for ack in self.root.take_acks():
            self.channel += [("ack", at, ack) for at in range(SITES)]

    def hand_over(self, one: tuple[str, int, object]) -> None:
        kind, to, message = one
        if kind == "summary":
            assert isinstance(message, Summary)
            if message.age_s <= LIFE_S or message.lane is Lane.SPARE:
                self.root.receive(message, now_s=self.now_s)
        elif kind == "state":
            assert isinstance(message, SiteState)
            self.root.hear(message, now_s=self.now_s)
        else:
            assert isinstance(message, Acknowledgement)
            self.sites[to].hear(message, now_s=self.now_s)
        self.root.work(now_s=self.now_s)
        self.collect()

    def aged(self, message: object, by_s: float) -> object:
        if isinstance(message, SiteState):
            return message
        return msgspec.structs.replace(message, age_s=message.age_s + by_s)

    # Truths

    @invariant()
    def answers_are_true(self) -> None:
        for window, revisions in self.root.published.items():
            for at in range(self.checked[window], len(revisions)):
                self.check(window, at)
            self.checked[window] = len(revisions)

    def check(self, window: int, at: int) -> None:
        published = self.root.published[window][at]
        envelope, rows = published.envelope, published.rows
        panes = self.query.window.panes_of(window)
        assert len(set(rows)) == len(rows), "a record is counted twice"
        born = set().union(*(self.admitted[p][s] for p in panes for s in range(SITES)))
        assert set(rows) <= born, "a record is counted that was not born"
        assert envelope.revision == at + 1
        assert window not in self.was_final, "final is final"
        if at:
            former = self.root.published[window][at - 1]
            assert envelope.covered >= former.envelope.covered, (
                f"a revision lowered coverage:\n{former.envelope}\n{envelope}"
            )
            assert set(former.rows) <= set(rows), "a revision lost records"
        missing = defaultdict(set)
        for one in envelope.missing:
            missing[one.site] |= {p for a, b in one.panes for p in range(a, b + 1)}
        assert envelope.exact == (not missing)
        for site in range(SITES):
            for pane in panes:
                if pane not in missing[f"s{site}"]:
                    self.check_covered(site, pane, set(rows))
        if envelope.final:
            self.was_final[window] = rows

    def check_covered(self, site: int, pane: int, rows: set[int]) -> None:
        """Of a site that is not missing, the first so many updates are in, or it has none."""
        mine = self.admitted[pane][site] & rows
        disks = [self.sites[site].disk, self.old_disks.get(site)]
        panes = [disk.panes[str(self.query.id)].get(pane) for disk in disks if disk is not None]
        if not any(panes):
            return
        sums: list[set[int]] = [set()]
        for one in filter(None, panes):
            sums += [set().union(*one.updates[:count]) for count in range(len(one.updates) + 1)]
        assert mine in sums, f"site {site} pane {pane} is covered by part of an update"

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.heal()

    def heal(self) -> None:
        """Everything is up and linked; nobody's input grows. All must become final and exact."""
        for desk in self.sites:
            desk.room = 1 << 30
        self.root.is_slow = False
        if self.root.under_way is not None:
            self.root.finish(now_s=self.now_s)
        last_pane = int(self.now_s // PANE_S) + 1
        wanted = {w for pane in range(last_pane) for w in self.query.window.windows_of(pane)}
        for _ in range(HEAL_STEPS_MAX):
            self.now_s += 1.0
            for desk in self.sites:
                desk.commit(now_s=self.now_s, read_through_s=self.now_s)
            self.tick()
            self.deliver_all() if self.channel else None
            self.answers_are_true()
            if self.now_s > last_pane * PANE_S + LATENESS_S and self.all_final(wanted):
                return
        self.explain(wanted)

    def all_final(self, wanted: set[int]) -> bool:
        return all(window in self.was_final for window in self.expected(wanted))

    def expected(self, wanted: set[int]) -> set[int]:
        spec = self.query.window
        if self.query.begin_pane is not None:
            return {w for w in wanted if spec.panes_of(w).start >= self.query.begin_pane}
        filled = {
            pane
            for pane, sites in self.admitted.items()
            if any(records and (s, pane) not in self.lossy for s, records in sites.items())
        }
        return {w for w in wanted if filled & set(spec.panes_of(w))}

    def explain(self, wanted: set[int]) -> None:
        late = sorted(w for w in self.expected(wanted) if w not in self.was_final)
        texts = [self.root.root.why(window).text() for window in late[:3]]
        raise AssertionError(f"not final in the end: {late}\n" + "\n".join(texts))

    @invariant()
    def final_answers_have_everything(self) -> None:
        for window, rows in self.was_final.items():
            pairs = [(s, p) for p in self.query.window.panes_of(window) for s in range(SITES)]
            sure = [self.admitted[p][s] for s, p in pairs if (s, p) not in self.lossy]
            assert set(rows) >= set().union(*sure), "a final answer lacks records"


TestEdgesAndRoot = EdgesAndRoot.TestCase
TestEdgesAndRoot.settings = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
