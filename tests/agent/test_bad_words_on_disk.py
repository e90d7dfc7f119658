"""An agent starts with all it can start with, whatever words its disk has."""

from __future__ import annotations

from pathlib import Path

import msgspec
from query_kit import changed, queries_in

from headwater.agent.stores import SiteStores
from headwater.algebra.rows.columns import Column
from headwater.overlay.outputs import CommandAccepted
from headwater.plan.command import Install
from headwater.plan.tree import Tree

TEXT = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING) WITH (format = 'csv', path = 'a', time = 'ts');
CREATE STREAM by_domain AS
SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '5 seconds'), domain;
"""


def test_stores_open_beside_a_query_whose_rows_nobody_can_tell(tmp_path: Path) -> None:
    good = queries_in(TEXT, at="oslo")[0]
    bad = changed(
        good,
        id=msgspec.structs.replace(good.id, name="bad", counter=2),
        keys=(Column("domain", "cheese"),),
    )
    stores = SiteStores(tmp_path, site="oslo", clock=lambda: 1000.0)
    tree = Tree(0, ((1, 0),))
    stores.commands.write(
        [
            CommandAccepted(Install(query=query, trees=(tree,), roster_version=1), ())
            for query in (good, bad)
        ]
    )
    stores.close()
    stores = SiteStores(tmp_path, site="oslo", clock=lambda: 1001.0)
    assert stores.book.schema(str(good.id)) is not None
    assert stores.book.schema(str(bad.id)) is None
    stores.close()
