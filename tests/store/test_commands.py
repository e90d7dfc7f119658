"""Commands on disk."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec
from store_kit import query_of

from headwater.algebra.words.proof import Proof
from headwater.net.values.words import command_word
from headwater.overlay.outputs import CommandAccepted, CountsLearned
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Count, Install, Remove
from headwater.plan.tree import Tree
from headwater.store.commands import CommandStore

PROOF = Proof(word=b"word", signature=b"signature", key=b"key", certificate=b"certificate")


def install(name: str, counter: int) -> Install:
    """Its word is a real one: the query is read from it."""
    made = Install(
        query=query_of(name, counter),
        trees=(Tree(0, ((1, 0), (2, 0))),),
        roster_version=3,
        age_s=1.5,
        operator="olga",
        proof=PROOF,
        plan_proof=PROOF,
    )
    signed = msgspec.structs.replace(PROOF, word=command_word(made))
    return msgspec.structs.replace(made, proof=signed)


def count(installer: str, number: int, *live: Install) -> Count:
    return Count(
        installer=installer,
        number=number,
        revision=number,
        live=tuple(str(one.query.id) for one in live),
        proof=PROOF,
    )


def test_installs_and_counts_come_back_as_they_were_with_their_proofs(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    one, two = install("hits", 1), install("errors", 2)
    first, second = count("home", 1, one), count("home", 2, one, two)
    other = msgspec.structs.replace(
        count("oslo", 7), ended=(Remove(id=one.query.id, installer="oslo", counter=7),)
    )
    store.write([CommandAccepted(one, (first,)), CommandAccepted(two, (second, other))])
    store.close()
    store = CommandStore(tmp_path)
    assert sorted(store.live(), key=lambda i: i.query.id.counter) == [one, two]
    assert store.counts() == [second, other]
    store.close()


def test_a_removal_leaves_nothing_but_the_count(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    one = install("hits", 1)
    remove = Remove(id=one.query.id, installer="home", counter=2)
    store.write([CommandAccepted(one, (count("home", 1, one),))])
    store.write([CommandAccepted(remove, (count("home", 2),))])
    store.write([CountsLearned((count("oslo", 4),))])
    assert store.live() == []
    assert store.counts() == [count("home", 2), count("oslo", 4)]
    store.close()


def test_own_numbers_rise_across_restarts_and_beyond_what_peers_remember(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    assert [store.next_counter("home"), store.next_counter("home")] == [1, 2]
    store.close()
    store = CommandStore(tmp_path)
    assert store.next_counter("home") == 3
    store.write([CountsLearned((count("home", 40),))])
    assert store.next_counter("home") == 41
    assert store.next_counter("oslo") == 1
    store.close()


def test_an_install_that_cannot_be_read_is_set_aside_and_stays(tmp_path: Path) -> None:
    store = CommandStore(tmp_path)
    one, two = install("hits", 1), install("errors", 2)
    store.write([CommandAccepted(one, (count("home", 1, one),)), CommandAccepted(two, ())])
    store.close()
    with sqlite3.connect(tmp_path / "commands.sqlite") as database:
        database.execute("UPDATE installs SET command = x'c1ff' WHERE id = ?", (str(one.query.id),))
    database.close()
    for _ in range(2):
        store = CommandStore(tmp_path)
        assert store.live() == [two]
        assert list(store.set_aside()) == [str(one.query.id)]
        store.close()
    store = CommandStore(tmp_path)
    store.write([CommandAccepted(Remove(id=one.query.id, installer="home", counter=3), ())])
    assert store.set_aside() == {}
    store.close()


def test_settings_are_kept_with_their_install_as_they_were_signed(tmp_path: Path) -> None:
    """Also by an agent that does not know all that they say."""
    one = install("hits", 1)
    said = Alter(
        id=one.query.id,
        installer="home",
        counter=2,
        number=1,
        first_pane=40,
        settings=Settings(deadline_s=3.0, waits=True),
    )
    proof = msgspec.structs.replace(PROOF, word=command_word(said))
    known = msgspec.structs.replace(said, settings=Settings(deadline_s=3.0), proof=proof)
    store = CommandStore(tmp_path)
    store.write([CommandAccepted(msgspec.structs.replace(one, alters=(known,)), ())])
    store.close()
    (kept,) = CommandStore(tmp_path).live()
    assert kept.alters == (msgspec.structs.replace(said, proof=proof),)
