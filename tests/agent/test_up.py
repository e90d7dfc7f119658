"""The layout of a local federation, without starting it."""

from pathlib import Path

import pytest

from headwater.agent import up
from headwater.agent.config import AgentConfig, load_roster
from headwater.errors import ConfigurationError


def test_a_layout_has_all_that_its_agents_need(tmp_path: Path):
    roster = up.lay_out(tmp_path / "fed", site_count=2, relays=1)
    assert [site.name for site in roster.sites] == ["site1", "site2", "relay1"]
    assert [site.has_data for site in roster.sites] == [True, True, False]
    assert load_roster(tmp_path / "fed" / "roster.toml") == ("fed", roster)
    for site in roster.sites:
        config = AgentConfig.load(tmp_path / "fed" / site.name / "agent.toml")
        assert config.listen.port == site.port
        assert config.spark.mode == ("local" if site.has_data else "none")
        for file in (config.tls.ca, config.tls.certificate, config.tls.key):
            assert Path(file).is_file()


def test_an_existing_layout_is_kept_as_it_is(tmp_path: Path):
    first = up.lay_out(tmp_path / "fed", site_count=1)
    assert up.lay_out(tmp_path / "fed", site_count=7) == first


def test_no_sites_are_refused(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="at least one site"):
        up.lay_out(tmp_path / "fed", site_count=0)


def test_nothing_runs_where_nothing_was_started(tmp_path: Path):
    assert up.running(tmp_path).pids == {}
