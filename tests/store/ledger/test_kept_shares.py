"""The shares that a root has dealt out, in its ledger."""

from __future__ import annotations

from pathlib import Path

from store_kit import MERGER, query_of

from headwater.algebra.remainders.share_table import ShareTable
from headwater.root.outputs import KeepShares
from headwater.store.ledger.root_ledger import RootLedger

ID = str(query_of().id)
TABLES = (ShareTable(1, 10, 19, ((1 << 29, 0b11),)), ShareTable(2, 20, 29, ((1 << 30, 0b10),)))


def opened(directory: Path) -> RootLedger:
    return RootLedger(directory / "ledger", merger_of=lambda query: MERGER, clock=lambda: 1_000.0)


def test_the_newest_tables_come_back_after_a_restart_and_go_with_their_query(
    tmp_path: Path,
) -> None:
    ledger = opened(tmp_path)
    assert ledger.restore(ID).shares == ()
    ledger.write([KeepShares(ID, TABLES[:1]), KeepShares("other@home#2", TABLES[1:])])
    ledger.write([KeepShares(ID, TABLES)])
    ledger.close()
    ledger = opened(tmp_path)
    assert ledger.restore(ID).shares == TABLES
    ledger.forget(ID)
    assert ledger.restore(ID).shares == ()
    assert ledger.restore("other@home#2").shares == TABLES[1:]
    ledger.close()
