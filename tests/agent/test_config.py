"""Configuration files: read with care, refused with reasons."""

from pathlib import Path

import pytest

from headwater.agent.config import AgentConfig
from headwater.agent.settings import RuntimeSettings
from headwater.errors import ConfigurationError
from headwater.overlay.links.link_budgets import LinkBudgets
from headwater.plan.roster import Roster, Site


def test_relative_paths_are_relative_to_the_file(tmp_path: Path):
    path = tmp_path / "agent.toml"
    path.write_text('site = "oslo"\ndirectory = "state"\n[sources]\nopen = ["/var/log", "logs"]\n')
    config = AgentConfig.load(path)
    assert config.directory == str(tmp_path / "state")
    assert config.sources.open == ("/var/log", str(tmp_path / "logs"))
    assert (config.spark.shared, config.spark.secret) == (None, None)
    path.write_text('site = "oslo"\n[spark]\nshared = "/mnt/all"\nsecret = "secret"\n')
    spark = AgentConfig.load(path).spark
    assert (spark.shared, spark.secret) == ("/mnt/all", str(tmp_path / "secret"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "missing required field `site`"),
        ('site = "a"\nsitte = 1', "unknown field `sitte`; keys at the top: site, directory"),
        ('site = "a"\n[listen]\nprot = 1', "`prot` - at `$.listen`; keys there: host, port"),
        (
            'site = "a"\n[[policy.operators]]\nname = "b"\nmay = ["reed"]',
            "operators[0].may[0]`; wanted one of: install, remove, read",
        ),
        ('site = "a"\n[overlay]\nheartbeat_every_s = -1.0', "heartbeat_every_s > 0"),
        ('site = "a"\nreplan_every_s = 0', "replan_every_s > 0, got 0"),
        ('site = "a"\n[listen]\nport = 65536', "listen.port: wanted a port from 0 to 65535, got 6"),
        ('site = "a"\n[listen]\nport = -1', "wanted a port from 0 to 65535, got -1"),
        ('site = "a"\nmetrics_port = 99999', "metrics_port: wanted a port from 0 to 65535"),
        ('site = "a"\n[spark]\nmode = "cloud"', 'wanted "local" or "none"'),
        ('site = "a"\n[spark]\nshared = "s3a://b/x"', "has to be mounted"),
        ('site = "a"\n[links]\nbudget = "200 kb/s"', "links.budget: wanted bits or bytes a second"),
        ('site = "a"\n[links]\nbudget = 200', "Expected `str | null`, got `int`"),
        ('site = "a"\n[links]\nbugdet = "1 kB/s"', "keys there: budget, control_share_max, to"),
        ('site = "a"\n[links.to.fra]\nbudget = "9"', "links.to.fra.budget: wanted bits or bytes"),
        ('site = "a"\n[links]\ncontrol_share_max = 1.0', "more than 0 and less than 1, got 1.0"),
        ('site = "a"\n[policy]\ndenied_columns = ["x"]', "unknown field `denied_columns`"),
        ('site = "a', "agent.toml"),
        ("site = " + "[" * 5000, "agent.toml"),
        ('site = "a"\nreplan_every_s = ' + "9" * 5000, "agent.toml"),
    ],
)
def test_a_mistake_is_refused_and_named(tmp_path: Path, text: str, wanted: str):
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"agent\.toml") as caught:
        AgentConfig.load(path)
    assert wanted in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml.*No such file"):
        AgentConfig.load(tmp_path / "nowhere.toml")


def test_budgets_of_links_are_in_bytes_a_second(tmp_path: Path):
    path = tmp_path / "agent.toml"
    path.write_text(
        'site = "oslo"\n[links]\nbudget = "200 kbit/s"\n'
        '[links.to.frankfurt]\nbudget = "64 kbit/s"\n'
    )
    config = AgentConfig.load(path)
    assert config.links.budgets == LinkBudgets(25_000.0, {"frankfurt": 8_000.0})
    assert RuntimeSettings.of(config).node.budgets == config.links.budgets
    sites = [Site(number, name) for number, name in enumerate(("oslo", "paris", "rome"))]
    with pytest.raises(ConfigurationError, match=r"links\.to\.frankfurt: no other site"):
        config.require_budgets(Roster(1, tuple(sites), home="oslo"))
    sites.append(Site(3, "frankfurt"))
    config.require_budgets(Roster(1, tuple(sites), home="oslo"))


def test_an_update_may_be_made_smaller_for_a_narrow_link_and_not_larger(tmp_path: Path):
    path = tmp_path / "agent.toml"
    path.write_text('site = "oslo"\n[cube]\nsummary_bytes_max = 32768\n')
    assert RuntimeSettings.of(AgentConfig.load(path)).summary_bytes_max == 32_768
    for wrong in (1_000, 1 << 30):
        path.write_text(f'site = "oslo"\n[cube]\nsummary_bytes_max = {wrong}\n')
        with pytest.raises(ConfigurationError, match=f"wanted 4096 to 4194304, got {wrong}"):
            AgentConfig.load(path)
