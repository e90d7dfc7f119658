"""What the control desk understands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headwater.agent.control import window_named
from headwater.errors import ConfigurationError

sys.path.insert(0, str(Path(__file__).parent.parent / "store"))

from store_kit import query_of


def test_a_window_is_named_by_its_number_or_by_a_time_in_it() -> None:
    """Windows of 30 s, one every 10 s::

    window 360  |---------|---------|---------|          03:00:00 is 10800 s, window 1080
                01:00:00
    """
    query = query_of()
    assert window_named(query, "1080") == 1080
    assert window_named(query, "-3") == -3
    assert window_named(query, "1970-01-01T03:00:00Z") == 1080
    assert window_named(query, "1970-01-01 03:00:09.5") == 1080, "the newest that it lies in"
    assert window_named(query, "1970-01-01T03:00:00+01:00") == 720


def test_what_is_neither_a_number_nor_a_time_is_refused_with_what_is_wanted() -> None:
    with pytest.raises(ConfigurationError, match="wanted a time like 2026"):
        window_named(query_of(), "yesterday")
