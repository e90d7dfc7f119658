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
    one, other = (
        Malformed(reason="n: wanted int", lines=1, came="a", sample="a"),
        Malformed(reason="n: wanted int", lines=2, came="b", sample="b"),
    )
    assert added([one], [other]) == (
        Malformed(reason="n: wanted int", lines=3, came="a", sample="a"),
    )


def test_a_reason_without_values_has_none() -> None:
    (kind,) = without_values(
        [Malformed(reason="n: wanted int", lines=3, came="secret", sample="secret line")]
    )
    assert kind.text() == "n: wanted int (3 lines)"
