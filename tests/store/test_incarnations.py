"""A life of a cube or a ledger that begins anew counts as newer than the one before it."""

from pathlib import Path

from headwater.algebra.arrow_rows import ArrowMerger
from headwater.algebra.columns import Column, Partial
from headwater.store.cube import Cube
from headwater.store.root_ledger import RootLedger


class Layout:
    keys: tuple[Column, ...] = ()
    partials: tuple[Partial, ...] = ()


def merger_of(_: str) -> ArrowMerger:
    return ArrowMerger(Layout())


def cube_incarnation(directory: Path, now_s: float) -> int:
    cube = Cube.open(directory, site="oslo", merger_of=merger_of, clock=lambda: now_s)
    cube.close()
    return cube.incarnation


def ledger_incarnation(directory: Path, now_s: float) -> int:
    ledger = RootLedger(directory, merger_of=merger_of, clock=lambda: now_s)
    ledger.close()
    return ledger.incarnation


def test_a_cube_made_after_a_lost_one_has_the_higher_incarnation(tmp_path: Path):
    assert cube_incarnation(tmp_path / "a", 1e9) < cube_incarnation(tmp_path / "b", 1e9 + 1)


def test_a_ledger_made_after_a_lost_one_has_the_higher_incarnation(tmp_path: Path):
    assert ledger_incarnation(tmp_path / "a", 1e9) < ledger_incarnation(tmp_path / "b", 1e9 + 1)


def test_a_restart_keeps_the_incarnation(tmp_path: Path):
    assert cube_incarnation(tmp_path / "a", 1e9) == cube_incarnation(tmp_path / "a", 2e9)
    assert ledger_incarnation(tmp_path / "l", 1e9) == ledger_incarnation(tmp_path / "l", 2e9)
