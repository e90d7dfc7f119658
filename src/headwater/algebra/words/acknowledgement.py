"""What the root holds, told to the sites: the acknowledgement is the request.

A site re-sends an update only when an acknowledgement that was made more than ``summary_life_s``
after the sending lacks it, so there are no retransmission timers, and what is not listed is not
asked for. A pane is listed in one of three ways, and an acknowledgement may leave panes out (they
come with a later one)::

    done_through   everything below: final or past the horizon; not wanted any more
    held           ranges of panes of which all that is known to be closed is in, from every
                   expected site
    panes          one by one: the sites of which all that is known to be closed is in, as a bitmap

Beside these stands what nobody needs to send, whether it is held or not::

    unwanted       ranges of panes above ``done_through`` of which every window has enough, and is
                   final by it; never taken back in one life of the ledger

``held`` and ``panes`` speak of the updates of a site's *first* close. The root may not have heard
of a later one, so a late update is held if ``rounds`` or ``extra`` lists it, or if there is a bit
and this life of the root has greeted a state that counts that update. (Were the only copy of it
lost, the site would free it, and nobody would ask again.)

``rounds`` tells what is held of a site that has no bit, by bitmaps: early updates of panes that are
open, and closes of which some are lacking. ``extra`` spells it out, for a life that the root has
not heard of, and for agents of before, who believe a bit of a first update and ``extra`` of all
others. Their roots set bits in that sense, so whether there are bits that speak of several updates
is said (``tells_several``).

``listed`` is the range of its word: a pane in there that stands neither in ``held`` nor in
``panes`` is held from nobody. Without it a site whose only copy was lost on the way, of a pane
that no other site has rows for, would never be asked: the root has not heard of that pane.

What is true for everybody is the *head*; the root signs it. What is said of single sites stands in
*leaves*, each of which covers ``LEAF_SITES`` ordinals, and of which the head has the digests::

    head    order, done_through, held, listed, clocks, digests of the leaves
    leaf    of its sites: bits of panes, rounds, extras, greetings

So a relay hands on the head with those leaves that somebody below needs, and nobody has to believe
it: at 10,000 sites a signed whole would be 80 kB on every link. A leaf in which nothing would stand
does not exist, and the head says which do (``filled``). A site whose leaf exists and was not handed
on is told nothing of what is lacking.
"""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.sets import bitset
from headwater.algebra.sets.interval_set import IntervalSet
from headwater.algebra.sets.ranges import Ranges
from headwater.algebra.top.request import TopRequest
from headwater.algebra.words.close_digest import Asked
from headwater.algebra.words.pause import Pause
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import FOREVER

LIFE_BITS = 32
"""Acknowledgements are counted from the number of the ledger's start, which is durable, followed by
so many zeros: those of a root that was started again are higher than those of its former process,
which relays remember. No clock has a say in it."""
LEAF_SITES = 256
"""Ordinals that a leaf covers. Fewer make more digests in every head, more make longer leaves; most
members of a tree have nobody below them, and get one."""
_LEAF_BITS = bitset.below(LEAF_SITES)


class PaneHeld(msgspec.Struct, frozen=True, array_like=True):
    pane: int
    sites: int
    """A bitset: all that is known to be closed is held, or the root knows it is declined. In a leaf
    the lowest bit is the first site of the leaf."""


class RoundsHeld(msgspec.Struct, frozen=True, array_like=True):
    """Updates first … last of the pane are held of these sites, in the life that was greeted."""

    pane: int
    first: int
    last: int
    sites: int
    """A bitset, in a leaf as that of ``PaneHeld``."""


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
    """What the clock of the site's former life would show when this was made. The records that it
    had stamped by then are lost with it, also where the clock is an earlier one now."""


class AckLeaf(msgspec.Struct, frozen=True):
    """What is said of the sites with the ordinals from ``number * LEAF_SITES`` on."""

    number: int
    panes: tuple[PaneHeld, ...] = ()
    """Those of which something is held from these sites, rising."""
    extra: tuple[ExtraHeld, ...] = ()
    greetings: tuple[Greeting, ...] = ()
    rounds: tuple[RoundsHeld, ...] = ()
    word: bytes = b""
    """As the root wrote it, if it signs: what the digest is of, and what is handed on."""


class Acknowledgement(msgspec.Struct, frozen=True):
    """A head, with as many of its leaves as are at hand."""

    query: str
    root_incarnation: int
    number: int
    """Counted: higher than all that this life of the root's ledger has made before."""
    done_through: int
    held: Ranges = ()
    listed: Ranges = ()
    """Panes on which this acknowledgement is complete; it lacks what it does not list of them."""
    age_s: float = 0.0
    """Since it was made; grows by holding and by travelling."""
    sites_clock_s: float | None = None
    """What the sites' clocks showed when it was made, in the middle, as they told the root; None:
    they have not. No single clock, nor the root's, can move it far."""
    late_s: float = 0.0
    """For how long, at most, something may have waited unheard at the root, or this at those who
    handed it on, because they were busy. Nothing that was sent so much later than ``age_s`` tells
    is known to be lost."""
    clock_s: float | None = None
    """What the root's steady clock showed when it was made: that of one life of its process."""
    filled: int = 0
    """The numbers of the leaves that there are, as a bitset."""
    digests: tuple[bytes, ...] = ()
    """Theirs, in rising order; none where nobody signs."""
    agreed: tuple[PaneHeld, ...] = ()
    """Of these sites the root holds what their digests say, in all panes below, or knows where it
    does not. Sites that are not named have not more than they were told before."""
    asked: tuple[Asked, ...] = ()
    """Of these sites it wants to know each close: a digest differs."""
    wanted: tuple[PaneHeld, ...] = ()
    """Of these panes it wants these sites' own updates, alone and signed: what it holds is not
    what one of them has closed."""
    awaited_from: int | None = None
    """The lowest pane that the root awaits from sites that catch up on the past; None: none."""
    tells_several: bool = False
    """Bits and ``held`` speak of all updates of a first close, of panes that have several, too."""
    shares: tuple[ShareTable, ...] = ()
    """Of absolute bounds, the newest that were dealt out, by their panes; none: none move."""
    travel_s: float | None = None
    """How old live summaries are on arrival, all but one in twenty; None: not known, or of no use
    to the query's sites."""
    unwanted: Ranges = ()
    """Panes that no window of the query wants any more, because each of theirs has enough. Sites
    make, cut and send nothing of them, relays let go of what they carry."""
    largest: tuple[TopRequest, ...] = ()
    """What it wants to know of further groups, of panes of which it looks for the largest."""
    pause: Pause | None = None
    """The youngest pane that the root takes, for want of memory; None: it takes all."""
    exempt_through: int = FOREVER
    """The last pane of the oldest window without an answer: up to there no pause holds anything
    back, whoever says it. ``FOREVER``: not told, so none holds anything back; ``NO_PANE``: no
    window is without an answer."""
    proof: Proof | None = None
    """That the root has said the head: all but ``age_s`` and ``late_s``, which grow on the way, and
    the leaves, which have digests."""
    leaves: tuple[AckLeaf, ...] = ()
    """Those at hand."""

    @property
    def life(self) -> tuple[int, int]:
        """Which life of which ledger said this: a later one compares as larger."""
        return self.root_incarnation, self.number >> LIFE_BITS

    @property
    def order(self) -> tuple[int, int]:
        """What makes it another one: a root says one thing under one number."""
        return self.root_incarnation, self.number

    def leaf_of(self, ordinal: int) -> AckLeaf | None:
        """What is said of this site; None: it was not handed on."""
        number = ordinal // LEAF_SITES
        if not self.filled >> number & 1:
            return AckLeaf(number)
        return next((leaf for leaf in self.leaves if leaf.number == number), None)

    def digest_of(self, number: int) -> bytes | None:
        """None: there is no such leaf, or nobody has signed what it is."""
        place = (self.filled & bitset.below(number)).bit_count()
        is_there = self.filled >> number & 1 and place < len(self.digests)
        return self.digests[place] if is_there else None

    # All that is said of sites in the leaves at hand, in one, for whoever looks on.

    @property
    def panes(self) -> tuple[PaneHeld, ...]:
        """With bits by ordinal."""
        found: dict[int, int] = {}
        for leaf in self.leaves:
            for held in leaf.panes:
                bits = held.sites << leaf.number * LEAF_SITES
                found[held.pane] = found.get(held.pane, 0) | bits
        return tuple(PaneHeld(pane, bits) for pane, bits in found.items())

    @property
    def extra(self) -> tuple[ExtraHeld, ...]:
        return tuple(extra for leaf in self.leaves for extra in leaf.extra)

    @property
    def rounds(self) -> tuple[RoundsHeld, ...]:
        """With bits by ordinal; what the same is said of in several leaves stays apart."""
        return tuple(
            msgspec.structs.replace(held, sites=held.sites << leaf.number * LEAF_SITES)
            for leaf in self.leaves
            for held in leaf.rounds
        )

    @property
    def greetings(self) -> tuple[Greeting, ...]:
        return tuple(greeting for leaf in self.leaves for greeting in leaf.greetings)


def with_leaves(
    head: Acknowledgement,
    *,
    panes: Iterable[PaneHeld] = (),
    extra: Iterable[ExtraHeld] = (),
    greetings: Iterable[Greeting] = (),
    rounds: Iterable[RoundsHeld] = (),
) -> Acknowledgement:
    """The same head, and this said of single sites. It speaks of all panes that are spelled out,
    also to sites from which it holds nothing of them: ``listed`` has them."""
    leaves: dict[int, _LeafInMaking] = defaultdict(_LeafInMaking)
    listed = IntervalSet(head.listed)
    for held in sorted(panes, key=lambda held: held.pane):
        listed.add(held.pane, held.pane)
        for number, sites in _by_leaf(held.sites):
            leaves[number].panes.append(PaneHeld(held.pane, sites))
    for several in rounds:
        for number, sites in _by_leaf(several.sites):
            leaves[number].rounds.append(msgspec.structs.replace(several, sites=sites))
    for beyond in extra:
        leaves[beyond.ordinal // LEAF_SITES].extra.append(beyond)
    for greeting in greetings:
        leaves[greeting.ordinal // LEAF_SITES].greetings.append(greeting)
    return msgspec.structs.replace(
        head,
        listed=listed.ranges(),
        filled=bitset.of(leaves),
        leaves=tuple(leaf.made(number) for number, leaf in sorted(leaves.items())),
    )


class _LeafInMaking:
    def __init__(self) -> None:
        self.panes: list[PaneHeld] = []
        self.extra: list[ExtraHeld] = []
        self.greetings: list[Greeting] = []
        self.rounds: list[RoundsHeld] = []

    def made(self, number: int) -> AckLeaf:
        said = tuple(self.panes), tuple(self.extra), tuple(self.greetings), tuple(self.rounds)
        return AckLeaf(number, *said)


def leaves_over(sites: int) -> int:
    """The numbers of the leaves that cover these sites, as a bitset.

    >>> bin(leaves_over(1 | 1 << 255 | 1 << 600))
    '0b101'
    """
    return bitset.of(number for number, _ in _by_leaf(sites))


def _by_leaf(sites: int) -> Iterable[tuple[int, int]]:
    """(number, bits in it) of each leaf with any of these sites."""
    number = 0
    while sites:
        if bits := sites & _LEAF_BITS:
            yield number, bits
        sites, number = sites >> LEAF_SITES, number + 1
