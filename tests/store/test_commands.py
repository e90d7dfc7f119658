"""Commands on disk."""

from __future__ import annotations

from pathlib import Path

from store_kit import query_of

from headwater.overlay.outputs import CommandAccepted, VectorAdvanced
from headwater.plan.command import Install, Remove
from headwater.plan.tree import Tree
from headwater.store.commands import CommandStore


def install(name: str, counter: int) -> Install:
    return Install(query_of(name, counter), (Tree(0, ((1, 0), (2, 0))),), 3, age_s=1.5)


def test_installs_and_the_vector_come_back_as_they_were(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    one, two = install("hits", 1), install("errors", 2)
    store.write([CommandAccepted(one, {"home": 1}), CommandAccepted(two, {"home": 2, "oslo": 7})])
    store.close()
    store = CommandStore(tmp_path)
    assert sorted(store.live(), key=lambda i: i.query.id.counter) == [one, two]
    assert store.vector() == {"home": 2, "oslo": 7}
    store.close()


def test_a_removal_leaves_nothing_but_the_vector(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    one = install("hits", 1)
    remove = Remove(one.query.id, "home", 2)
    store.write([CommandAccepted(one, {"home": 1}), CommandAccepted(remove, {"home": 2})])
    store.write([VectorAdvanced({"oslo": 4})])
    assert store.live() == []
    assert store.vector() == {"home": 2, "oslo": 4}
    store.close()


def test_the_vector_never_falls(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    store.write([VectorAdvanced({"home": 5}), VectorAdvanced({"home": 3})])
    assert store.vector() == {"home": 5}
    store.close()


def test_own_numbers_rise_across_restarts_and_beyond_what_peers_remember(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    assert [store.next_counter("home"), store.next_counter("home")] == [1, 2]
    store.close()
    store = CommandStore(tmp_path)
    assert store.next_counter("home") == 3
    store.write([VectorAdvanced({"home": 40})])
    assert store.next_counter("home") == 41
    assert store.next_counter("oslo") == 1
    store.close()
