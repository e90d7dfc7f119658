"""Commands that make and end queries, numbered by the site that gives them."""

import msgspec

from headwater.plan.query import Query, QueryId
from headwater.plan.tree import Tree


class Install(msgspec.Struct, frozen=True, tag=True):
    """A query and the trees that its summaries travel on."""

    query: Query
    trees: tuple[Tree, ...]
    roster_version: int
    plan_version: int = 0
    age_s: float = 0.0
    """Since the installer gave it; grows on the way."""
    root_clock_s: float | None = None
    """What the root's clock showed then. With the age it tells a site that hears nothing else how
    far its own clock is off (Mortar, section 5)."""


class Remove(msgspec.Struct, frozen=True, tag=True):
    id: QueryId
    """The query that ends."""
    installer: str
    counter: int
    """The number of this command in its installer's own count."""


Command = Install | Remove
