"""The counter of steps finds what is on a way, and the walks of ``docs/reading_order.md`` stop at
every file on it, in order.

A stop is a file and, after it, functions of it; a file alone stands for the first of its functions
that runs. Items that begin with "Meanwhile" are another thread's, and have no place in the order.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from steps import walked_alone

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "reading_order.md").read_text("utf-8")
TITLES = {
    "log line": "A log line becomes frames on the wire",
    "bytes": "Bytes become an answer",
    "acknowledgement": "An acknowledgement finds its site",
    "install": "An install reaches a site",
}
PLUMBING_MAX = 28
COUNTS = re.compile(r"Some (\d+), (\d+), (\d+) and (\d+) functions")
OFF_MAX = 0.04
"""By how much the page may round."""
QUOTED = re.compile(r"`([^`]+)`")


class Stop(msgspec.Struct, frozen=True):
    file: str
    function: str
    """Empty: the first of them."""
    is_meanwhile: bool

    def __str__(self) -> str:
        return f"{self.file} {self.function}".strip()


def stops_of(way: str) -> list[Stop]:
    section = PAGE.partition(f"\n### {TITLES[way]}\n")[2]
    section = re.split(r"^##", section, maxsplit=1, flags=re.M)[0]
    return [
        stop
        for item in re.split(r"^\d+\. ", section, flags=re.M)[1:]
        for stop in _stops_in(item, is_meanwhile=item.startswith("Meanwhile"))
    ]


def _stops_in(item: str, *, is_meanwhile: bool) -> list[Stop]:
    found: list[Stop] = []
    for said in QUOTED.findall(item):
        if said.endswith(".py"):
            found.append(Stop(said, "", is_meanwhile))
        elif found[-1].function:
            found.append(Stop(found[-1].file, said, is_meanwhile))
        else:
            found[-1] = Stop(found[-1].file, said, is_meanwhile)
    return found


def plumbing() -> set[str]:
    said = PAGE.partition("They pass by the plumbing:")[2].partition("\n\n")[0]
    return {name for name in QUOTED.findall(said) if "/" in name}


@pytest.fixture(scope="module")
def ran() -> dict[str, list[tuple[str, str]]]:
    """By way: (file, function), in the order of the first call."""
    return walked_alone()


@pytest.fixture(scope="module")
def found(ran: dict[str, list[tuple[str, str]]]) -> dict[str, set[str]]:
    """By way: the functions."""
    return {way: {function for _, function in calls} for way, calls in ran.items()}


@pytest.mark.parametrize(
    ("way", "first", "last"),
    [
        ("log line", "Cutter.read_on", "encode_frame"),
        ("bytes", "Codec.decode", "RootLedger.publish"),
        ("acknowledgement", "AckMaker.make", "CubeWriter.mark_acked"),
        ("install", "Peer.command", "Feeder.install"),
    ],
)
def test_a_way_is_walked_to_its_end(
    found: dict[str, set[str]], way: str, first: str, last: str
) -> None:
    assert {first, last} <= found[way]


def test_what_runs_in_every_turn_is_no_step(found: dict[str, set[str]]) -> None:
    every = set().union(*found.values())
    assert not every & {"Node.tick", "LogFollower.poll", "Peer.next_deadline_s", "Neighbours.beat"}


def test_ways_do_not_run_into_each_other(found: dict[str, set[str]]) -> None:
    assert "Codec.decode" not in found["log line"]
    assert "AckMaker.make" not in found["bytes"] | found["install"]


@pytest.mark.parametrize("way", TITLES)
def test_every_stop_is_on_the_way(way: str, ran: dict[str, list[tuple[str, str]]]) -> None:
    files = {file for file, _ in ran[way]}
    strange = [
        str(stop)
        for stop in stops_of(way)
        if stop.file not in files or (stop.function and (stop.file, stop.function) not in ran[way])
    ]
    assert strange == [], "these do not run: python scripts/steps.py --list"


@pytest.mark.parametrize("way", TITLES)
def test_stops_are_in_the_order_of_the_first_call(
    way: str, ran: dict[str, list[tuple[str, str]]]
) -> None:
    first: dict[str, int] = {}
    for number, (file, function) in enumerate(ran[way]):
        first.setdefault(file, number)
        first.setdefault(f"{file} {function}", number)
    stops = [str(stop) for stop in stops_of(way) if not stop.is_meanwhile]
    placed = [(first[stop], stop) for stop in stops if stop in first]
    early = [f"{b[1]} before {a[1]}" for a, b in pairwise(placed) if b < a]
    assert early == [], "as it runs: python scripts/steps.py --list"


@pytest.mark.parametrize("way", TITLES)
def test_no_file_on_the_way_is_passed_by_but_plumbing(
    way: str, ran: dict[str, list[tuple[str, str]]]
) -> None:
    files = dict.fromkeys(file for file, _ in ran[way])
    stopped_at = {stop.file for stop in stops_of(way)}
    assert [file for file in files if file not in stopped_at | plumbing()] == []


def test_plumbing_is_little_and_all_of_it_is_passed(ran: dict[str, list[tuple[str, str]]]) -> None:
    """So no file hides among it that has left all ways."""
    files = {file for way in ran.values() for file, _ in way}
    assert plumbing() - files == set()
    assert len(plumbing()) <= PLUMBING_MAX


def test_the_page_says_how_long_the_ways_are(ran: dict[str, list[tuple[str, str]]]) -> None:
    said = COUNTS.search(PAGE)
    assert said is not None
    for way, count in zip(TITLES, map(int, said.groups()), strict=True):
        assert len(ran[way]) == pytest.approx(count, rel=OFF_MAX), f"{way}: scripts/steps.py"
