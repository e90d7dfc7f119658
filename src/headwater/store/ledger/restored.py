"""What a root takes up from its ledger after a restart."""

from __future__ import annotations

import msgspec

from headwater.algebra.coverage import Coverage
from headwater.algebra.packed_coverage import PackedCoverage
from headwater.algebra.remainders.share_table import ShareTable
from headwater.algebra.words.close_digest import Close
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.node import effects as fx
from headwater.root.carriers.alarm_book import StandingAlarm
from headwater.root.outputs import KeptSummary, RootKept, WindowAnswered
from headwater.store.manifest import Manifest
from headwater.store.row_value import read_row, row_value

_agreed = msgspec.msgpack.Decoder(tuple[int, tuple[Close, ...], int])


def restored(manifest: Manifest, query: str, *, last_number: int) -> RootKept:
    """All that a root needs to take up where it ended; rows stay here. Raises
    ``UnreadableRow``, and nothing is changed: a ledger that lacks a row would acknowledge, or
    publish, what it does not know of. Whoever calls it holds the lock."""
    summaries = manifest.all(
        "SELECT number, pane, coverage, has_rows FROM summaries WHERE query = ? ORDER BY number",
        (query,),
    )
    states = manifest.all(
        "SELECT content, since, agreed FROM states WHERE query = ? ORDER BY ordinal, incarnation",
        (query,),
    )
    answers = manifest.all("SELECT content FROM answers WHERE query = ? ORDER BY window", (query,))
    done = manifest.first("SELECT through FROM done WHERE query = ?", (query,))
    lost = manifest.all(
        "SELECT number, pane, coverage FROM damaged WHERE query = ? ORDER BY number", (query,)
    )
    alarms = manifest.all("SELECT content FROM alarms WHERE query = ? ORDER BY number", (query,))

    def where(what: str) -> str:
        return f"{what} of {query}, in {manifest.path},"

    return RootKept(
        query,
        tuple(
            KeptSummary(
                number,
                pane,
                coverage_in(coverage, where(f"summary {number}")),
                None,
                bool(has_rows),
            )
            for number, pane, coverage, has_rows in summaries
        ),
        tuple(_kept_state(query, *row, where=where("a state")) for row in states),
        tuple(row_value(one, WindowAnswered, where=where("an answer")) for (one,) in answers),
        int(done[0]) if done is not None else None,
        last_number,
        tuple(
            KeptSummary(n, p, coverage_in(c, where(f"damaged summary {n}")), None, True)
            for n, p, c in lost
        ),
        tuple(row_value(one, StandingAlarm, where=where("an alarm")) for (one,) in alarms),
        _shares(manifest, query),
    )


def _shares(manifest: Manifest, query: str) -> tuple[ShareTable, ...]:
    key = (shares_key(query),)
    row = manifest.first("SELECT value FROM meta WHERE key = ?", key)
    where = f"the shares of {query}, in {manifest.path},"
    return () if row is None else row_value(row[0], tuple[ShareTable, ...], where=where)


def shares_key(query: str) -> str:
    return f"shares of {query}"


def coverage_in(content: bytes, where: str) -> Coverage:
    return row_value(content, PackedCoverage, where=where).coverage()


def _kept_state(
    query: str, content: bytes, since: int, agreed: bytes | None, *, where: str
) -> fx.KeepState:
    state = row_value(content, SiteState, where=where)
    known: tuple[int, tuple[Close, ...], int] = (-FOREVER, (), 0)
    if agreed is not None:
        known = read_row(lambda: _agreed.decode(agreed), where=where)
    return fx.KeepState(query, state, since, *known)
