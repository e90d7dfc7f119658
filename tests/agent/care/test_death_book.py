"""Deaths of Spark are written down with the queries at work, and shown for each of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headwater.agent.care.death_book import ALONE_BATCHES, DEATHS_KEPT, FILE, DeathBook, Part
from headwater.spark.jvm.jvm_end import JvmDied, end_of
from headwater.spark.jvm.lease import BATCH, ROOT_PART, Work
from headwater.store.disk import Disk

KILLED = JvmDied(end_of(-9, ""), (Work("batch", ("a@x#1", "b@x#2")), Work("root part", ("c@x#3",))))


def test_a_death_is_found_again_by_a_later_life_of_the_agent(tmp_path: Path) -> None:
    DeathBook(tmp_path).add(KILLED, at_s=5.0)
    (death,) = DeathBook(tmp_path).of_query("b@x#2")
    assert (death.at_s, death.cause) == (5.0, "killed")
    assert "SIGKILL" in death.text
    assert death.at_work == KILLED.at_work
    assert DeathBook(tmp_path).of_query("c@x#3") == (death,)
    assert DeathBook(tmp_path).of_query("d@x#4") == ()


def test_the_newest_are_kept(tmp_path: Path) -> None:
    book = DeathBook(tmp_path)
    for number in range(DEATHS_KEPT + 5):
        book.add(KILLED, at_s=float(number))
    found = DeathBook(tmp_path).deaths
    assert len(found) == DEATHS_KEPT
    assert found[-1].at_s == DEATHS_KEPT + 4


def test_what_can_not_be_read_is_set_aside_and_ends_nobody(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"[{")
    book = DeathBook(tmp_path)
    assert book.deaths == ()
    assert (tmp_path / FILE).with_suffix(".damaged").read_bytes() == b"[{"
    book.add(KILLED, at_s=1.0)
    assert len(DeathBook(tmp_path).deaths) == 1


def test_what_a_crash_left_half_written_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / FILE).with_suffix(".new").write_bytes(b"[{")
    DeathBook(tmp_path).add(KILLED, at_s=1.0)
    assert len(DeathBook(tmp_path).deaths) == 1


class FailingDisk(Disk):
    def sync_file(self, path: Path) -> None:
        raise OSError(28, os.strerror(28), str(path))


def test_a_full_disk_costs_the_note_and_not_the_keeper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = DeathBook(tmp_path, FailingDisk())
    book.add(KILLED, at_s=1.0)
    book.add(KILLED, at_s=2.0)
    assert len(book.of_query("a@x#1")) == 2, "it is remembered while the agent lives"
    assert DeathBook(tmp_path).deaths == ()


def died(*queries: str, root: str = "") -> JvmDied:
    works = (Work("batch", queries), *((Work("root part", (root,)),) if root else ()))
    return JvmDied(end_of(-9, ""), works)


def test_who_was_at_work_when_a_jvm_died_is_suspected_and_not_blamed(tmp_path: Path) -> None:
    book = DeathBook(tmp_path)
    assert book.suspects() == frozenset()
    assert book.add(died("a", root="c"), at_s=1.0) is None
    assert book.add(died("a", "b"), at_s=2.0) is None, "with another one, so nobody knows"
    assert book.suspects() == {"a", "b"}
    assert DeathBook(tmp_path).suspects() == {"a", "b"}, "also after a restart"


def test_who_is_suspected_and_alone_at_the_next_death_is_blamed(tmp_path: Path) -> None:
    book = DeathBook(tmp_path)
    book.add(died("a", "b"), at_s=1.0)
    assert book.add(died("a", root="c"), at_s=2.0) is None
    assert book.add(died("c"), at_s=3.0) is None, "it was not suspected before"
    assert book.add(died("a", root="a"), at_s=4.0) == Part(BATCH, "a")


def test_who_survives_often_enough_alone_is_suspected_no_more(tmp_path: Path) -> None:
    book = DeathBook(tmp_path)
    book.add(died("a", "b"), at_s=1.0)
    for _ in range(ALONE_BATCHES):
        assert "a" in book.suspects()
        book.survived("a")
    assert book.suspects() == {"b"}
    assert book.add(died("a"), at_s=2.0) is None, "that was long ago"
    assert book.suspects() == {"a", "b"}


def answering(query: str) -> JvmDied:
    return JvmDied(end_of(-9, ""), (Work(ROOT_PART, (query,)),))


def test_a_root_part_that_is_suspected_and_alone_at_the_next_death_is_blamed(
    tmp_path: Path,
) -> None:
    book = DeathBook(tmp_path)
    book.add(died("a", root="c"), at_s=1.0)
    assert book.root_suspects() == {"c"}
    assert book.suspects() == {"a"}, "parts are suspected apart"
    assert book.is_suspected(Work(ROOT_PART, ("c",)))
    assert not book.is_suspected(Work(BATCH, ("c",)))
    assert not book.is_suspected(Work(BATCH, ("a", "b"))), "among others nothing would be learned"
    assert book.add(answering("b"), at_s=2.0) is None, "it was not suspected before"
    assert book.add(answering("c"), at_s=3.0) == Part(ROOT_PART, "c")


def test_a_root_part_that_survives_often_enough_alone_is_suspected_no_more(tmp_path: Path) -> None:
    book = DeathBook(tmp_path)
    book.add(died("a", root="a"), at_s=1.0)
    for _ in range(ALONE_BATCHES):
        book.root_survived("a")
    assert book.root_suspects() == frozenset()
    assert book.suspects() == {"a"}, "its site part has shown nothing"


def test_a_suspended_root_part_is_so_for_the_next_life_until_its_query_is_removed(
    tmp_path: Path,
) -> None:
    DeathBook(tmp_path).suspend("c@x#3", "limit: twice")
    book = DeathBook(tmp_path)
    assert book.suspended() == {"c@x#3": "limit: twice"}
    book.forget("d@x#4")
    book.forget("c@x#3")
    assert DeathBook(tmp_path).suspended() == {}
