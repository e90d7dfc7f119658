"""Good inputs to begin with: one of every message, in several shapes."""

from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from headwater.algebra.coordinate import Coordinate
from headwater.algebra.coverage import Coverage
from headwater.algebra.panes import WindowSpec
from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.remainders.tolerance import Finally, Tolerance, ToleratedColumn
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.rows.types import summary_schema
from headwater.algebra.summary import Lane, Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import (
    Acknowledgement,
    ExtraHeld,
    Greeting,
    PaneHeld,
    RoundsHeld,
    with_leaves,
)
from headwater.algebra.words.alarm import Alarm, AlarmKind
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.remark import Remark
from headwater.algebra.words.site_state import FOREVER, Declined, Reason, SiteState, Tally
from headwater.net.values.words import ack_word, leaf_word
from headwater.overlay.messages import (
    AbsenceMessage,
    AckMessage,
    AlterMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    CoordinatesMessage,
    Heartbeat,
    Message,
    PausesMessage,
    Placed,
    StatesMessage,
    StreamMarker,
    SummaryMessage,
    TreePause,
)
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Count, Install, Remove
from headwater.plan.program import Program
from headwater.plan.query import Query, QueryId
from headwater.plan.sources.source import Source, SourceFormat
from headwater.plan.tree import Tree

QUERY = "hits@alpha#1"


def a_query() -> Query:
    columns = (Column("at", "timestamp"), Column("domain", "string"), Column("seen", "boolean"))
    source = Source("web", columns, SourceFormat.REGEX, "*.log", "at", (("pattern", "(.*)"),))
    partials = (
        Partial("hits", "bigint", "sum"),
        Partial("total", "double", "sum"),
        Partial("money", "decimal(30,2)", "sum"),
        Partial("slowest", "double", "max"),
        Partial("first", "timestamp", "min"),
        Partial("name", "string", "max"),
    )
    rows, texts = (columns[1:], partials), ("SELECT 1", "SELECT 2", "SELECT 3")
    program = Program("SELECT …", source, *rows, *texts, ("at",), (Column("n", "bigint"),))
    return Query(QueryId("hits", "alpha", 1), WindowSpec(10, 5), "alpha", program)


SCHEMA = summary_schema(a_query().program)


def a_table(count: int) -> Any:
    return pa.table(
        {
            "domain": [None if n % 7 == 3 else f"d{n}.exämple" for n in range(count)],
            "seen": [n % 2 == 0 for n in range(count)],
            "hits": [None if n % 5 == 4 else n for n in range(count)],
            "total": [n / 3 for n in range(count)],
            "money": [Decimal(n) / 4 for n in range(count)],
            "slowest": [float("nan") if n == 2 else -0.0 for n in range(count)],
            "first": list(range(count)),
            "name": ["x" * (n % 9) for n in range(count)],
        },
        schema=SCHEMA,
    )


def an_alter() -> Alter:
    column = ToleratedColumn("n", "n", ErrorForm.TOTAL, 0.01)
    return Alter(
        id=QueryId("hits", "alpha", 1),
        installer="alpha",
        counter=3,
        number=1,
        first_pane=40,
        settings=Settings(
            deadline_s=5.0,
            tolerance=Tolerance((column,), Finally.EXACT, 3),
            options=(("error", "'1 % of total'"),),
        ),
    )


def messages() -> list[Message]:
    part = Coverage.of_part(3, 77, updates=((1, 2), (5, 5)), closed_at=5)
    coverage = Coverage.of_whole(1, 99).merge(Coverage.of_empty(900, 5)).merge(part)
    early = Coverage.of_group(7, 44, updates=((1, 1),), closed_at=None)
    grouped = coverage.merge(early).merge(
        Coverage.of_group(8, 45, updates=((1, 3), (5, 5)), closed_at=5)
    )
    state = SiteState(
        query=QUERY,
        ordinal=2,
        incarnation=9,
        number=4,
        first_pane=-3,
        message="…",
        sealed_through=FOREVER,
        empty=((1, 9), (20, 30)),
        declined=(Declined(first=1, last=2, reason=Reason.SHED),),
        counts=((7, 2),),
        tally=Tally(unparsed=1, too_late=2, fenced=3, lost_bytes=4, before_begin=5, refused=6),
        alarms=(Alarm.of(AlarmKind.NEVER_CUT, QUERY, 2, (5, 7), "never cut", ["alpha"]),),
        remarks=(Remark("no file", "no file matches 'a'"),),
    )
    ack = with_leaves(
        Acknowledgement(
            query=QUERY,
            root_incarnation=8,
            number=3,
            done_through=100,
            held=((101, 110),),
            age_s=1.5,
            tells_several=True,
        ),
        panes=(PaneHeld(111, 1 << 700 | 1 << 200 | 5),),
        extra=(ExtraHeld(pane=111, ordinal=3, incarnation=77, updates=((2, 3),)),),
        rounds=(RoundsHeld(pane=112, first=1, last=2, sites=1 << 700 | 2),),
        greetings=(
            Greeting(ordinal=2, incarnation=9, number=4),
            Greeting(
                ordinal=702, incarnation=9, number=4, former_through=105, former_clock_s=1.7e9
            ),
        ),
    )
    leaves = tuple(msgspec.structs.replace(leaf, word=leaf_word(leaf)) for leaf in ack.leaves)
    signed = msgspec.structs.replace(ack, leaves=leaves, digests=(bytes(16), b"d" * 16))
    signed = msgspec.structs.replace(
        signed, proof=Proof(word=ack_word(signed), signature=b"s" * 64, key=b"k" * 8)
    )
    return [
        Heartbeat(sent_s=1.5, echo_s=None, echo_held_s=0.0, digest=7),
        Heartbeat(sent_s=1e9, echo_s=2.5, echo_held_s=0.25, digest=(1 << 64) - 1),
        SummaryMessage(Summary(query=QUERY, pane=7, coverage=coverage, rows=a_table(5), age_s=2.0)),
        SummaryMessage(Summary(query=QUERY, pane=8, coverage=grouped, rows=a_table(2))),
        SummaryMessage(
            Summary(
                query=QUERY, pane=-7, coverage=part, rows=None, lane=Lane.SPARE, roster_version=3
            )
        ),
        SummaryMessage(
            Summary(
                query="other@alpha#2", pane=7, coverage=coverage, rows=b"opaque", lane=Lane.BACKLOG
            )
        ),
        StatesMessage((state, state)),
        AckMessage(ack),
        AckMessage(signed),
        AckMessage(msgspec.structs.replace(signed, leaves=leaves[1:])),
        CommandMessage(
            Install(
                query=a_query(), trees=(Tree(0, ((1, 0), (2, 1))),), roster_version=1, age_s=0.5
            )
        ),
        CommandMessage(Remove(id=QueryId("hits", "alpha", 1), installer="alpha", counter=2)),
        AlterMessage(an_alter(), Count(installer="alpha", number=3, revision=4)),
        CommandsKnown(
            (
                Count(installer="alpha", number=7, revision=9, live=(QUERY,)),
                Count(installer="bravo", number=1 << 40, revision=3),
            ),
            (QUERY, "other@alpha#2"),
        ),
        AskInstall((QUERY,)),
        Heartbeat(
            sent_s=1.5,
            echo_s=1.0,
            echo_held_s=0.25,
            digest=7,
            roots=(RootPulse(root=1, age_s=2.0, clock_s=3.0, spread_s=0.5),),
            coordinate=Coordinate(x=1.0, y=2.0, z=3.0, height=4.0, error=0.5),
        ),
        StreamMarker(7),
        AbsenceMessage(Absence(QUERY, speaker=3, clock_s=1.5, lost=(4, 900), guests=(7,))),
        PausesMessage((TreePause(QUERY, 2, 1, 40, 2.0), TreePause(QUERY, 2, 0, FOREVER, 2.0))),
        CoordinatesMessage((Placed(2, Coordinate(x=1.0, y=2.0, z=3.0)),)),
    ]
