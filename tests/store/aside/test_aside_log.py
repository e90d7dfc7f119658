"""Input that is set aside: each byte is read once for each query, whatever crashes in between."""

from __future__ import annotations

from collections.abc import Collection

from store_kit import QUERY, SOURCE, CubeUser

from headwater.edge.shedding.choose_skip import Skip
from headwater.plan.readings import is_aside
from headwater.reading.outcome import Batch, SiteOutcome
from headwater.store.input.new_cut import NewCut
from headwater.store.input.source_state import Aside, AsidePanes

OTHER = "others@home#2"


def find(user: CubeUser, count: int, *, size: int = 10, is_doubtful: bool = False) -> None:
    cuts = user.cube.cuts
    state = cuts.open_source(SOURCE)
    first = state.last_cut
    names = [cuts.spool.write("c", [f"{first + n:0{size}d}".encode()]) for n in range(count)]
    new = [NewCut("f", 0, size, name, size, size, is_doubtful) for name in names]
    cuts.register(state, new, poll_s=user.clock())


def skip(
    user: CubeUser,
    through: int,
    *queries: str,
    readers: Collection[str] = (QUERY,),
    panes: tuple[int, int] = (5, 6),
    may_grow: bool = True,
) -> dict[str, Aside]:
    told: dict[str, Aside] = {}
    user.cube.asides.skip(
        SOURCE,
        {one: Skip(through, *panes) for one in queries or (QUERY,)},
        readers=readers,
        may_grow=lambda _: may_grow,
        told=told.update,
    )
    return told


def live(user: CubeUser) -> list[int]:
    return [chunk.cut for chunk in user.cube.cuts.pending(SOURCE)]


def texts(user: CubeUser, reading: str) -> list[int]:
    return [int(chunk.path.read_text()) for chunk in user.cube.cuts.pending(reading)]


def commit(user: CubeUser, reading: str, through: int, number: int = 0) -> None:
    epoch = user.cube.cuts.begin_epoch(reading)
    user.cube.commit_batch(Batch(reading, epoch, number, through), SiteOutcome())


def test_what_all_skip_is_not_offered_live_and_lies_in_a_reading_of_its_own(user: CubeUser) -> None:
    find(user, 4)
    ((reading, aside),) = skip(user, 3).items()
    assert is_aside(reading)
    assert aside == Aside(3, (AsidePanes(QUERY, 5, 6),), 30)
    assert live(user) == [4]
    assert texts(user, reading) == [0, 1, 2]
    assert user.cube.cuts.state(SOURCE).committed_cut == 3
    assert user.cube.cuts.state(SOURCE).waiting_bytes >= 10


def test_the_chunks_stay_until_they_are_read_whatever_the_live_reading_lets_go_of(
    user: CubeUser,
) -> None:
    find(user, 4)
    (reading,) = skip(user, 3)
    commit(user, SOURCE, 4)
    user.cube.cuts.begin_epoch(SOURCE)
    assert texts(user, reading) == [0, 1, 2]
    assert user.cube.status().spool_bytes == 30
    commit(user, reading, 3)
    state = user.cube.cuts.state(reading)
    assert state.has_ended
    user.cube.cuts.forget_source(reading)
    assert user.cube.status().spool_bytes == 0


def test_where_one_skips_the_others_go_on_and_batches_do_not_mix_what_it_reads(
    user: CubeUser,
) -> None:
    find(user, 4)
    (reading,) = skip(user, 2, readers=(QUERY, OTHER))
    assert live(user) == [1, 2], "for the other one"
    assert user.cube.asides.skipped_through(SOURCE, QUERY) == 2
    assert user.cube.asides.skipped_through(SOURCE, OTHER) == 0
    assert texts(user, reading) == [0, 1]
    commit(user, SOURCE, 2)
    assert live(user) == [3, 4]


def test_what_one_has_skipped_and_the_other_skips_later_is_read_by_nobody(user: CubeUser) -> None:
    find(user, 4)
    skip(user, 3, QUERY, readers=(QUERY, OTHER))
    skip(user, 2, OTHER, readers=(QUERY, OTHER))
    assert live(user) == [3], "the first has skipped it, and wants 4"


def test_a_second_skip_makes_the_first_grow_until_somebody_has_begun_to_read_it(
    user: CubeUser,
) -> None:
    find(user, 6)
    (reading,) = skip(user, 2)
    ((again, aside),) = skip(user, 4, panes=(5, 9)).items()
    assert again == reading
    assert aside == Aside(4, (AsidePanes(QUERY, 5, 9),), 40)
    assert texts(user, reading) == [0, 1, 2, 3]
    user.cube.cuts.begin_epoch(reading)
    (other,) = skip(user, 5)
    assert other != reading
    assert texts(user, other) == [4]
    (third,) = skip(user, 6, may_grow=False)
    assert third not in (reading, other)


def test_a_skip_that_was_done_does_nothing(user: CubeUser) -> None:
    find(user, 3)
    assert skip(user, 2)
    assert skip(user, 2) == {}


def test_a_restart_finds_it_with_its_panes_and_its_chunks(user: CubeUser) -> None:
    find(user, 4)
    ((reading, aside),) = skip(user, 3).items()
    user.reopen()
    assert user.cube.cuts.asides_of(SOURCE) == {reading: aside}
    assert texts(user, reading) == [0, 1, 2]
    assert live(user) == [4]
    user.reopen()
    commit(user, reading, 2)
    assert texts(user, reading) == [2]


def test_lines_that_may_have_been_read_before_are_still_in_doubt(user: CubeUser) -> None:
    find(user, 2, is_doubtful=True)
    (reading,) = skip(user, 2)
    state = user.cube.cuts.state(reading)
    with user.cube.manifest.lock:
        assert user.cube.cuts.doubtful_bytes(state, through=2) == 20


def test_what_is_lost_behind_a_skip_does_not_keep_the_live_reading_waiting(user: CubeUser) -> None:
    find(user, 3)
    user.cube.cuts.quarantine(SOURCE, 3)
    skip(user, 2)
    state = user.cube.cuts.state(SOURCE)
    assert (state.committed_cut, state.waiting_bytes) == (3, 0)
    assert user.cube.cuts.polled(state, started_s=50.0, is_clean=True) is not None


def test_a_stretch_of_which_all_is_lost_already_is_none(user: CubeUser) -> None:
    find(user, 3)
    user.cube.cuts.quarantine(SOURCE, 2)
    assert len(skip(user, 1, readers=(QUERY, OTHER))) == 1
    assert skip(user, 2, readers=(QUERY, OTHER), may_grow=False) == {}
    ((reading, aside),) = skip(user, 3, readers=(QUERY, OTHER), may_grow=False).items()
    assert (texts(user, reading), aside.bytes) == ([2], 10)


def test_what_is_lost_of_a_stretch_is_told_after_a_crash_too(user: CubeUser) -> None:
    find(user, 3)
    (reading,) = skip(user, 3)
    user.cube.cuts.quarantine(reading, 1)
    assert user.cube.cuts.state(reading).report().lost_bytes == 10
    commit(user, reading, 2)
    user.reopen()
    assert user.cube.cuts.state(reading).report().lost_bytes == 10, "no record may know of it"
