"""Windows of numbers: what a number that was read says of the panes before it.

::

    disorder = 5, lateness = 20, panes of 10
    read  70 ── closes the panes up to 65 ── seals those up to 45
"""

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import SequenceGrid

TENS = WindowSpec(10, 10)


def test_a_pane_is_closed_when_a_number_beyond_its_disorder_was_read() -> None:
    assert SequenceGrid("lsn").closed_through(TENS, 7) == 7
    assert SequenceGrid("lsn", disorder=5).closed_through(TENS, 7) == 6
    assert SequenceGrid("lsn", disorder=10).closed_through(TENS, 7) == 6
    assert SequenceGrid("lsn", disorder=11).closed_through(TENS, 7) == 5


def test_it_is_sealed_when_its_lateness_has_passed_as_well() -> None:
    assert SequenceGrid("lsn", lateness=20).sealed_through(TENS, 7) == 5
    assert SequenceGrid("lsn", disorder=5, lateness=20).sealed_through(TENS, 7) == 4
    assert SequenceGrid("lsn", disorder=10, lateness=20).sealed_through(TENS, 7) == 4


def test_a_site_that_begins_now_begins_behind_what_could_have_come_before() -> None:
    """The first number lies in pane 7, at 79 at most; what was before is at most so far ahead."""
    assert SequenceGrid("lsn").whole_from(TENS, 7) == 8
    assert SequenceGrid("lsn", lateness=20).whole_from(TENS, 7) == 10
    assert SequenceGrid("lsn", disorder=1, lateness=20).whole_from(TENS, 7) == 11
