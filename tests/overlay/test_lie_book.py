"""The lies that a peer has met: each kind and neighbour once, with how often."""

from __future__ import annotations

from headwater.overlay.lie_book import (
    LIE_CHARACTERS_MAX,
    LIES_MAX,
    OTHERS,
    LieBook,
    LieKind,
    Untrue,
)


def lie(
    text: str = "state of c: it is not signed by c", kind: LieKind = LieKind.UNSIGNED
) -> Untrue:
    return Untrue.of(kind, text)


def test_what_is_met_again_is_counted_and_the_newest_is_kept_in_words():
    book = LieBook()
    book.add(lie("one"), sender="a", now_s=1.0)
    book.add(lie("two"), sender="a", now_s=5.0)
    book.add(lie("three"), sender="b", now_s=6.0)
    book.add(lie("four", LieKind.LEAP), sender="a", now_s=7.0)
    found = [(one.kind, one.sender, one.count, one.first_s, one.text) for one in book.met()]
    assert found == [
        (LieKind.UNSIGNED, "a", 2, 1.0, "two"),
        (LieKind.UNSIGNED, "b", 1, 6.0, "three"),
        (LieKind.LEAP, "a", 1, 7.0, "four"),
    ]
    assert book.met()[0].last_s == 5.0


def test_a_full_book_counts_further_neighbours_together():
    book = LieBook()
    for n in range(LIES_MAX + 50):
        book.add(lie(), sender=f"s{n}", now_s=0.0)
    book.add(lie(kind=LieKind.LEAP), sender="s1", now_s=0.0)
    book.add(lie(), sender="s3", now_s=0.0)
    found = {(one.kind, one.sender): one.count for one in book.met()}
    assert len(found) == LIES_MAX + 2
    assert found[LieKind.UNSIGNED, OTHERS] == 50
    assert found[LieKind.LEAP, OTHERS] == 1
    assert found[LieKind.UNSIGNED, "s3"] == 2


def test_its_words_are_bounded():
    book = LieBook()
    book.add(lie("x" * 5_000), sender="a", now_s=0.0)
    assert len(book.met()[0].text) == LIE_CHARACTERS_MAX
    assert type(book.met()[0].text) is str
