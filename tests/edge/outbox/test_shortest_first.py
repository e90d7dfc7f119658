"""Of what could leave together the shortest goes first, since a message is never cut by another."""

from __future__ import annotations

import msgspec
import pytest
from pane_kit import SiteDesk, SiteDisk, make_query

from headwater.edge.outputs import MakeUpdates, UpdatesMade

BYTES = {"long": 90_000, "short": 2_000}


class Disk(SiteDisk):
    """Rows of one query are long."""

    def make_updates(self, wanted: MakeUpdates) -> list[UpdatesMade]:
        size = BYTES[wanted.query.partition("@")[0]]
        return [
            msgspec.structs.replace(one, row_bytes=size) for one in super().make_updates(wanted)
        ]


@pytest.mark.parametrize("names", [("long", "short"), ("short", "long")])
@pytest.mark.parametrize("has_room", [True, False])
def test_a_site_says_first_what_is_short_whichever_query_was_asked_first(
    names: tuple[str, str], has_room: bool
) -> None:
    queries = [make_query(counter=n, name=name) for n, name in enumerate(names, start=1)]
    desk = SiteDesk(0, queries, disk=Disk(1000))
    for pane in (0, 1):
        desk.room = 1 << 20 if has_room else 0
        now_s = 10.0 * pane + 5.0
        for one in queries:
            desk.commit({pane: [7]}, now_s=now_s, query=str(one.id))
        desk.take_said()
        desk.commit(now_s=now_s + 6.0, read_through_s=now_s + 6.0)
        desk.room = 1 << 20
        desk.work(now_s=now_s + 7.0)
        said = [one.query.partition("@")[0] for one in desk.said]
        assert sorted(said) == ["long", "short"]
    assert said == ["short", "long"], "from the second pane on it is known how long they are"
