"""Reasons of malformed lines: they add up, within a limit, and may lose their values."""

from headwater.algebra.words.malformed import (
    KINDS_MAX,
    OTHER,
    Malformed,
    added,
    most_frequent,
    without_values,
)


def test_reasons_add_up_and_the_rare_ones_are_told_as_one() -> None:
    many = [Malformed(f"wanted 3 fields, got {n}", n) for n in range(1, KINDS_MAX + 6)]
    kept = most_frequent(many)
    assert len(kept) == KINDS_MAX
    assert kept[0].lines == KINDS_MAX + 5
    assert kept[-1] == Malformed(OTHER, sum(range(1, 7)))
    twice = added(kept, kept)
    assert sum(kind.lines for kind in twice) == 2 * sum(kind.lines for kind in many)
    one, other = Malformed("n: wanted int", 1, "a", "a"), Malformed("n: wanted int", 2, "b", "b")
    assert added([one], [other]) == (Malformed("n: wanted int", 3, "a", "a"),)


def test_a_reason_without_values_has_none() -> None:
    (kind,) = without_values([Malformed("n: wanted int", 3, "secret", "secret line")])
    assert kind.text() == "n: wanted int (3 lines)"
