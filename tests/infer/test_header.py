"""Whether a first line names columns."""

from __future__ import annotations

from headwater.infer.header import find_header


def test_a_first_record_of_words_is_no_header_of_words() -> None:
    assert find_header([["ann", "oslo"], ["bob", "bern"]]) == ()
    assert find_header([["ann", "oslo"], ["ann", "oslo"]]) == ()
    assert find_header([["who", "n"], ["bob", "7"]]) == ("who", "n")


def test_a_header_that_stands_again_is_one() -> None:
    assert find_header([["who", "n"], ["bob", "7"], ["who", "n"], ["ann", "8"]]) == ("who", "n")


def test_a_line_of_which_most_is_empty_names_nothing() -> None:
    assert find_header([["total", "", ""], ["x", "1", "2"]]) == ()
    assert find_header([["a", "b", ""], ["x", "1", ""]]) == ("a", "b", "")


def test_a_count_since_1970_stands_below_a_name_also_where_it_begins_with_zeros() -> None:
    assert find_header([["who", "at"], ["bob", "0999999999"]]) == ("who", "at")


def test_a_name_may_have_signs_that_are_no_letters() -> None:
    for name in ("preis €", "€/kWh", "°C", "R&D", "Größe (m²)", "_id", "Who?"):
        assert find_header([["at", name], ["2024-01-01 00:00:01", "7"]]) == ("at", name)
    for value in ("-5 °C", "{}", "a=b", "3 €", "--", "|"):
        assert find_header([["at", value], ["2024-01-01 00:00:01", "7"]]) == ()
