"""A simulation's file: what it may say, and how it is refused."""

from pathlib import Path
from random import Random

import pytest

from headwater.errors import ConfigurationError
from headwater.sim.faults.faults import Kind
from headwater.sim.simulation import make_scenario
from headwater.sim.simulation_file import parse_simulation, read_simulation
from headwater.sim.world.clock_offsets import draw_offsets

EXAMPLES = Path(__file__).parents[2] / "examples" / "simulate"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_example_is_accepted(path: Path) -> None:
    assert read_simulation(path).duration > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed = [", ("not a TOML file",)),
        ("sede = 1", ("unknown 'sede'", "seed, duration")),
        ("[world]\nsize = 9", ("[world]", "unknown 'size'", "kind, sites")),
        ('[world]\nkind = "mars"', ("world.kind", "'mars'", "transit-stub, planetlab")),
        ("[world]\nsites = 1", ("world.sites", "wanted 2 to", "got 1")),
        ("[world]\nsites = true", ("world.sites", "got True")),
        ("[query]\nwindow = 1\nslide = 2", ("query.slide", "at most the window", "got 2")),
        ("[query]\ntrees = 17", ("query.trees", "1 to 16", "got 17")),
        ("duration = 5", ("duration", "install_at + begin_after", "got 5")),
        ("[routing]\nstriping = false", ("routing.striping", "always striped")),
        ("[overlay]\nheartbeats = 1", ("[overlay]", "unknown 'heartbeats'", "heartbeat_every_s")),
        ('[[faults]]\nkind = "flood"', ("faults[0].kind", "'flood'", "nodes, links, rolling")),
        ('[[faults]]\nkind = "nodes"', ("[[faults]] 1", "either share or names")),
        ('[[faults]]\nkind = "nodes"\nshare = 2', ("share between 0 and 1", "got 2")),
        ('[[faults]]\nkind = "nodes"\nshare = 0.1\nfrom = 500', ("nodes", "500")),
        ('[[faults]]\nkind = "nodes"\nshare = 0.1\nfor = 5', ("[faults] 1", "'for'", "until")),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_there_is(
    text: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse_simulation(text, where="my.toml")
    for word in ("my.toml", *words):
        assert word in str(refused.value)


def test_measured_worlds_say_which_data_they_want() -> None:
    file = parse_simulation('[world]\nkind = "planetlab"\ndata = "/nowhere"')
    with pytest.raises(ConfigurationError, match=r"lat_planetlab490.*/nowhere.*transit-stub"):
        make_scenario(file)


def test_a_site_that_is_not_there_is_refused_by_name() -> None:
    file = parse_simulation('[world]\nsites = 5\n[[faults]]\nkind = "nodes"\nnames = ["paris"]')
    with pytest.raises(ConfigurationError, match=r"no site 'paris'; there are 5, as s0"):
        make_scenario(file)


def test_a_link_that_no_tree_has_is_refused_by_name() -> None:
    file = parse_simulation('[world]\nsites = 5\n[[faults]]\nkind = "links"\nnames = ["s1-s9"]')
    with pytest.raises(ConfigurationError, match="no link 's1-s9' in the trees"):
        make_scenario(file)


def test_churn_keeps_as_many_gone_at_any_time() -> None:
    file = parse_simulation(
        "duration = 100\n[world]\nsites = 50\n"
        '[[faults]]\nkind = "churn"\nshare = 0.2\nfrom = 20\nevery = 10'
    )
    faults = make_scenario(file).faults
    assert {fault.kind for fault in faults} == {Kind.ISOLATE}
    for at_s in (25.0, 35.0, 65.0, 95.0):
        gone = [
            site
            for fault in faults
            if fault.at_s <= at_s < fault.at_s + fault.for_s
            for site in fault.sites
        ]
        assert len(gone) == len(set(gone)) == 10


def test_rolling_failures_come_one_after_the_other() -> None:
    file = parse_simulation(
        'duration = 200\n[world]\nsites = 50\n[[faults]]\nkind = "rolling"\nfrom = 20\n'
        "shares = [0.1, 0.4]\ndown = 30\nup = 40"
    )
    told = [(fault.at_s, fault.for_s, len(fault.sites)) for fault in make_scenario(file).faults]
    assert told == [(20.0, 30.0, 5), (90.0, 30.0, 20)]


def test_planetlab_clocks_are_as_the_paper_says() -> None:
    offsets = draw_offsets("planetlab", 439, random=Random(1))
    assert sum(abs(offset) > 0.5 for offset in offsets) == round(0.2 * 439)
    assert 3 <= sum(abs(offset) > 3_000 for offset in offsets) <= 8
    half = draw_offsets("planetlab", 439, random=Random(1), scale=0.5)
    assert half == tuple(0.5 * offset for offset in offsets)
