"""What a relay leaves out, and of what: merged pieces, before a narrow link into the root."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest

from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Threshold, Tolerance, ToleratedColumn
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.summary import Lane, Summary
from headwater.overlay.carry.thinning import Thinning
from headwater.overlay.carry.time_space_list import TimeSpaceList
from headwater.overlay.commands.live_query import LiveQuery, ThinnedBy, TreeSet
from headwater.overlay.config import OverlayConfig
from headwater.overlay.tray import Tray
from headwater.overlay.ways.staged_policy import Hop
from headwater.overlay.ways.tree_place import TreePlace
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook

HITS = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.2)
TOLERANCE = Tolerance((HITS,), Finally.EXACT, relays=0.5)
"""Of a piece of 100 hits a relay drops groups of at most 10."""
PANE_S = 5.0


class Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...] = (Column("k", "string"),)
    partials: tuple[Partial, ...] = (Partial("n", "bigint", "sum"),)


MERGER = ArrowMerger(Layout())


class Relay:
    """It waits for sites 0 and 1; what waits for the link needs ``waits_s``."""

    def __init__(
        self,
        tolerance: Tolerance = TOLERANCE,
        *,
        hop: str = "root",
        waits_s: float = 10.0,
        changes: tuple[Numbered, ...] = (),
    ) -> None:
        place = TreePlace(hop, (), level=1, awaited=0b11, patience=0.5)
        book = SettingsBook(Settings(tolerance=tolerance), changes)
        self.query = LiveQuery(
            "q@root#1",
            "root",
            False,
            (TreeSet(0, (), (place,)),),
            0b1111,
            MERGER,
            thinned_by=ThinnedBy(book, ("k",), PANE_S),
            sends_early=True,
        )
        self.hop = hop
        self.tray = Tray(notice_every_s=0.0)
        thinning = Thinning(lambda *_: waits_s, self.tray, worth_s=0.5)
        self.list = TimeSpaceList(OverlayConfig(), self, self.tray, thinning=thinning)

    def next_hop(self, _: str, route: object, __: int, *, now_s: float) -> Hop:
        return Hop(self.hop, route, "same tree")  # type: ignore[arg-type]

    def insert(self, *sites: int, pane: int = 0, **counts: int) -> list[Summary]:
        """Of each site one summary; what leaves."""
        left: list[Summary] = []
        for site in sites:
            left += self.put(summary(site, pane=pane, **counts))
        return left

    def put(self, one: Summary) -> list[Summary]:
        return [s for _, s in self.list.insert(one, self.query, birth_s=0.0, now_s=0.0)]


def summary(site: int, *, pane: int = 0, lane: Lane = Lane.LIVE, **counts: int) -> Summary:
    rows = {"k": list(counts), "n": list(counts.values())}
    table = pa.table(rows, schema=MERGER.schema)
    return Summary("q@root#1", pane, Coverage.of_whole(site, 7), table, lane)


def counts_of(one: Summary) -> dict[str, int]:
    return dict(zip(one.rows["k"].to_pylist(), one.rows["n"].to_pylist(), strict=True))


def test_small_groups_of_a_merged_piece_are_left_out_and_told_before_a_narrow_link_into_the_root():
    relay = Relay()
    (left,) = relay.insert(0, 1, a=40, b=6, c=4)
    assert counts_of(left) == {"a": 80, "b": 12}
    (told,) = left.coverage.thinned
    assert (told.largest, told.total, told.keys, told.of) == (8.0, 8.0, 1, 100.0)
    assert left.coverage.whole == 0b11
    assert relay.tray.noted == {"thinned": 1, "thinned groups": 1}


@pytest.mark.parametrize(
    "relay",
    [
        Relay(waits_s=0.4),
        Relay(hop="another relay"),
        Relay(msgspec.structs.replace(TOLERANCE, relays=msgspec.UNSET)),
        Relay(msgspec.structs.replace(TOLERANCE, threshold=Threshold("n")), waits_s=PANE_S),
    ],
    ids=["wide enough", "not into the root", "nothing is left to relays", "it fits into a pane"],
)
def test_all_leaves_where_nothing_may_or_need_be_left_out(relay: Relay):
    (left,) = relay.insert(0, 1, a=40, b=6, c=4)
    assert counts_of(left) == {"a": 80, "b": 12, "c": 8}
    assert not left.coverage.thinned


def test_a_threshold_is_for_a_link_that_does_not_keep_up():
    threshold = msgspec.structs.replace(TOLERANCE, threshold=Threshold("n"))
    (left,) = Relay(threshold, waits_s=PANE_S + 0.1).insert(0, 1, a=40, b=6, c=4)
    assert left.coverage.thinned


def test_each_group_that_is_left_out_is_counted():
    relay = Relay()
    relay.insert(0, 1, a=40, b=2, c=4, d=4)
    assert relay.tray.noted == {"thinned": 1, "thinned groups": 3}


def test_what_one_site_has_signed_leaves_as_it_is():
    relay = Relay()
    relay.insert(0, a=90, b=1)
    (left,) = [one for _, one in relay.list.tick(now_s=20.0)]
    assert counts_of(left) == {"a": 90, "b": 1}
    (spare,) = relay.put(summary(1, lane=Lane.SPARE, a=90, b=1))
    assert counts_of(spare) == {"a": 90, "b": 1}
    assert not left.coverage.thinned
    assert not spare.coverage.thinned


def test_nothing_is_thinned_twice():
    """A bound would be used up twice: it comes back from a link that was lost, and goes another
    way."""
    relay = Relay()
    (once,) = relay.insert(0, 1, a=90, b=9)
    (again,) = relay.put(once)
    assert again.rows.equals(once.rows)
    assert again.coverage == once.coverage
    other = summary(2, a=10, c=1)
    wider = Relay()
    wider.query = msgspec.structs.replace(
        wider.query, tree_sets=(TreeSet(0, (), (TreePlace("root", (), 1, 0b111, 0.5),)),)
    )
    assert not wider.put(other)
    (both,) = wider.put(once)
    assert counts_of(both)["c"] == 1, "a part of it is thinned already"
    assert both.coverage.thinned == once.coverage.thinned


def test_what_leaves_before_the_close_leaves_whole():
    relay = Relay()
    for site in (0, 1):
        early = Coverage.of_group(site, 7, updates=((1, 1),), closed_at=None)
        left = relay.put(msgspec.structs.replace(summary(site, a=90, b=1), coverage=early))
    assert counts_of(left[0]) == {"a": 180, "b": 2}
    assert not left[0].coverage.thinned


def test_settings_say_from_which_pane_on_how_much_may_be_left_out():
    less = msgspec.structs.replace(TOLERANCE, columns=(msgspec.structs.replace(HITS, size=0.02),))
    relay = Relay(changes=(Numbered(1, 5, Settings(tolerance=less)),))
    (before,) = relay.insert(0, 1, pane=4, a=40, b=6, c=4)
    (after,) = relay.insert(0, 1, pane=5, a=40, b=6, c=4)
    assert before.coverage.thinned
    assert not after.coverage.thinned


def test_rows_that_can_not_be_looked_at_leave_whole_and_that_is_told():
    relay = Relay()
    relay.query = msgspec.structs.replace(
        relay.query, thinned_by=ThinnedBy(relay.query.thinned_by.settings, ("no such",), PANE_S)
    )
    (left,) = relay.insert(0, 1, a=40, b=6)
    assert counts_of(left) == {"a": 80, "b": 12}
    assert relay.tray.noted == {"thin-failed": 1}


def test_the_list_holds_no_bytes_of_what_has_left():
    relay = Relay()
    relay.insert(0, 1, a=40, b=6, c=4)
    assert relay.list.size_bytes == 0
