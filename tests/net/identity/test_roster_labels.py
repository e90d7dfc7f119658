"""Labels are part of what an operator signs; a roster without them reads as it did."""

from __future__ import annotations

import pytest

from headwater.errors import ConfigurationError
from headwater.net.identity.roster_text import read_roster_text, roster_toml
from headwater.plan.roster import Roster, Site


def read(site: Site) -> Site:
    text = roster_toml("f", Roster(1, (site,), site.name))
    return read_roster_text(text.encode()).roster.sites[0]


def test_labels_are_written_and_read_back() -> None:
    site = Site(0, "oslo", "10.0.0.1", 4433, labels={"tier": "edge", "rack": "a 7"})
    assert read(site) == site


def test_a_roster_without_labels_says_nothing_of_them() -> None:
    site = Site(0, "oslo", "10.0.0.1", 4433)
    assert "labels" not in roster_toml("f", Roster(1, (site,), "oslo"))
    assert read(site).labels == {}


@pytest.mark.parametrize("labels", [{"Tier": "edge"}, {"tier": ""}, {"tier": "x" * 64}])
def test_labels_have_a_shape(labels: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="labels: wanted names of small letters"):
        read(Site(0, "oslo", "10.0.0.1", 4433, labels=labels))
