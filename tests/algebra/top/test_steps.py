"""The three steps over random sites, values, failures and relays, against all that the covered
sites have."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.algebra.top.keyed import Keyed, group_names, keyed
from headwater.algebra.top.request import TOP_KEYS_MAX, TopRequest
from headwater.algebra.top.steps import Found, Rest, asked_for, found, largest

NOBODY = float("inf")


class Site:
    """The groups of one pane at one site, by key, and which of them were sent."""

    def __init__(self, values: dict[int, float]) -> None:
        self.left = dict(values)
        self.all = dict(values)
        self.asked = 0

    def _send(self, mask: np.ndarray) -> dict[int, float]:
        keys = [key for key, is_sent in zip(self.left, mask, strict=True) if is_sent]
        return {key: self.left.pop(key) for key in keys}

    def first(self, count: int) -> dict[int, float]:
        return self._send(largest(self._values(), count))

    def answer(self, asked: TopRequest) -> dict[int, float]:
        hashes = np.array(list(self.left), dtype=np.uint64)
        self.asked = asked.number
        mask = asked_for(self._values(), hashes, least=asked.least, keys=asked.keys)
        return self._send(mask)

    def _values(self) -> np.ndarray:
        return np.array(list(self.left.values()))

    @property
    def rest(self) -> float:
        return max(self.left.values(), default=0.0)


class Root:
    """What is in, by summaries of one or several sites, and what their sites keep back."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, dict[int, float]]] = []
        self.rests: dict[int, list[tuple[int, float, int]]] = {}
        """By site: (sites of the piece, what they keep back together, request answered)."""
        self.requests: dict[int, TopRequest] = {}

    def take(self, members: list[int], sites: list[Site], sent: list[dict[int, float]]) -> None:
        bits = sum(1 << n for n in members)
        rows: Counter[int] = Counter()
        for one in sent:
            rows.update(one)
        self.parts.append((bits, dict(rows)))
        asked = min(sites[n].asked for n in members)
        told = (bits, sum(sites[n].rest for n in members), asked)
        for n in members:
            self.rests[n] = [told]

    def look(self, count: int) -> Found:
        keys = sorted({key for _, rows in self.parts for key in rows})
        at = {key: n for n, key in enumerate(keys)}
        rows = Keyed(
            tuple(np.array([at[k] for k in rows], dtype=np.int64) for _, rows in self.parts),
            tuple(np.array(list(rows.values()), dtype=float) for _, rows in self.parts),
            np.array(keys, dtype=np.uint64),
        )
        told = {one for of in self.rests.values() for one in of if one[1] > 0.0}
        rests = []
        for bits, most, asked in sorted(told):
            request = self.requests.get(asked)
            least = NOBODY if request is None else request.least
            named = frozenset() if request is None else frozenset(request.keys)
            rests.append(Rest(bits, most, least, named))
        return found(rows, [bits for bits, _ in self.parts], rests, count)


values = st.dictionaries(st.integers(0, 30), st.integers(0, 20).map(float), max_size=25)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Site], list[list[int]], list[set[int]], int]:
    """Sites, relays as groups of them, who fails before each step, and k."""
    sites = [Site(one) for one in draw(st.lists(values, min_size=1, max_size=7))]
    numbers = list(range(len(sites)))
    cut = draw(st.integers(1, len(sites)))
    relays = [numbers[n : n + cut] for n in range(0, len(sites), cut)]
    fails = [draw(st.sets(st.sampled_from(numbers), max_size=2)) for _ in range(3)]
    return sites, relays, fails, draw(st.integers(1, 6))


def run(
    sites: list[Site], relays: list[list[int]], fails: list[set[int]], count: int
) -> tuple[Root, set[int], list[set[int]]]:
    """The root, the sites that are in, and who was heard at each step."""
    root, heard = Root(), list[set[int]]()
    request: TopRequest | None = None
    covered: set[int] = set()
    for step, missing in enumerate(fails):
        heard.append(set())
        for relay in relays:
            members = [n for n in relay if n not in missing and (step == 0 or n in covered)]
            if not members:
                continue
            if request is None:
                sent = [sites[n].first(count) for n in members]
            else:
                sent = [sites[n].answer(request) for n in members]
            root.take(members, sites, sent)
            heard[-1] |= set(members)
        covered |= heard[0]
        seen = root.look(count)
        least = seen.kth / len(sites) if request is None else request.least
        further = set() if request is None else {*request.keys, *seen.candidates.tolist()}
        keys = tuple(sorted(further))
        request = TopRequest(0, step + 1, least, keys)
        root.requests[step + 1] = request
    return root, covered, heard


def truth(sites: list[Site], covered: set[int]) -> Counter[int]:
    total: Counter[int] = Counter()
    for n in covered:
        total.update(sites[n].all)
    return total


def check(root: Root, sites: list[Site], covered: set[int], count: int) -> int:
    """What is called exact is, and none of the others is above it."""
    seen, whole = root.look(count), truth(sites, covered)
    sums: Counter[int] = Counter()
    for _, rows in root.parts:
        sums.update(rows)
    first = sorted(sums.items(), key=lambda one: -one[1])[: seen.exact]
    sure = dict(first)
    assert len(sure) == seen.exact
    floor = min(sure.values(), default=0.0)
    tied = [key for key, value in sums.items() if value == floor]
    assert all(whole[key] == value for key, value in sure.items() if key not in tied)
    others = [value for key, value in whole.items() if key not in sure]
    assert not sure or all(value <= floor for value in others)
    return seen.exact


@settings(max_examples=400, deadline=None)
@given(worlds())
def test_what_is_called_exact_is_whoever_fails(world) -> None:
    sites, relays, fails, count = world
    root, covered, _ = run(sites, relays, fails, count)
    check(root, sites, covered, count)


@settings(max_examples=300, deadline=None)
@given(worlds(), st.sets(st.integers(0, 6), max_size=2))
def test_the_first_k_are_exact_over_the_sites_that_are_in_unless_one_fails_in_between(
    world, absent
) -> None:
    sites, relays, _, count = world
    root, covered, _ = run(sites, relays, [absent, absent, absent], count)
    groups = sum(value > 0.0 for value in truth(sites, covered).values())
    assert check(root, sites, covered, count) >= min(count, groups)


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_who_missed_a_step_answers_both_later(world) -> None:
    """Once more where a piece has come apart: of each of its sites less is known then."""
    sites, relays, fails, count = world
    root, covered, _ = run(sites, relays, [fails[0], fails[1], set()], count)
    for _ in range(2):
        last = root.requests[max(root.requests)]
        keys = sorted({*last.keys, *root.look(count).candidates.tolist()})
        again = TopRequest(0, last.number + 1, last.least, tuple(keys))
        root.requests[again.number] = again
        for n in sorted(covered):
            root.take([n], sites, [sites[n].answer(again)])
    groups = sum(value > 0.0 for value in truth(sites, covered).values())
    assert check(root, sites, covered, count) >= min(count, groups)


def test_groups_have_their_own_names_in_whichever_part_they_stand() -> None:
    parts = [pa.table({"k": list(keys), "n": [1] * len(keys)}) for keys in ("ba", "ac", "dbca")]
    rows = keyed(parts, ["k"], "n")
    for part, numbers in zip(parts, rows.numbers, strict=True):
        assert rows.names[numbers].tolist() == group_names(part, ["k"]).tolist()


def test_a_site_without_the_group_that_another_hides_is_not_believed_to_have_sent_it() -> None:
    """Two sites in one piece: one of them may still have all of what it was not asked for."""
    rows = Keyed((np.array([0]),), (np.array([10.0]),), np.array([7], dtype=np.uint64))
    rest = Rest(0b11, 8.0)
    assert found(rows, [0b11], [rest], 1).exact == 0
    assert found(rows, [0b11], [msgspec.structs.replace(rest, least=4.0)], 1).exact == 0
    named = msgspec.structs.replace(rest, named=frozenset({7}))
    assert found(rows, [0b11], [named], 1).exact == 1


def test_a_piece_says_nothing_of_the_one_of_its_sites_that_still_keeps_something_back() -> None:
    """The other has sent more since: what the piece has of a group may all be of that one."""
    rows = Keyed((np.array([0]),), (np.array([10.0]),), np.array([7], dtype=np.uint64))
    assert found(rows, [0b11], [Rest(0b10, 8.0)], 1).exact == 0
    assert found(rows, [0b10], [Rest(0b10, 8.0)], 1).exact == 1


def test_negative_and_endless_values_make_nothing_sure() -> None:
    for bad in (-1.0, float("inf"), float("nan")):
        rows = Keyed((np.array([0, 1]),), (np.array([10.0, bad]),), np.arange(2, dtype=np.uint64))
        assert found(rows, [1], [], 1).exact == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (TopRequest(1, 1, float("nan")), "wanted a value from 0 on"),
        (TopRequest(1, 1, -1.0), "wanted a value from 0 on"),
        (TopRequest(1, 1, 0.0, (2, 1)), "got 2"),
        (TopRequest(1, 1, 0.0, tuple(range(TOP_KEYS_MAX + 1))), f"got {TOP_KEYS_MAX + 1}"),
    ],
)
def test_a_request_is_looked_at(asked: TopRequest, words: str) -> None:
    assert words in (asked.fault() or "")
    assert TopRequest(1, 1, 2.5, (1, 2)).fault() is None
    assert TopRequest(1, 1, 2.5, tuple(range(TOP_KEYS_MAX))).fault() is None
