"""Made-up worlds are what they say; the measured ones are tried where the traces are."""

from pathlib import Path

import numpy as np
import pytest

from headwater.errors import ConfigurationError
from headwater.sim.world import latencies

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
needs_traces = pytest.mark.skipif(
    not (DATA / latencies.PLANETLAB).exists(), reason=f"the latency traces are not in {DATA}"
)


def is_a_world(world):
    count = len(world.names)
    assert len(set(world.names)) == len(world.regions) == count
    assert world.one_way_s.shape == (count, count)
    assert np.array_equal(world.one_way_s, world.one_way_s.T)
    assert not world.one_way_s.diagonal().any()
    assert (world.one_way_s[np.triu_indices(count, 1)] > 0.0).all()
    return True


@pytest.mark.parametrize("seed", range(5))
def test_the_test_bed_is_mortars(seed):
    """Section 7: 34 stubs, the longest delay between two peers 104 ms, the shortest two links."""
    world = latencies.transit_stub(680, seed=seed)
    assert is_a_world(world)
    assert len(set(world.regions)) == 34
    assert {world.regions.count(region) for region in set(world.regions)} == {20}
    assert world.one_way_s.max() == pytest.approx(0.104)
    assert world.one_way_s[np.triu_indices(680, 1)].min() == pytest.approx(0.002)


def test_a_seed_makes_one_world():
    one, same, other = (latencies.transit_stub(100, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.one_way_s, same.one_way_s)
    assert not np.array_equal(one.one_way_s, other.one_way_s)


def test_a_plane_is_a_world():
    assert is_a_world(latencies.plane(50, seed=1))


@needs_traces
def test_planetlab_has_490_nodes():
    world = latencies.planetlab(DATA)
    assert is_a_world(world)
    assert len(world.names) == 490
    assert 0.05 < np.median(world.one_way_s) < 0.09


@needs_traces
def test_seattle_has_99_devices():
    assert is_a_world(latencies.seattle(DATA, slice_number=688))


@needs_traces
def test_wonder_network_has_cities_in_countries():
    world = latencies.wonder_network(DATA)
    assert is_a_world(world)
    assert len(set(world.regions)) > 80


@needs_traces
def test_a_slice_that_is_not_there_is_told():
    with pytest.raises(ConfigurationError, match="no slice"):
        latencies.planetlab(DATA, slice_number=19)
