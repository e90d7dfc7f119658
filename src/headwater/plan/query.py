"""What a query means, as frozen values that travel as data: no code, no pickles.

A statement is split once, by the agent that installs it. Sites and root run the two texts of its
*program* as they are, after checking them; nobody plans again, so all of them run the same
question. How both travel and lie on disk is ``flat_query``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.coverage import EARLY_UPDATES_MAX
from headwater.algebra.demand import Chance, Demand
from headwater.algebra.pane_draw import PaneDraw, pane_draw
from headwater.algebra.panes import MICROS, WindowSpec
from headwater.algebra.remainders.tolerance import Finally, Tolerance
from headwater.algebra.rows.bounded import NOT_BOUNDED, Bounded
from headwater.algebra.rows.columns import Folding, hidden_keys, visible_keys
from headwater.algebra.rows.places import PlaceColumn
from headwater.algebra.windows.sequence_grid import NUMBER_MAX, ROW, SequenceGrid, number_text
from headwater.algebra.windows.sessions import Sessions
from headwater.plan.altered.link_share import EVEN, LinkShare
from headwater.plan.degrading.companion import Companion, plain_fault
from headwater.plan.degrading.degradation import Degradation
from headwater.plan.durations import duration_text, window_text
from headwater.plan.needs import Needs
from headwater.plan.part import Part
from headwater.plan.program import Program
from headwater.plan.questions.ask import NAMED, Ask
from headwater.plan.timestamps import timestamp_text

SITES_MAX = 100_000
"""Looked at by whoever decodes a query, before it makes anything of what it counts."""

KEEP_S_MAX = 10 * 366 * 86_400.0
"""How long a stream may have its panes kept."""
LAST_N_MAX = 1_000_000
"""Records that a state may be made of: a site keeps them, or their partials, in its cube."""

ROUNDS_PER_PANE_MAX = EARLY_UPDATES_MAX
ROUNDS_USUAL = 8
"""Relays pay for each, and most of what is gained is gained by few."""
ROUND_S_MIN = 1.0
"""Batches and relays have their own times, which are not much shorter."""
NUMBERS = ("bigint", "int", "smallint", "tinyint", "double", "float", "decimal")

Rounds = Annotated[int, Meta(ge=1, le=1_000)]
"""More than a site ever makes is taken for the most that it does."""
Keep = Annotated[float, Meta(gt=0, le=KEEP_S_MAX)]
Sites = Annotated[tuple[str, ...], Meta(max_length=SITES_MAX)]


class Shed(StrEnum):
    """What a site does with input of panes that it can't read in time."""

    DEFER = "defer"
    """It is set aside, and read when there is CPU to spare."""
    DECLINE = "decline"
    """It is given up."""

    @classmethod
    def _missing_(cls, _: object) -> Shed:
        """What only a newer version knows loses nothing here."""
        return cls.DEFER


class QueryId(msgspec.Struct, frozen=True, array_like=True, order=True):
    """(name, installing site, that site's durable command counter); never the name alone."""

    name: str
    installer: str
    counter: int

    def __str__(self) -> str:
        return f"{self.name}@{self.installer}#{self.counter}"

    @classmethod
    def parse(cls, text: str) -> QueryId:
        match = re.fullmatch(r"([A-Za-z_]\w*)@([\w.-]+)#(\d+)", text)
        if match is None:
            raise ValueError(f"query id: wanted name@site#counter, got {text[:80]!r}")
        return cls(match[1], match[2], int(match[3]))


class TimeKind(StrEnum):
    """What places a record in time."""

    EVENT = "event"
    """Its own timestamp."""
    AGE = "age"
    """Its age: its timestamp is taken for the site's clock, and the record is placed where that
    was on the root's clock. So clocks that are wrong do no harm (Mortar's syncless operation)."""
    OTHER = "other"
    """One that only a newer version knows: who can't place records declines the query."""

    @classmethod
    def _missing_(cls, _: object) -> TimeKind:
        return cls.OTHER


class Timing(msgspec.Struct, frozen=True):
    """When panes close, windows are answered, and answers end."""

    deadline_s: float = 10.0
    """A window is answered at the latest this long after its end, whoever is silent."""
    disorder_s: float = 2.0
    """How much later than its timestamp a record may appear in the log and still be on time."""
    lateness_s: float | None = None
    """After which a pane is sealed; None: the cube's retention."""
    revise_every_s: float = 1.0
    revise_for_s: float = 86_400.0


class Query(msgspec.Struct, frozen=True):
    """A continuous question, as far as the machines that read, carry and answer it go by it."""

    id: QueryId
    window: WindowSpec
    root: str
    """The site that answers."""
    program: Program
    """What Spark does for it; no machine looks into it."""
    sites: Sites = ()
    """The node set; empty: every site of the roster that has data."""
    node_set: str | msgspec.UnsetType = msgspec.UNSET
    """Set: which sites of the roster, by globs of names or by labels (``node_sets``); ``sites`` is
    empty then. Unset, and then not on the wire: as ``sites`` says."""
    begin_pane: int | None = None
    """The first pane; None: from the earliest record on."""
    ends: bool = False
    """The input is finite: sites close and seal when it is exhausted (``headwater try``)."""
    time: TimeKind = TimeKind.EVENT
    unit_last: int = 0
    """The number of the last statement of the file that this one came with. A file is installed as
    one unit: a site that begins with a source reads nothing before it has all of them."""
    timing: Timing = Timing()
    part: Part | None = None
    """Of a stream with several roots: which of its groups this query answers; None: all."""
    last_n: int | msgspec.UnsetType = msgspec.UNSET
    """Set: a *state query* (Mortar's tuple window). The summary of a pane is each site's state at
    its end, the aggregate over the last so many records of that site, and a site that was quiet
    still has its former state. Unset, and then not on the wire: the records of the pane."""
    needs: Needs | msgspec.UnsetType = msgspec.UNSET
    """Rules, functions and whatever else of later versions than 0.3 it is made of, by name. Unset,
    and then not on the wire: nothing."""
    reads_past: bool | msgspec.UnsetType = msgspec.UNSET
    """Set: its begin had passed when it was installed, so sites read the past for it. Unset, and
    then not on the wire: what a site has read before it heard of the query is not read again."""
    end_pane: int | msgspec.UnsetType = msgspec.UNSET
    """Set (``extent``): the first pane that is none of the query's any more. Unset, and then not on
    the wire: it goes on until it is removed."""
    bounded: Bounded | msgspec.UnsetType = msgspec.UNSET
    """Columns of the answer that are near the truth, and how near. Unset, and then not on the wire:
    all are exact."""

    tolerance: Tolerance | msgspec.UnsetType = msgspec.UNSET
    """Set: how far columns may be off, so that sites may keep back what does not matter. Unset, and
    then not on the wire: everything is sent."""
    waits: bool | msgspec.UnsetType = msgspec.UNSET
    """Set: a window is first answered at its deadline, though it be complete before. Unset, and
    then not on the wire: when it is complete, or at its deadline."""
    sessions: Sessions | msgspec.UnsetType = msgspec.UNSET
    """Set: the groups of a window are the sessions of its keys that end in it."""
    sequence: SequenceGrid | msgspec.UnsetType = msgspec.UNSET
    """Set: windows and panes are of numbers, which ``window`` counts instead of microseconds.
    Unset, and then not on the wire: of times."""
    demand: Demand | msgspec.UnsetType = msgspec.UNSET
    """Set: how much of a window is enough for an answer. Unset, and then not on the wire: all of
    it, or what is there at the deadline."""
    rounds: Rounds | msgspec.UnsetType = msgspec.UNSET
    """Set: into how many rounds a pane is divided, at each of which keys may leave before its
    close. Unset, and then not on the wire: as many as are usual, where an error is tolerated."""
    share: LinkShare | msgspec.UnsetType = msgspec.UNSET
    """Set: its weight where queries wait for a link, and its own budget. Unset, and then not on the
    wire: an even share, and no budget."""
    degradation: Degradation | msgspec.UnsetType = msgspec.UNSET
    """Set: what sites may give up where the way is too narrow. Unset, and then not on the wire:
    nothing, and what finds no room waits."""
    companion: Companion | msgspec.UnsetType = msgspec.UNSET
    """Set: it is a companion of another query, and stands for it where links are full. Unset, and
    then not on the wire: it stands for itself."""
    keep_s: Keep | msgspec.UnsetType = msgspec.UNSET
    """Set: how long sites keep its panes for questions, where that is longer than for
    others. Unset, and then not on the wire: as long as any."""
    ask: Ask | msgspec.UnsetType = msgspec.UNSET
    """Set: it is a question about the past, which ends when it is answered. Unset, and then not on
    the wire: it goes on."""

    shed: Shed | msgspec.UnsetType = msgspec.UNSET
    """Set: what becomes of input that a site can't read before the deadline. Unset, and then not on
    the wire: it is read in its order, however late."""

    def __post_init__(self) -> None:
        if isinstance(self.last_n, int):
            self._check_states(self.last_n)
        if self.reads_past is True:
            self._check_past()
        if isinstance(self.end_pane, int):
            self._check_extent(self.end_pane)

        if isinstance(self.sessions, Sessions):
            self._check_sessions(self.sessions)
        if isinstance(self.sequence, SequenceGrid):
            self._check_sequence(self.sequence)
        if isinstance(self.tolerance, Tolerance):
            self._check_tolerance(self.tolerance)
        if isinstance(self.demand, Demand):
            fault = self.demand.fault(self.window.panes_per_window)
            if fault is not None:
                raise ValueError(f"query {self.id}: {fault}")
        if isinstance(self.companion, Companion) and (fault := plain_fault(self)) is not None:
            raise ValueError(f"query {self.id}: a level of {self.companion.of} can't have {fault}")
        fault = self.link_share.fault()
        if fault is None and isinstance(self.degradation, Degradation):
            fault = self.degradation.fault()
        if fault is not None:
            raise ValueError(f"query {self.id}: {fault}")
        if isinstance(self.ask, Ask):
            self._check_ask(self.ask)

    def _check_tolerance(self, tolerance: Tolerance) -> None:
        where = f"query {self.id}: an error"
        partials = {one.name: one.merge for one in self.program.partials}
        fault = tolerance.fault(partials, [key.name for key in hidden_keys(self.program)])
        if fault is not None:
            raise ValueError(f"{where}: {fault}")
        folding = self.program.folding
        is_coarser = isinstance(folding, Folding) and bool(folding.sets)
        has_groups = not is_coarser and self.program.first is msgspec.UNSET
        if not has_groups or self.holds_states or self.sessions is not msgspec.UNSET:
            raise ValueError(f"{where}: wanted groups of a window, neither states nor sessions")
        if tolerance.top is not None and not self.has_flat_groups:
            raise ValueError(
                f"{where}: the largest groups are looked for in windows of one pane, by keys that "
                "are neither structs nor arrays, and not of states that grow"
            )

    def _check_sequence(self, grid: SequenceGrid) -> None:
        """No clock has a say in it, and what only clocks can say it does not have."""
        where = f"query {self.id}: a window of numbers"
        lengths = (grid.disorder, grid.lateness, self.window.range_us)
        if not all(0 <= length < NUMBER_MAX for length in lengths):
            raise ValueError(f"{where}: wanted lengths from 0 to {NUMBER_MAX - 1}, got {lengths}")
        has_clock = self.time is not TimeKind.EVENT or self.holds_states or self.ends_at is not None
        if has_clock or self.sessions is not msgspec.UNSET:
            raise ValueError(f"{where}: wanted neither age, states, extent nor sessions beside it")
        has_slack = grid.disorder or grid.lateness or grid.from_now or self.wants_past
        if grid.is_own_count and (has_slack or (self.begin_pane != 0 and not self.ends)):
            raise ValueError(
                f"{where}: wanted no disorder, lateness or past of a site's own count, and 0 as "
                f"the begin, got {grid}, begin_pane {self.begin_pane}"
            )
        if grid.from_now and (self.begin_pane is not None or self.ends):
            raise ValueError(
                f"{where}: wanted no begin beside one from now on, got {self.begin_pane}"
            )

    def _check_sessions(self, sessions: Sessions) -> None:
        where = f"query {self.id}: sessions"
        if sessions.gap_us <= 0 or sessions.longest_us < 0:
            raise ValueError(f"{where}: wanted a gap above 0 and a length from 0, got {sessions}")
        if self.window != sessions.window():
            raise ValueError(f"{where}: wanted {sessions.window()}, got {self.window}")
        rules = {(one.name, one.type, one.merge) for one in self.program.partials}
        wanted = {(sessions.first, "timestamp", "min"), (sessions.last, "timestamp", "max")}
        if not wanted <= rules:
            raise ValueError(f"{where}: wanted partials {sorted(wanted)}, got {sorted(rules)}")
        if self.time is not TimeKind.EVENT or self.holds_states:
            raise ValueError(f"{where}: wanted records by their own time, got {self.time}")

    def _check_past(self) -> None:
        """Nobody knows the clocks of then, nor would the order of reading be that of writing."""
        if self.time is TimeKind.AGE or self.holds_states or self.begin_pane is None or self.ends:
            raise ValueError(
                f"query {self.id}: wanted a begin in the past only of records that go by their "
                f"timestamps, over logs that grow, got time {self.time}, last_n {self.last_n}, "
                f"begin_pane {self.begin_pane}, ends {self.ends}"
            )

    def _check_ask(self, ask: Ask) -> None:
        """Cubes have closed panes of time: no states, no numbers, and nothing that is to come."""
        fault = ask.fault()
        if fault is not None:
            raise ValueError(f"query {self.id}: a question: {fault}")
        if not self.id.name.startswith(NAMED):
            raise ValueError(
                f"query {self.id}: wanted a question's name to begin with {NAMED}, got another, "
                "which might be a stream's"
            )
        if ask.stream:
            QueryId.parse(ask.stream)
        is_past = self.reads_past is True and self.ends_at is not None
        is_plain = self.numbers is None and self.sessions is msgspec.UNSET and self.part is None
        is_whole = self.tolerates is None and self.demanded is None
        if not (is_past and is_plain and is_whole):
            raise ValueError(
                f"query {self.id}: wanted a question about windows of time with a begin in the "
                "past and an extent, one root, no error and no fidelity"
            )

    def _check_extent(self, end_pane: int) -> None:
        first = self.begin_pane
        is_endless = self.ends and not self.holds_states
        if first is None or is_endless or end_pane - first < self.window.panes_per_window:
            raise ValueError(
                f"query {self.id}: wanted an end that a window after its begin fits before, got "
                f"begin_pane {first}, end_pane {end_pane}, ends {self.ends}"
            )

    def _check_states(self, last_n: int) -> None:
        """A state holds for one pane at a time, from a begin on, and until it changes: so of an
        input that ends somebody has to say up to where answers are asked for. Who compiles a query
        for one that nobody has looked at yet says neither."""
        where = f"query {self.id}: a state query"
        if not 0 < last_n <= LAST_N_MAX:
            raise ValueError(f"{where}: wanted last_n from 1 to {LAST_N_MAX}, got {last_n}")
        if self.window.panes_per_window != 1:
            raise ValueError(
                f"{where}: wanted a window of one pane (range = slide), since states of several "
                f"panes can't be added up, got range {self.window.range_us} us, slide "
                f"{self.window.slide_us} us"
            )
        is_placed = self.begin_pane is not None and (not self.ends or self.ends_at is not None)
        is_unseen = self.ends and self.begin_pane is None and self.ends_at is None
        if not is_placed and not is_unseen:
            raise ValueError(
                f"{where}: wanted a begin, and of an input that ends an end, since a state holds "
                f"until it changes, got begin_pane {self.begin_pane}, end_pane {self.end_pane}, "
                f"ends {self.ends}"
            )
        if self.time is not TimeKind.EVENT or self.part is not None:
            raise ValueError(
                f"{where}: wanted records by their own time and one root, got time {self.time}, "
                f"{self.part}"
            )

    @property
    def holds_states(self) -> bool:
        return self.last_n is not msgspec.UNSET

    @property
    def reading_count(self) -> SequenceGrid | None:
        """What each site counts while it reads for the query: what its windows go by, or for a
        state query the records, so that it is known which are the last; None: nothing."""
        return SequenceGrid(ROW) if self.holds_states else self.own_count

    @property
    def numbers(self) -> SequenceGrid | None:
        """What its windows count; None: time."""
        return self.sequence if isinstance(self.sequence, SequenceGrid) else None

    @property
    def counted(self) -> str:
        """What its windows count, as people call it: ``lsn``, ``row``, ``byte``; empty: time."""
        return "" if self.numbers is None else self.numbers.unit

    @property
    def counted_column(self) -> str:
        """The same as a column of the records."""
        return "" if self.numbers is None else self.numbers.column

    @property
    def own_count(self) -> SequenceGrid | None:
        """Where its windows go by what each site has read: their grid."""
        return self.numbers if self.numbers is not None and self.numbers.is_own_count else None

    def length_text(self, length: int) -> str:
        """``10 seconds``, ``100000 of lsn`` or ``100000 rows``."""
        if self.own_count is not None:
            return f"{length} {self.counted}s"
        return f"{length} of {self.counted}" if self.counted else duration_text(length)

    def bound_text(self, at: int) -> str:
        """``2026-05-04 12:00:00 UTC``, or ``lsn 500000``."""
        return number_text(self.counted, at) if self.counted else timestamp_text(at)

    @property
    def grid_text(self) -> str:
        """``1 minute every 10 seconds``, or ``100000 of lsn every 10000``."""
        window = self.window
        if self.holds_states:
            return f"the last {self.last_n} rows every {duration_text(window.range_us)}"
        if not self.counted:
            return window_text(range_us=window.range_us, slide_us=window.slide_us)
        every = "" if window.slide_us == window.range_us else f" every {window.slide_us}"
        return f"{self.length_text(window.range_us)}{every}"

    @property
    def wants_past(self) -> bool:
        """It asks for records that were there before it was."""
        if self.ends or (self.numbers is not None and self.numbers.from_now):
            return False
        return self.begin_pane is None or self.reads_past is True

    @property
    def ends_at(self) -> int | None:
        """``end_pane``; None: it has no end of its own."""
        return self.end_pane if isinstance(self.end_pane, int) else None

    @property
    def bounds(self) -> Bounded:
        return NOT_BOUNDED if isinstance(self.bounded, msgspec.UnsetType) else self.bounded

    @property
    def tolerates(self) -> Tolerance | None:
        """How far columns may be off; None: nothing is kept back."""
        return self.tolerance if isinstance(self.tolerance, Tolerance) else None

    @property
    def demanded(self) -> Demand | None:
        """How much of a window is enough; None: nothing was said of it."""
        return self.demand if isinstance(self.demand, Demand) else None

    @property
    def stands_for(self) -> Companion | None:
        """Of which query it is a level; None: it stands for itself."""
        return self.companion if isinstance(self.companion, Companion) else None

    @property
    def link_share(self) -> LinkShare:
        return self.share if isinstance(self.share, LinkShare) else EVEN

    @property
    def degrades(self) -> Degradation | None:
        """What it may give up; None: nothing."""
        return self.degradation if isinstance(self.degradation, Degradation) else None

    @property
    def awaited_demand(self) -> Demand | None:
        """The same, where anything goes by it: a finite input is read to its end, and its answers
        are made of all of it."""
        return None if self.ends else self.demanded

    @property
    def draw(self) -> PaneDraw | None:
        """Which panes it takes; None: all of them."""
        demand, panes = self.awaited_demand, self.window.panes_per_window
        if demand is None or not demand.is_random:
            return None
        return pane_draw(
            str(self.id),
            panes=panes,
            count=demand.panes_drawn(panes),
            is_apart=demand.chance is Chance.APART,
        )

    @property
    def owes_rest(self) -> bool:
        """Whether what sites keep back is to follow."""
        tolerance = self.tolerates
        return tolerance is not None and tolerance.finally_ is Finally.EXACT

    @property
    def has_flat_groups(self) -> bool:
        """Whether a group is one row of a pane that is a window, with keys that have a hash."""
        program = self.program
        is_plain = program.folding is msgspec.UNSET and program.first is msgspec.UNSET
        is_flat = not any("<" in key.type for key in program.keys)
        return is_plain and is_flat and self.window.panes_per_window == 1

    @property
    def may_send_early(self) -> bool:
        """Whether groups may leave a site before the close of a pane, had somebody asked for it.

        A part of a group that is sent early and the part that is sent later are merged as two
        batches are, so it must be groups that a site closes once, by time: no states, sessions or
        ranks, no states that grow, no windows of numbers, and no input that ends. Keys that are
        structs or arrays have no hash by which a site could follow them."""
        program = self.program
        has_groups = bool(program.keys) and bool(program.partials)
        is_plain = program.folding is msgspec.UNSET and program.first is msgspec.UNSET
        is_timed = self.numbers is None and not self.holds_states and not self.ends
        is_flat = not any("<" in key.type for key in program.keys)
        return has_groups and is_plain and is_timed and is_flat and self.sessions is msgspec.UNSET

    @property
    def sheds(self) -> Shed | None:
        """What becomes of what can't be read in time; None: it is read in its order. Only what has
        a deadline, and is made of records of its pane alone, can do without some panes."""
        if not isinstance(self.shed, Shed) or shed_fault(self) is not None:
            return None
        return self.shed

    @property
    def round_count(self) -> int:
        """Into how many rounds its panes are divided; 1: nothing leaves before the close."""
        is_bounded = self.tolerates is not None and not self.tolerates.is_by_link
        is_asked = is_bounded or isinstance(self.rounds, int)
        is_by_steps = self.tolerates is not None and self.tolerates.top is not None
        if not is_asked or is_by_steps or not self.may_send_early:
            return 1
        longest = self.window.pane_us // round(ROUND_S_MIN * MICROS)
        wanted = self.rounds if isinstance(self.rounds, int) else ROUNDS_USUAL
        return max(1, min(wanted, ROUNDS_PER_PANE_MAX, longest))

    @property
    def early_measures(self) -> tuple[str, ...]:
        """The partials by which groups matter: those that an error is asked of, or all that add
        up."""
        if self.tolerates is not None:
            return tuple(column.partial for column in self.tolerates.columns)
        sums = (one for one in self.program.partials if one.merge == "sum")
        return tuple(one.name for one in sums if one.type.partition("(")[0] in NUMBERS)

    @property
    def group_keys(self) -> tuple[str, ...]:
        """By which rows are groups of an answer."""
        return tuple(key.name for key in visible_keys(self.program))

    @property
    def place_columns(self) -> tuple[PlaceColumn, ...]:
        """Keys that each site fills in with what the roster says of it."""
        return self.program.place_columns

    @property
    def stream(self) -> str:
        """What people call it; the parts of one stream have this name in common."""
        return self.id.name if self.part is None else self.part.stream

    @property
    def unit(self) -> tuple[int, str]:
        """What was installed together, in the order in which names are taken: the later one wins,
        and all parts of a stream stand or fall with each other."""
        return max(self.unit_last, self.id.counter), self.id.installer

    @property
    def asked(self) -> Ask | None:
        """What it is as a question; None: it is none."""
        return self.ask if isinstance(self.ask, Ask) else None

    @property
    def reads_cube(self) -> bool:
        """It is a question that is answered from panes, so nothing is read of its source."""
        return self.asked is not None and self.asked.reads_cube

    @property
    def source_name(self) -> str:
        """A site reads a source once for all its queries, and knows it by its name. A cube is read
        once for each question, under a name that no source has."""
        return f"question {self.id}" if self.reads_cube else self.program.source.name

    def reads_as(self, other: Query) -> bool:
        """The same records."""
        return self.program.source.is_read_as(other.program.source)

    def future_tolerance_s(self, default_s: float) -> float:
        """How far ahead of the site's clock its records may be."""
        return self.program.source.future_tolerance_s(default_s)


def shed_fault(query: Query) -> str | None:
    """Why sites can't leave out panes of it; None: they can."""
    faults = {
        "records by their age": query.time is not TimeKind.EVENT,
        "windows of numbers or rows": query.numbers is not None,
        "a state of the last rows": query.holds_states,
        "an input that ends": query.ends,
        "an error, or what follows from one": query.tolerates is not None,
        "rounds": isinstance(query.rounds, int),
        "degrade": query.degrades is not None or query.stands_for is not None,
        "a question": query.asked is not None,
    }
    return next((what for what, has in faults.items() if has), None)
