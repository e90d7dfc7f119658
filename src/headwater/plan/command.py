"""Commands that make and end queries: given by operators, numbered by the site that takes them.

An install is two words. The operator's is the query, the plan's are its trees: the site that took
the command signs the first plan, and the query's root every later one. To an install that is live
further words of operators are added: settings that hold from a pane on (``Alter``).

How far a site has counted is a third one, its own: a ``Count``. It says which of the commands up to
its number are live, so removals need no tombstones and nobody else can say that something was
removed.
"""

import msgspec

from headwater.algebra.words.proof import Proof
from headwater.plan.altered.settings import Settings
from headwater.plan.altered.settings_book import Numbered, SettingsBook
from headwater.plan.query import Query, QueryId
from headwater.plan.tree import Tree


class Alter(msgspec.Struct, frozen=True, tag=True):
    """Other settings for a query that runs, from a pane on. It goes on under its id."""

    id: QueryId
    """The query that it is about."""
    installer: str
    counter: int
    """The number of this command in its installer's own count."""
    number: int
    """Of these settings, among those of the query: 1 for the first that were altered."""
    first_pane: int
    """Before, the former ones hold: the first pane of a window."""
    settings: Settings
    operator: str = ""
    proof: Proof | None = None

    @property
    def order(self) -> tuple[int, str, int]:
        """Of two the higher one holds. Two of one number were given at two sites at once, neither
        of which knew of the other; everybody must choose the same."""
        return self.number, self.installer, self.counter


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
    operator: str = ""
    """Who has commanded it."""
    proof: Proof | None = None
    """The operator's, over the query."""
    plan_proof: Proof | None = None
    """The planner's, over the trees and their version."""
    alters: tuple[Alter, ...] = ()
    """Settings that were commanded since, by number. They lie beside it and travel by themselves,
    each with its own proof: whoever is handed an install with some leaves them alone."""

    @property
    def settings(self) -> SettingsBook:
        changes = (Numbered(one.number, one.first_pane, one.settings) for one in self.alters)
        return SettingsBook(Settings.of(self.query), tuple(changes))

    @property
    def planner(self) -> str:
        """Whose word the trees are."""
        return self.query.root if self.plan_version else self.query.id.installer


class Remove(msgspec.Struct, frozen=True, tag=True):
    id: QueryId
    """The query that ends."""
    installer: str
    counter: int
    """The number of this command in its installer's own count."""
    operator: str = ""
    proof: Proof | None = None


Command = Install | Remove | Alter


class Count(msgspec.Struct, frozen=True):
    """One installer's own word on its commands; a later revision replaces the former one."""

    installer: str
    number: int
    """All its commands up to this one have been given."""
    revision: int
    live: tuple[str, ...] = ()
    """The ids of its queries that are live."""
    ended: tuple[Remove, ...] = ()
    """Queries of other installers that were removed by commands given here, as long as their own
    installers have not said so themselves."""
    altered: tuple[tuple[str, int], ...] = ()
    """(query id, settings number) of the newest settings that were commanded here, of each query
    that is live."""
    proof: Proof | None = None

    @property
    def order(self) -> tuple[int, int, tuple[str, ...], tuple[str, ...]]:
        """Of two words the higher one holds. Two of one revision come from an installer that lost
        its disk; everybody must choose the same."""
        return self.revision, self.number, self.live, tuple(str(one.id) for one in self.ended)
