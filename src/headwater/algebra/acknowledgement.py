"""What the root holds, told to the sites: the acknowledgement is the request.

A site re-sends an update only when an acknowledgement that was cut more than ``summary_life_s``
after the sending lacks it, so there are no retransmission timers, and what is not listed is not
asked for. A pane is listed in one of three ways, and an acknowledgement may leave panes out (they
come with a later one)::

    done_through   everything below: final or past the horizon; not wanted any more
    held           ranges of panes with the first update or empty close of every expected site
    panes          one by one: the sites whose first update or empty close is in, as a bitmap

``extra`` lists what is held beyond a first update. So update *n* > 1 of (pane, site) is held only
if ``extra`` says so.

``listed`` is the range of its word: a pane in there that stands neither in ``held`` nor in
``panes`` is held from nobody. Without it a site whose only copy was lost on the way, of a pane
that no other site has rows for, would never be asked: the root has not heard of that pane.
"""

import msgspec

from headwater.algebra.proof import Proof
from headwater.algebra.ranges import Ranges
from headwater.algebra.site_state import FOREVER


class PaneHeld(msgspec.Struct, frozen=True, array_like=True):
    pane: int
    sites: int
    """A bitset: closed empty, or update 1 is held, or the root knows it is declined."""


class ExtraHeld(msgspec.Struct, frozen=True, array_like=True):
    pane: int
    ordinal: int
    incarnation: int
    updates: Ranges


class Greeting(msgspec.Struct, frozen=True, array_like=True):
    """The root has this site's state up to ``number`` and knows its incarnation."""

    ordinal: int
    incarnation: int
    """The highest that the root knows. A site whose own is lower has lost its disk, and its clock:
    it takes one above this."""
    number: int
    former_through: int = -FOREVER
    """Panes below may be held from former lives of the site, and all that is above can't be."""
    former_clock_s: float | None = None
    """What the clock of the site's former life would show when this was cut. The records that it
    had stamped by then are lost with it, also where the clock is an earlier one now."""


class Acknowledgement(msgspec.Struct, frozen=True):
    query: str
    root_incarnation: int
    number: int
    """Counted: higher than all that this life of the root's ledger has cut before."""
    done_through: int
    held: Ranges = ()
    panes: tuple[PaneHeld, ...] = ()
    extra: tuple[ExtraHeld, ...] = ()
    greetings: tuple[Greeting, ...] = ()
    listed: Ranges = ()
    """Panes on which this acknowledgement is complete; it lacks what it does not list of them."""
    age_s: float = 0.0
    """Since it was cut; grows by holding and by travelling."""
    sites_clock_s: float | None = None
    """What the sites' clocks showed when it was cut, in the middle, as they told the root; None:
    they have not. No single clock, nor the root's, can move it far."""
    late_s: float = 0.0
    """For how long, at most, something may have waited unheard at the root, or this at those who
    handed it on, because they were busy. Nothing that was sent so much later than ``age_s`` tells
    is known to be lost."""
    proof: Proof | None = None
    """That the root has said this, all but ``age_s`` and ``late_s``, which grow on the way."""
