"""Coordinates measure like a metric, and absurd ones are told apart before anything is computed."""

from math import inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.algebra.coordinate import (
    HEIGHT_MIN_MS,
    ORIGIN,
    POSITION_MAX_MS,
    Coordinate,
    problem_with_coordinate,
)

POSITIONS = st.floats(-POSITION_MAX_MS, POSITION_MAX_MS)
COORDINATES = st.builds(
    Coordinate,
    POSITIONS,
    POSITIONS,
    POSITIONS,
    height=st.floats(HEIGHT_MIN_MS, POSITION_MAX_MS),
    error=st.floats(0.0, 2.0),
)


@given(COORDINATES, COORDINATES, COORDINATES)
def test_distances_are_symmetric_and_a_detour_is_never_shorter(a, b, c):
    assert a.distance_s(b) == pytest.approx(b.distance_s(a))
    assert a.distance_s(c) <= (a.distance_s(b) + b.distance_s(c)) * (1 + 1e-9)


@given(COORDINATES, COORDINATES)
def test_a_distance_holds_both_heights(a, b):
    assert a.distance_s(b) * 1_000 >= (a.height + b.height) * (1 - 1e-9)


def test_distances_are_in_seconds_and_coordinates_in_milliseconds():
    berlin = Coordinate(x=0.0, y=0.0, z=0.0, height=5.0)
    boston = Coordinate(x=60.0, y=80.0, z=0.0, height=10.0)
    assert berlin.distance_s(boston) == pytest.approx(0.115)


@given(COORDINATES)
def test_what_is_on_earth_has_no_problem_and_survives_the_wire(coordinate):
    assert problem_with_coordinate(coordinate) is None
    sent = msgspec.msgpack.encode(coordinate)
    assert msgspec.msgpack.decode(sent, type=Coordinate) == coordinate


def test_the_origin_is_a_coordinate_that_says_nothing():
    assert problem_with_coordinate(ORIGIN) is None
    assert ORIGIN.error == 1.0


@pytest.mark.parametrize("absurd", [nan, inf, -inf, 1e5, -1e300])
@pytest.mark.parametrize("field", ["x", "y", "z", "height", "error"])
def test_an_absurd_value_is_a_problem_wherever_it_stands(field, absurd):
    coordinate = msgspec.structs.replace(ORIGIN, **{field: absurd})
    problem = problem_with_coordinate(coordinate)
    if field == "error" and absurd == 1e5:
        assert problem is None  # merely very unsure of itself
    else:
        assert problem is not None
        assert "wanted" in problem


@pytest.mark.parametrize("height", [0.0, -1.0])
def test_a_height_is_above_zero(height):
    assert "height" in problem_with_coordinate(Coordinate(x=0.0, y=0.0, z=0.0, height=height))
