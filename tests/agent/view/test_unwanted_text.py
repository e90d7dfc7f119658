"""What ``headwater streams`` says of panes that a root wants no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from tests.kits.store_kit import query_of

from headwater.agent.runtime import SiteRuntime
from headwater.agent.view.unwanted_text import unwanted_text
from headwater.algebra.sets.ranges import Ranges
from headwater.edge.record import EdgeRecord
from headwater.root.unwanted import UnwantedPanes

QUERY = query_of()


def said(own: Ranges, at_root: UnwantedPanes | None) -> str:
    answers = SimpleNamespace(unwanted_panes=lambda: at_root)
    root = None if at_root is None else SimpleNamespace(answers=answers)
    record = EdgeRecord(first_pane=0, unwanted=own)
    edge = SimpleNamespace(
        progress=lambda: [
            SimpleNamespace(query="other@home#9", record=EdgeRecord(unwanted=((0, 99),))),
            SimpleNamespace(query=str(QUERY.id), record=record),
        ]
    )
    node = SimpleNamespace(root=lambda name: root, edge=edge)
    return unwanted_text(cast(SiteRuntime, SimpleNamespace(node=node, site="oslo")), QUERY)


def test_nothing_is_said_where_all_is_wanted() -> None:
    assert (said((), None), said((), UnwantedPanes())) == ("", "")


def test_a_site_knows_its_own_and_the_root_knows_of_all() -> None:
    own: Ranges = ((3, 5), (8, 8))
    assert said(own, None) == "oslo makes and sends 4 of the newest no more"
    assert said(own, UnwantedPanes(7, (("rome", 2),))) == (
        "7 panes are wanted no more: their windows had enough without rome (2); "
        "oslo makes and sends 4 of the newest no more"
    )
