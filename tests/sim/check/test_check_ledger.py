"""Which sites a kept summary counts from which life."""

from __future__ import annotations

from headwater.algebra.coverage import Coverage
from headwater.sim.check.check_ledger import _counted


def test_a_group_of_which_nothing_is_in_counts_nobody() -> None:
    """A liar's word that a site has closed, say, with updates that are yet to come."""
    told = Coverage.of_group(3, 7, updates=(), closed_at=2)
    is_in = Coverage.of_group(4, 7, updates=((1, 1),), closed_at=2)
    both = told.merge(is_in)
    assert [one.sites for one in _counted(both).groups] == [1 << 4]
    assert _counted(is_in) == is_in
