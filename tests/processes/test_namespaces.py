"""Eight agents in network namespaces: inner nodes die or are cut off, and the answers stay whole.

::

    namespaces, joined by a switch with delay, rates and cuts; windows of 2 s

    home (Spark, root, data)          relay1
    relay2   gen1 (data)   gen2 (data)            north: 20 to 30 ms away
    relay3   gen3 (data)   gen4 (data)            south: 40 to 50 ms away

Four trees span them. A generator that has lost all its neighbours must hear of the query all the
same. Then a relay that is a parent in several trees is killed, and a generator that is one, too, is
cut off without a word. Then one of the others loses every parent that it has left. First answers
must cover whoever is alive and reachable, soon after each blow; records are numbered, so
none may be in twice; and once all is healed every window must become exact and final.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from chaos.checker import ABSENT, Answer, Checker
from chaos.fleet import DATA_SITES, GENERATORS, HOME, LINES, RELAYS, Fleet, await_that
from chaos.namespaces import Unavailable, open_namespaces
from chaos.packet_switch import PacketSwitch
from chaos.truth import Truth
from chaos.workload import LOG, Writer

from headwater.overlay.ways.staged_policy import RESORT, SAME
from headwater.root.said.envelope import Envelope
from headwater.store.results.results import ResultsReader

STREAM, WINDOW_S, DISORDER_S = "numbered", 2, 1.0
SQL = f"""
CREATE SOURCE log (id BIGINT, ts TIMESTAMP, site STRING)
  WITH (format = 'csv', path = '{LOG}*', time = 'ts');

CREATE STREAM {STREAM} WITH (
  deadline = '4s', disorder = '{DISORDER_S:g}s', lateness = '15s', revise_every = '1s'
) AS SELECT id, count(*) AS n, sum(id) AS total FROM log
GROUP BY window(ts, '{WINDOW_S} seconds'), id;
"""
WINDOW_US = WINDOW_S * 1_000_000
REROUTED_S = 10.0
"""A silent neighbour is noticed within 4.5 s as a rule; then another tree leads on."""
RESORTED_S = 20.0
"""Silence again, two seconds without any tree, and some hosts that may not answer."""
WINDOWS_WATCHED = 4
ANSWER_S_MAX = 60.0
TAIL = 40
SETTLED_S_MAX = 90.0


class Story:
    """Reads what the root publishes, hands it to the checker, and keeps every first answer."""

    def __init__(self, fleet: Fleet, switch: PacketSwitch) -> None:
        self.fleet = fleet
        self.switch = switch
        self.truth = Truth(window_us=WINDOW_US)
        self.checker = Checker(self.truth, DATA_SITES, disorder_s=DISORDER_S)
        self.firsts: dict[int, Envelope] = {}
        """By the start of the window, in microseconds."""
        self.wrong_sums: list[tuple[int, int]] = []
        self.said: list[str] = []
        self._reader = ResultsReader(fleet.state(HOME) / "results" / STREAM)
        self._heard = 0
        self._began_s = time.monotonic()

    def say(self, text: str) -> None:
        self.said.append(f"{time.monotonic() - self._began_s:6.1f} s  {text}")
        print(self.said[-1], flush=True)

    def hear(self) -> None:
        for seq in self._reader.publications(after=self._heard):
            for envelope in self._reader.envelopes(seq):
                table = self._reader.answer(seq, envelope)
                rows = [] if table is None else table.select(["id", "n", "total"]).to_pylist()
                self.checker.hear(Answer(envelope, [(row["id"], row["n"]) for row in rows]))
                self.wrong_sums += [
                    (row["id"], row["total"])
                    for row in rows
                    if row["total"] != row["id"] * row["n"]
                ]
                self.firsts.setdefault(envelope.start_us, envelope)
            self._heard = seq

    def await_firsts(self, *, from_s: float, count: int) -> list[Envelope]:
        """The first answers of so many windows, from the first that begins after ``from_s`` on."""
        start_us = -(-int(from_s * 1e6) // WINDOW_US) * WINDOW_US
        starts = [start_us + number * WINDOW_US for number in range(count)]

        def are_there() -> bool:
            self.hear()
            return all(start in self.firsts for start in starts)

        def why_not() -> str:
            return f"no first answers; the newest: {self.tail()}\n{self.fleet.evidence()}"

        bound_s = max(0.0, starts[-1] / 1e6 - time.time()) + ANSWER_S_MAX
        await_that(are_there, bound_s, why_not=why_not)
        return [self.firsts[start] for start in starts]

    def await_whole(self, *, since_s: float) -> None:
        """Two windows in a row, from ``since_s`` on, whose first answers cover all sites."""

        def are_whole() -> bool:
            self.hear()
            newest = self.since(since_s)[-2:]
            return len(newest) == 2 and not any(map(absent_in, newest))

        def why_not() -> str:
            return f"first answers lack sites: {self.tail()}\n{self.fleet.evidence()}"

        await_that(are_whole, ANSWER_S_MAX, why_not=why_not)
        self.say(f"whole for all sites; last window without: {self.lacking_s(since_s, set())}")

    def since(self, since_s: float) -> list[Envelope]:
        """First answers of windows that end after this, in order."""
        return [one for _, one in sorted(self.firsts.items()) if one.end_us > since_s * 1e6]

    def lacking_s(self, since_s: float, absent: set[str]) -> str:
        """Which window after ``since_s`` was the last whose first answer lacked others."""
        lacking = [one for one in self.since(since_s) if absent_in(one) - absent]
        if not lacking:
            return "none"
        return f"from {lacking[-1].start_us / 1e6 - since_s:.1f} s on, {len(lacking)} in all"

    def detours(self, name: str) -> int:
        """Summaries that an agent has sent by other ways than their tree."""
        return sum(count for stage, count in self.fleet.sent_by(name).items() if stage != SAME)

    def tail(self) -> str:
        """The newest first answers, for a report."""
        return "\n".join(
            f"window {start_us}: {envelope.covered} of {envelope.expected}, {envelope.trigger}, "
            f"missing {[(one.site, str(one.state)) for one in envelope.missing]}"
            for start_us, envelope in sorted(self.firsts.items())[-TAIL:]
        )


def absent_in(envelope: Envelope) -> set[str]:
    """The sites of which nothing is in."""
    return {missing.site for missing in envelope.missing if missing.state in ABSENT}


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """All agents ready, in their namespaces."""
    try:
        with open_namespaces(LINES) as namespaces:
            fleet = Fleet(tmp_path / "federation", namespaces)
            fleet.lay_out()
            try:
                story = Story(fleet, namespaces.switch)
                fleet.start(*LINES)
                story.say("all agents are ready")
                yield story
            finally:
                fleet.close()
    except Unavailable as reason:
        pytest.skip(f"no network namespaces here: {reason}")


@contextmanager
def writing(story: Story) -> Iterator[None]:
    """Numbered records at every site with data, until the block ends."""
    writers = [
        Writer(site, story.fleet.data(site), story.truth, lines_per_s=10.0, seed=1)
        for site in DATA_SITES
    ]
    for writer in writers:
        writer.start()
    try:
        yield
    finally:
        for writer in writers:
            writer.stop()


def install(story: Story) -> int:
    """Returns the start of the first window."""
    statements = story.fleet.directory / "numbered.sql"
    statements.write_text(SQL)
    (installed,) = story.fleet.headwater("run", statements)
    assert installed["sites"] == len(DATA_SITES)
    return round(datetime.fromisoformat(installed["begin"]).timestamp() * 1e6)


def install_without_neighbours(story: Story) -> int:
    """A generator that can reach none of those with whom it shares links of the federation's trees
    hears of the query from somebody else."""
    neighbours = {one: story.fleet.neighbours_of(one) for one in GENERATORS}
    lonely = min(GENERATORS, key=lambda one: len(neighbours[one]))
    for neighbour in neighbours[lonely]:
        story.switch.part(lonely, neighbour)
    first_us = install(story)
    heard_s = await_that(
        lambda: bool(story.fleet.installed(lonely)),
        RESORTED_S,
        why_not=lambda: f"{lonely} has no query\n{story.fleet.evidence()}",
    )
    lost = sorted(neighbours[lonely])
    story.say(f"parted {lonely} from {lost}: it has the query after {heard_s:.1f} s")
    story.switch.heal()
    return first_us


def parents(story: Story) -> list[dict[str, str]]:
    """For each tree of the query who sends to whom, as the root has it on its disk."""
    (command,) = story.fleet.installed(HOME)
    name = {site.ordinal: site.name for site in story.fleet.roster.sites}
    return [{name[child]: name[up] for child, up in tree.parents} for tree in command.trees]


def victims(trees: list[dict[str, str]]) -> tuple[str, str]:
    """A relay to kill and a generator to cut off: inner nodes of several trees, the busiest whose
    loss leaves everybody else with data a way over some trees."""
    pairs = [
        (relay, generator)
        for relay in RELAYS
        for generator in GENERATORS
        if all(sum(one in tree.values() for tree in trees) >= 2 for one in (relay, generator))
        and all(has_way(one, trees, {relay, generator}) for one in DATA_SITES if one != generator)
    ]
    assert pairs, f"no two inner nodes can be lost at once in {trees}"
    return max(pairs, key=lambda pair: sum(up in pair for tree in trees for up in tree.values()))


def has_way(site: str, trees: list[dict[str, str]], lost: set[str]) -> bool:
    """Whether parents lead to the root without those that are lost."""
    seen = [site]
    for one in seen:
        if one == HOME:
            return True
        above = {tree[one] for tree in trees} - lost
        seen += sorted(above - set(seen))
    return False


def loneliest(trees: list[dict[str, str]], lost: set[str]) -> str:
    """A living generator that is nobody else's way up, so that it alone is hit."""
    living = [one for one in LINES if one not in lost]
    ways = {tree[one] for tree in trees for one in living if one != HOME}
    found = [one for one in GENERATORS if one in living and one not in ways]
    assert found, f"everyone left is somebody's parent in {trees}"
    return found[0]


@pytest.mark.processes
@pytest.mark.timeout(400)
def test_answers_stay_whole_for_the_living_while_inner_nodes_die(story: Story) -> None:
    with writing(story):
        first_us = install_without_neighbours(story)
        story.await_whole(since_s=first_us / 1e6)
        trees = parents(story)
        killed, cut = victims(trees)
        lose_inner_nodes(story, killed, cut)
        lose_all_parents(story, trees, killed, cut)
        heal(story, killed)
    settle(story, first_us)


def lose_inner_nodes(story: Story, killed: str, cut: str) -> None:
    """The other trees lead on."""
    living = [one for one in LINES if one not in (killed, cut)]
    detours = sum(map(story.detours, living))
    struck_s = time.time()
    story.fleet.kill(killed)
    story.switch.cut(cut)
    story.say(f"killed {killed}, cut {cut} off")
    after = story.await_firsts(from_s=struck_s + REROUTED_S, count=WINDOWS_WATCHED)
    story.say(f"last window without some of the living: {story.lacking_s(struck_s, {cut})}")
    assert [absent_in(one) for one in after] == [{cut}] * len(after), story.tail()
    assert {one.covered for one in after} == {len(DATA_SITES) - 1}, story.tail()
    detours = sum(map(story.detours, living)) - detours
    story.say(f"{detours} summaries left their tree")
    assert detours, "no summary ever needed another tree"


def lose_all_parents(story: Story, trees: list[dict[str, str]], killed: str, cut: str) -> None:
    """No tree leads on for one of the living: it finds a host outside of its trees."""
    lonely = loneliest(trees, {killed, cut})
    left = {tree[lonely] for tree in trees} - {killed, cut}
    parted_s = time.time()
    for parent in left:
        story.switch.part(lonely, parent)
    story.say(f"parted {lonely} from its last parents: {sorted(left)}")
    after = story.await_firsts(from_s=parted_s + RESORTED_S, count=WINDOWS_WATCHED)
    story.say(f"last window without some of the living: {story.lacking_s(parted_s, {cut})}")
    assert [absent_in(one) for one in after] == [{cut}] * len(after), story.tail()
    lacked = {one for envelope in story.since(parted_s) for one in absent_in(envelope)}
    assert lonely in lacked, f"{lonely} was never missed: it has lost nothing\n{story.tail()}"
    assert story.fleet.sent_by(lonely)[RESORT], f"{lonely} found another way"


def heal(story: Story, killed: str) -> None:
    """All come back."""
    assert story.switch.lost_to_cuts, "the cuts have stopped nothing"
    healed_s = time.time()
    story.switch.heal()
    story.fleet.start(killed)
    story.await_whole(since_s=healed_s)


def settle(story: Story, first_us: int) -> None:
    """Every window becomes exact and final, and nothing was in twice or too much at any time."""
    until_us = int(time.time()) * 1_000_000 // WINDOW_US * WINDOW_US

    def is_settled() -> bool:
        story.hear()
        return story.checker.is_settled(first_us=first_us, until_us=until_us)

    def why_not() -> str:
        verdict = story.checker.settle(first_us=first_us, until_us=until_us)
        return f"{verdict.text()}\n{story.fleet.evidence()}"

    took_s = await_that(is_settled, SETTLED_S_MAX, why_not=why_not)
    verdict = story.checker.settle(first_us=first_us, until_us=until_us)
    story.say(f"all final {took_s:.1f} s after the last record\n{verdict.text()}")
    assert verdict.is_safe, verdict.text()
    assert verdict.is_live, verdict.text()
    assert verdict.partial, "a run in which nobody was ever missed shows nothing"
    assert verdict.grown, "nothing was ever repaired"
    assert not story.wrong_sums
