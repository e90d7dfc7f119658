"""A life of a cube or a ledger that begins anew counts as newer than the one before it."""

from pathlib import Path

import pytest

from headwater.algebra.incarnation import INCARNATION_MAX, incarnation_above
from headwater.algebra.rows.arrow_rows import ArrowMerger
from headwater.algebra.rows.columns import Column, Partial
from headwater.algebra.words.acknowledgement import LIFE_BITS
from headwater.algebra.words.site_state import SiteState
from headwater.root.outputs import KeepState
from headwater.store.cube.cube import Cube
from headwater.store.cube.cube_queries import QueryFacts
from headwater.store.ledger.root_ledger import RootLedger


class Layout:
    keys: tuple[Column, ...] = ()
    partials: tuple[Partial, ...] = ()


def merger_of(_: str) -> ArrowMerger:
    return ArrowMerger(Layout())


def cube_incarnation(directory: Path, now_s: float) -> int:
    cube = Cube.open(directory, site="oslo", facts=QueryFacts(merger_of), clock=lambda: now_s)
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


@pytest.mark.parametrize("former", [0, 1, (1 << 20) - 1, (5 << 20) | 7, INCARNATION_MAX])
@pytest.mark.parametrize("chance", [0, (1 << 20) - 1, 1 << 40])
def test_an_incarnation_above_is_above_whatever_chance_says(former: int, chance: int):
    assert former < incarnation_above(former, chance=chance) < 1 << 63


def test_a_ledger_counts_its_starts_whatever_the_clock_shows(tmp_path: Path):
    counts = []
    for now_s in (2e9, 1e9, 1e9, 3e9):
        ledger = RootLedger(tmp_path, merger_of=merger_of, clock=lambda now_s=now_s: now_s)
        counts.append(ledger.start_count)
        ledger.close()
    assert counts == [1, 2, 3, 4]


def test_a_ledger_from_before_starts_were_counted_goes_on_above_the_clock(tmp_path: Path):
    """Its acknowledgements were numbered by milliseconds."""
    ledger = RootLedger(tmp_path, merger_of=merger_of, clock=lambda: 1.7e9)
    ledger._manifest.run("DELETE FROM meta WHERE key = 'starts'")
    ledger.write(
        [
            KeepState(
                "q", SiteState(query="q", ordinal=1, incarnation=2, number=3, first_pane=0), since=1
            )
        ]
    )
    ledger.close()
    ledger = RootLedger(tmp_path, merger_of=merger_of, clock=lambda: 1.7e9)
    ledger.close()
    assert ledger.start_count << LIFE_BITS > 1.7e12


def test_a_ledger_that_is_outdated_takes_an_incarnation_above_and_keeps_it(tmp_path: Path):
    ledger = RootLedger(tmp_path, merger_of=merger_of, clock=lambda: 1e9)
    known = ledger.incarnation + (5 << 40)
    risen = ledger.rise_above(known)
    ledger.close()
    assert risen > known
    assert ledger_incarnation(tmp_path, 1e9) == risen


def test_a_cube_that_is_outlived_takes_an_incarnation_above_and_keeps_it(tmp_path: Path):
    cube = Cube.open(tmp_path, site="oslo", facts=QueryFacts(merger_of), clock=lambda: 1e9)
    known = cube.incarnation + (5 << 40)
    anew = cube.live_anew(known)
    cube.close()
    assert anew > known
    assert cube_incarnation(tmp_path, 1e9) == anew


def test_an_incarnation_above_an_older_one_is_above_the_own_as_well(tmp_path: Path):
    """Somebody has not heard yet that it lives anew already."""
    cube = Cube.open(tmp_path / "a", site="oslo", facts=QueryFacts(merger_of), clock=lambda: 1e9)
    ledger = RootLedger(tmp_path / "l", merger_of=merger_of, clock=lambda: 1e9)
    own = cube.incarnation, ledger.incarnation
    assert cube.live_anew(1) > own[0]
    assert ledger.rise_above(1) > own[1]
    cube.close()
    ledger.close()


@pytest.mark.parametrize("now_s", [-1e9, 0.0])
def test_a_clock_before_all_times_makes_no_negative_incarnation(tmp_path: Path, now_s: float):
    assert 0 <= cube_incarnation(tmp_path, now_s) < INCARNATION_MAX


def test_a_restart_keeps_the_incarnation(tmp_path: Path):
    assert cube_incarnation(tmp_path / "a", 1e9) == cube_incarnation(tmp_path / "a", 2e9)
    assert ledger_incarnation(tmp_path / "l", 1e9) == ledger_incarnation(tmp_path / "l", 2e9)
