"""What a site and a root say to each other, as text: two stories, line by line.

A transcript is compared as a whole. When a rule changes on purpose, read the difference before
taking it over.
"""

from __future__ import annotations

from pane_kit import Published, RootDesk, SiteDesk, make_query, make_roster

from headwater.algebra.sets import bitset
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER, SiteState


class Story:
    """Two sites and a root; every message is written down and, unless lost, delivered at once."""

    def __init__(self, **query: object) -> None:
        self.query = make_query(**query)
        self.lines: list[str] = []
        self.sites = [SiteDesk(n, [self.query]) for n in range(2)]
        self.root = RootDesk(self.query, make_roster(2))
        self.losing: set[str] = set()
        self.told: dict[int, int] = {}

    def until(self, end_s: int, *, start_s: int) -> None:
        """Every second all sites poll, and everybody is ticked."""
        for now_s in range(start_s, end_s + 1):
            for site in self.sites:
                site.commit(now_s=float(now_s), read_through_s=float(now_s))
                self.pass_on(site, now_s)
            self.root.work(now_s=float(now_s))
            self.answer(now_s)

    def pass_on(self, site: SiteDesk, now_s: int) -> None:
        for summary in site.take_said():
            if self.write(now_s, f"s{site.ordinal} sends {summary_text(summary)}"):
                self.root.receive(summary, now_s=float(now_s))
        for state in site.take_told():
            if self.write(now_s, f"s{site.ordinal} tells {state_text(state)}"):
                self.root.hear(state, now_s=float(now_s))

    def answer(self, now_s: int) -> None:
        for ack in self.root.take_acks():
            text = ack_text(ack)
            if text is not None:
                self.write(now_s, f"root acknowledges {text}")
            for site in self.sites:
                site.hear(ack, now_s=float(now_s))
                self.pass_on(site, now_s)
        for one in self.news():
            envelope = one.envelope
            words = [word for word in ("exact", "final") if getattr(envelope, word)]
            self.write(
                now_s,
                f"root answers window {envelope.window} r{envelope.revision} "
                f"({envelope.trigger}) {envelope.covered}/{envelope.expected} "
                f"{' '.join(words) or 'inexact'} {list(one.rows)}",
            )

    def news(self) -> list[Published]:
        """Answers that were published since the last time."""
        found = []
        for window, revisions in self.root.published.items():
            found += revisions[self.told.get(window, 0) :]
            self.told[window] = len(revisions)
        return found

    def write(self, now_s: int, text: str) -> bool:
        is_lost = any(text.startswith(start) for start in self.losing)
        self.lines.append(f"{now_s:3} {text}{' -- lost' if is_lost else ''}")
        return not is_lost

    def text(self) -> str:
        return "\n".join(self.lines)


def summary_text(summary: Summary) -> str:
    coverage = summary.coverage
    parts = [f"{p.ordinal}:{list(p.updates)}/{p.closed_at}" for p in coverage.parts]
    whole, empty = list(bitset.members(coverage.whole)), list(bitset.members(coverage.empty))
    parts += [
        f"{list(bitset.members(group.sites))}:{list(group.updates)}/{group.closed_at}"
        for group in coverage.groups
    ]
    cover = [f"whole {whole}"] * bool(whole) + [f"empty {empty}"] * bool(empty) + parts
    return f"pane {summary.pane} {summary.lane} {' '.join(cover)} {summary.rows or '-'}"


def state_text(state: SiteState) -> str:
    sealed = "" if state.sealed_through <= -FOREVER else f" sealed {state.sealed_through}"
    return f"state #{state.number} first {state.first_pane}{sealed} counts {list(state.counts)}"


def ack_text(ack: Acknowledgement) -> str | None:
    panes = [f"{held.pane}:{list(bitset.members(held.sites))}" for held in ack.panes]
    extra = [f"{one.pane}/{one.ordinal}:{list(one.updates)}" for one in ack.extra]
    greeted = [f"s{one.ordinal}#{one.number}" for one in ack.greetings]
    if not (panes or extra or greeted):
        return None
    rounds = [
        f"{one.pane}:{one.first}-{one.last}:{list(bitset.members(one.sites))}" for one in ack.rounds
    ]
    extra = [*rounds, *extra]
    return f"held {list(ack.held)} panes {panes} extra {extra} greets {greeted}"


LOST = """\
  0 s0 tells state #1 first 0 counts []
  0 s1 tells state #1 first 0 counts []
 11 s0 sends pane 0 live whole [0] (10,)
 11 s1 sends pane 0 live whole [1] (20,) -- lost
 11 root acknowledges held [] panes ['0:[0]'] extra [] greets []
 20 root answers window 0 r1 (deadline) 1/2 inexact [10]
 21 root acknowledges held [(1, 1)] panes ['0:[0]'] extra [] greets []
 31 root acknowledges held [(1, 2)] panes ['0:[0]'] extra [] greets []
 41 root acknowledges held [(1, 3)] panes ['0:[0]'] extra [] greets []
 44 s1 sends pane 0 spare 1:[(1, 1)]/1 (20,)
 44 root answers window 0 r2 (revision) 2/2 exact [10, 20]"""

LATE = """\
  0 s0 tells state #1 first 0 counts []
  0 s1 tells state #1 first 0 counts []
 11 s0 sends pane 0 live whole [0] (10,)
 11 s1 sends pane 0 live empty [1] -
 11 root answers window 0 r1 (complete) 2/2 exact [10]
 15 s0 sends pane 0 live [0]:[(2, 2)]/2 (11,)
 15 s0 tells state #2 first 0 counts [(0, 2)]
 15 root answers window 0 r2 (revision) 2/2 exact [10, 11]"""


LATE_LOST = """\
  0 s0 tells state #1 first 0 counts []
  0 s1 tells state #1 first 0 counts []
 11 s0 sends pane 0 live whole [0] (10,)
 11 s1 sends pane 0 live empty [1] -
 11 root answers window 0 r1 (complete) 2/2 exact [10]
 15 s0 sends pane 0 live [0]:[(2, 2)]/2 (11,) -- lost
 15 s0 tells state #2 first 0 counts [(0, 2)]
 15 root acknowledges held [] panes ['0:[1]'] extra ['0/0:[(1, 1)]'] greets ['s0#2']
 15 root answers window 0 r2 (revision) 2/2 inexact [10]
 17 root acknowledges held [] panes ['0:[1]'] extra ['0/0:[(1, 1)]'] greets []
 21 root acknowledges held [(1, 1)] panes ['0:[1]'] extra ['0/0:[(1, 1)]'] greets []
 31 root acknowledges held [(1, 2)] panes ['0:[1]'] extra ['0/0:[(1, 1)]'] greets []
 41 root acknowledges held [(1, 3)] panes ['0:[1]'] extra ['0/0:[(1, 1)]'] greets []
 48 s0 sends pane 0 spare 0:[(2, 2)]/2 (11,)
 48 root answers window 0 r3 (revision) 2/2 exact [10, 11]
 49 root acknowledges held [(1, 3)] panes ['0:[0, 1]'] extra ['0/0:[(1, 2)]'] greets []
 51 root acknowledges held [(1, 4)] panes ['0:[0, 1]'] extra ['0/0:[(1, 2)]'] greets []"""


def about_pane_0(story: Story) -> str:
    """Of acknowledgements only the first that says something new."""
    told: list[str] = []
    for line in story.lines:
        words = line.split(maxsplit=1)[1]
        is_about = any(word in words for word in ("pane 0", "window 0", "'0:", "state"))
        if is_about and not any(known.endswith(words) for known in told):
            told.append(line)
    return "\n".join(told)


def test_a_lost_summary_is_answered_without_and_repaired_by_a_spare():
    story = Story()
    story.until(3, start_s=0)
    story.sites[0].commit({0: [10]}, now_s=5.0)
    story.sites[1].commit({0: [20]}, now_s=5.0)
    story.losing.add("s1 sends pane 0 live")
    story.until(47, start_s=5)
    assert about_pane_0(story) == LOST


def test_a_late_record_makes_a_second_update_and_a_revision():
    story = Story()
    story.until(3, start_s=0)
    story.sites[0].commit({0: [10]}, now_s=5.0)
    story.until(13, start_s=5)
    story.sites[0].commit({0: [11]}, now_s=13.5)
    story.until(18, start_s=14)
    assert about_pane_0(story) == LATE


def test_a_late_update_that_is_lost_is_asked_for_though_its_pane_was_held():
    """The root calls the pane held by the close that it knows. It hears of the later one from the
    site's state, and says so no more."""
    story = Story()
    story.until(3, start_s=0)
    story.sites[0].commit({0: [10]}, now_s=5.0)
    story.until(13, start_s=5)
    story.losing.add("s0 sends pane 0 live [0]:[(2, 2)]/2")
    story.sites[0].commit({0: [11]}, now_s=13.5)
    story.until(55, start_s=14)
    assert about_pane_0(story) == LATE_LOST
