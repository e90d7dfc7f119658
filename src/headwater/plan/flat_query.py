"""A query with its program as it is signed, travels and lies on disk: one value, in this order.

It is older than the two that are made of it, and bytes that were signed or kept stay what they
are. So this is the only place that knows both shapes.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from headwater.algebra.demand import Demand
from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.tolerance import Tolerance
from headwater.algebra.rows.bounded import Bounded
from headwater.algebra.rows.columns import FirstRows, Folding, Partial
from headwater.algebra.windows.sequence_grid import SequenceGrid
from headwater.algebra.windows.sessions import Sessions
from headwater.plan.altered.link_share import LinkShare
from headwater.plan.degrading.companion import Companion
from headwater.plan.degrading.degradation import Degradation
from headwater.plan.needs import Needs
from headwater.plan.part import Part
from headwater.plan.program import Places, Program
from headwater.plan.query import Keep, Query, QueryId, Rounds, Shed, Sites, TimeKind, Timing
from headwater.plan.questions.ask import Ask
from headwater.plan.sources.source import COLUMNS_MAX, Columns, Options, Source


class FlatQuery(msgspec.Struct, frozen=True):
    """The fields of ``Query`` and ``Program``, which say what they are."""

    id: QueryId
    text: str
    source: Source
    window: WindowSpec
    keys: Columns
    partials: Annotated[tuple[Partial, ...], Meta(max_length=COLUMNS_MAX)]
    site_sql: str
    root_sql: str
    central_sql: str
    columns_used: Annotated[tuple[str, ...], Meta(max_length=COLUMNS_MAX)]
    output: Columns
    root: str
    sites: Sites = ()
    begin_pane: int | None = None
    ends: bool = False
    time: TimeKind = TimeKind.EVENT
    unit_last: int = 0
    settings: Options = ()
    timing: Timing = Timing()
    part: Part | None = None
    last_n: int | msgspec.UnsetType = msgspec.UNSET
    first: FirstRows | msgspec.UnsetType = msgspec.UNSET
    needs: Needs | msgspec.UnsetType = msgspec.UNSET
    reads_past: bool | msgspec.UnsetType = msgspec.UNSET
    end_pane: int | msgspec.UnsetType = msgspec.UNSET
    bounded: Bounded | msgspec.UnsetType = msgspec.UNSET
    node_set: str | msgspec.UnsetType = msgspec.UNSET
    places: Places | msgspec.UnsetType = msgspec.UNSET
    folding: Folding | msgspec.UnsetType = msgspec.UNSET
    sessions: Sessions | msgspec.UnsetType = msgspec.UNSET
    sequence: SequenceGrid | msgspec.UnsetType = msgspec.UNSET
    tolerance: Tolerance | msgspec.UnsetType = msgspec.UNSET
    waits: bool | msgspec.UnsetType = msgspec.UNSET
    demand: Demand | msgspec.UnsetType = msgspec.UNSET
    rounds: Rounds | msgspec.UnsetType = msgspec.UNSET
    share: LinkShare | msgspec.UnsetType = msgspec.UNSET
    degradation: Degradation | msgspec.UnsetType = msgspec.UNSET
    companion: Companion | msgspec.UnsetType = msgspec.UNSET
    ask: Ask | msgspec.UnsetType = msgspec.UNSET
    keep_s: Keep | msgspec.UnsetType = msgspec.UNSET
    shed: Shed | msgspec.UnsetType = msgspec.UNSET

    @classmethod
    def of(cls, query: Query) -> FlatQuery:
        fields = _fields(query, Query) | _fields(query.program, Program)
        del fields["program"]
        return cls(**fields)

    def as_written(self) -> FlatQuery:
        """For its bytes alone."""
        if not isinstance(self.tolerance, Tolerance):
            return self
        return msgspec.structs.replace(self, tolerance=self.tolerance.as_written())

    def query(self) -> Query:
        program = Program(**_fields(self, Program))
        return Query(program=program, **_fields(self, Query))


def _fields(of: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Those of its fields that the kind has, too."""
    names = [name for name in kind.__struct_fields__ if name in of.__struct_fields__]
    return {name: getattr(of, name) for name in names}
