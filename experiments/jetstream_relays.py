"""What thinning saves on the root's link, through the code that sites and relays run.

16 sites of reddit under one relay, whose link into the root is too narrow. In each window a site
keeps back by its part of the bound (``withhold``), the relay merges what it has been sent and thins
it by the other part as the piece leaves (``TimeSpaceList``, ``Thinning``), and what leaves is
packed as on the wire. Without a share of its own the relay sends all that it has merged, and sites
have the whole bound.

How far the answer may be off is what it would state, in parts of what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from experiments.common import print_table, timed, write_csv
from experiments.heintz.sites import sited
from experiments.jetstream_top import Site, joined, sites_of
from headwater.algebra.capacity.packed_size import packed_size
from headwater.algebra.coverage import Coverage
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.remainder import Remainders
from headwater.algebra.remainders.thin import joined as lacking
from headwater.algebra.remainders.tolerance import Tolerance, ToleratedColumn
from headwater.algebra.remainders.withhold import Allowance, withhold
from headwater.algebra.route import Route
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.summary import Summary
from headwater.overlay.carry.thinning import Thinning
from headwater.overlay.carry.time_space_list import TimeSpaceList
from headwater.overlay.commands.live_query import LiveQuery, ThinnedBy, TreeSet
from headwater.overlay.config import OverlayConfig
from headwater.overlay.tray import Tray
from headwater.overlay.ways.staged_policy import Hop
from headwater.overlay.ways.tree_place import TreePlace
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import SettingsBook

SITES = 16
ALL = (1 << SITES) - 1
BOUNDS = (0.001, 0.01)
RELAYS = (0.0, 0.5, 0.9)
"""Which part of the bound is the relay's."""


class Layout(msgspec.Struct, frozen=True):
    keys: tuple[Column, ...] = (Column("key", "bigint"),)
    partials: tuple[Partial, ...] = (Partial("n", "double", "sum"),)


MERGER = ArrowMerger(Layout())


class Row(NamedTuple):
    bound: str
    relays: float
    groups: float
    """That leave the relay; the median over windows, as all that follow."""
    bytes: float
    of_without: float
    """Bytes ÷ those without a share of relays."""
    reached: float
    """How far the answer may be off ÷ what was asked."""


class Relay:
    """One that waits for all sites; its link is always too narrow."""

    def __init__(self, tolerance: Tolerance) -> None:
        place = TreePlace("root", (), level=1, awaited=ALL, patience=1.0)
        by = ThinnedBy(SettingsBook(Settings(tolerance=tolerance)), ("key",), 60.0)
        plans = (TreeSet(0, (), (place,)),)
        self.query = LiveQuery("q@root#1", "root", False, plans, ALL, MERGER, thinned_by=by)
        tray = Tray(notice_every_s=1.0)
        thinning = Thinning(lambda *_: 1e9, tray, worth_s=0.5)
        self.list = TimeSpaceList(
            OverlayConfig(),
            self,  # type: ignore[arg-type]
            tray,
            thinning=thinning,
        )

    def next_hop(self, _: str, route: Route, __: int, *, now_s: float) -> Hop:
        return Hop("root", route, "same tree")

    def left(self, summaries: list[Summary]) -> Summary:
        found: list[tuple[Hop, Summary]] = []
        for one in summaries:
            found += self.list.insert(one, self.query, birth_s=0.0, now_s=0.0)
        ((_, piece),) = found
        return piece


def asked(bound: float, relays: float) -> Tolerance:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, bound)
    return Tolerance((column,), relays=relays or msgspec.UNSET)


def sent(site: Site, ordinal: int, tolerance: Tolerance) -> Summary:
    table = pa.table({"key": site.keys, "n": site.values.astype(float)}, schema=MERGER.schema)
    kept = withhold(table, Allowance(tolerance.at_sites(), 1, keys=("key",)))
    told: Remainders = () if kept is None else kept.remainders
    coverage = msgspec.structs.replace(Coverage.of_whole(ordinal, 1), withheld=told)
    return Summary("q@root#1", 0, coverage, table if kept is None else kept.sent)


def of_window(sites: list[Site], tolerance: Tolerance) -> tuple[int, int, float]:
    """Groups, bytes, and how far off of all, on the root's link."""
    summaries = [sent(site, n, tolerance) for n, site in enumerate(sites)]
    piece = Relay(tolerance).left(summaries)
    coverage = piece.coverage
    (told,) = lacking(coverage.withheld, [coverage.thinned]) or (None,)
    total = float(sum(site.values.sum() for site in sites))
    off = 0.0 if told is None else told.largest / total
    return piece.rows.num_rows, packed_size(piece.rows), off


def rows() -> Iterator[Row]:
    windows = [sites_of(one) for one in joined(sited("reddit by feed", SITES), 1)]
    for bound in BOUNDS:
        without = 0.0
        for relays in RELAYS:
            tolerance = asked(bound, relays)
            found = np.array([of_window(sites, tolerance) for sites in windows])
            groups, size, off = (float(median(column)) for column in found.T)
            without = without or size
            assert found[:, 2].max() <= bound * (1 + 1e-6), "the bound is kept in each window"
            yield Row(f"{bound:.1%}", relays, groups, size, size / without, off / bound)


def main() -> None:
    with timed("16 sites of reddit under one relay"):
        found = list(rows())
    cells = [[f"{one:.3g}" if isinstance(one, float) else one for one in row] for row in found]
    write_csv("jetstream_relays", Row._fields, cells)
    print_table(Row._fields, cells)


if __name__ == "__main__":
    main()
