"""Laws of the command log: logs converge, whatever is exchanged in whatever order."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.overlay.commands.command_log import CommandLog, Verdict, commanded, number_of
from headwater.plan.command import Count, Install, Remove
from headwater.plan.part import Part
from headwater.plan.query import QueryId

INSTALLERS = ("a", "b")


def give(log, command):
    """As its installer does: the command, and the count with it."""
    if isinstance(command, Install):
        log.take(command)
    count = log.counted(command)
    log.adopt(count)
    return command, count


def hear(log, given):
    """As others do, of what is flooded."""
    command, count = given
    if isinstance(command, Install):
        log.take(command)
    if log.is_newer(count):
        log.adopt(count)


def join(log, other):
    """All that a comparison does, in one step."""
    for count in other.counts.values():
        if log.is_newer(count):
            log.adopt(count)
    for id_text in log.missing_from(other.live):
        if id_text in other.live:
            log.take(other.live[id_text])


def settle(log, site):
    log.resolve_names()
    again = log.recounted(site)
    if again is not None:
        log.adopt(again)


def numbers(log):
    return {installer: count.number for installer, count in log.counts.items()}


def state(log):
    return set(log.live), numbers(log)


def test_an_install_is_accepted_once(overlay):
    log = CommandLog()
    install = overlay.an_install("q", "a", 1)
    assert log.take(install) is Verdict.ACCEPTED
    assert log.take(install) is Verdict.KNOWN
    log.adopt(log.counted(install))
    assert state(log) == ({"q@a#1"}, {"a": 1})


def test_a_removed_query_never_comes_back(overlay):
    log, stale = CommandLog(), CommandLog()
    install = overlay.an_install("q", "a", 1)
    hear(stale, give(log, install))
    give(log, Remove(id=install.query.id, installer="a", counter=2))
    assert log.is_removed("q@a#1")
    assert log.take(install) is Verdict.KNOWN
    join(log, stale)
    assert state(log) == (set(), {"a": 2})
    join(stale, log)
    assert state(stale) == state(log)


def test_a_name_can_be_used_again_after_its_removal(overlay):
    log = CommandLog()
    install = overlay.an_install("q", "a", 1)
    give(log, install)
    give(log, Remove(id=install.query.id, installer="a", counter=2))
    assert log.take(overlay.an_install("q", "a", 3)) is Verdict.ACCEPTED
    assert log.resolve_names() == []
    assert set(log.live) == {"q@a#3"}


def test_an_install_is_live_before_its_installers_count_comes(overlay):
    log = CommandLog()
    assert log.take(overlay.an_install("q", "a", 3)) is Verdict.ACCEPTED
    assert state(log) == ({"q@a#3"}, {})
    assert log.adopt(Count(installer="a", number=3, revision=3, live=("q@a#3",))) == []
    assert state(log) == ({"q@a#3"}, {"a": 3})


def test_what_an_installer_counts_and_is_not_here_is_missing(overlay):
    log = CommandLog()
    log.adopt(Count(installer="a", number=3, revision=3, live=("p@a#1", "q@a#3")))
    assert log.missing_from(()) == ["p@a#1", "q@a#3"]
    assert commanded(log.counts.values(), log.live) == {"a": 0}
    log.take(overlay.an_install("p", "a", 1))
    assert log.missing_from(("x@b#4",)) == ["x@b#4", "q@a#3"]
    assert commanded(log.counts.values(), log.live) == {"a": 2}
    log.take(overlay.an_install("q", "a", 3))
    assert commanded(log.counts.values(), log.live) == {"a": 3}


def test_nothing_ends_because_a_peer_does_not_name_it(overlay):
    """It was enough to leave out what is live: with a true number, all of it ended."""
    log = CommandLog()
    given = give(log, overlay.an_install("q", "a", 1))
    liar = CommandLog()
    liar.adopt(given[1])
    join(log, liar)
    assert set(log.live) == {"q@a#1"}


def test_a_query_of_another_installer_is_ended_by_the_word_that_was_given_for_it(overlay):
    a, b, far = CommandLog(), CommandLog(), CommandLog()
    install = overlay.an_install("q", "a", 1)
    given = give(a, install)
    hear(b, given)
    hear(far, given)
    removal = Remove(id=install.query.id, installer="b", counter=1)
    give(b, removal)
    assert b.counts["b"].ended == (removal,)
    join(far, b)
    assert not far.live
    assert far.is_removed("q@a#1")
    join(a, b)
    settle(a, "a")
    assert a.counts["a"].live == ()
    join(b, a)
    settle(b, "b")
    assert b.counts["b"].ended == (), "its own installer says it by now"
    for log in (a, far):
        join(log, b)
        join(log, a)
    assert a.digest == b.digest == far.digest
    assert far.take(install) is Verdict.KNOWN


def test_an_installer_may_leave_out_numbers(overlay):
    log = CommandLog()
    give(log, overlay.an_install("q", "a", 5))
    assert numbers(log) == {"a": 5}
    assert log.take(overlay.an_install("p", "a", 4)) is Verdict.KNOWN


def test_an_older_plan_never_replaces_a_newer_one(overlay):
    log = CommandLog()
    install = overlay.an_install("q", "a", 1)
    newer = msgspec.structs.replace(install, plan_version=2)
    assert log.take(install) is Verdict.ACCEPTED
    assert log.take(newer) is Verdict.REPLANNED
    older = msgspec.structs.replace(install, plan_version=1)
    assert log.take(older) is log.take(install) is Verdict.KNOWN
    assert log.live["q@a#1"].plan_version == 2


def test_an_older_word_of_an_installer_is_no_news(overlay):
    log = CommandLog()
    _, first = give(log, overlay.an_install("q", "a", 1))
    _, second = give(log, overlay.an_install("p", "a", 2))
    assert not log.is_newer(first)
    assert not log.is_newer(second)


def test_of_two_words_of_one_revision_everybody_takes_the_same(overlay):
    """An installer that lost its disk has counted again from where it was."""
    one, other = (
        Count(installer="a", number=2, revision=2, live=("p@a#2",)),
        Count(installer="a", number=2, revision=2, live=("q@a#2",)),
    )
    logs = [CommandLog(), CommandLog()]
    for log, order in zip(logs, ((one, other), (other, one)), strict=True):
        for count in order:
            if log.is_newer(count):
                log.adopt(count)
    assert logs[0].counts == logs[1].counts


def test_of_two_queries_with_one_name_the_higher_number_then_site_wins(overlay):
    for first, second, winner in ((("a", 2), ("b", 1), "q@a#2"), (("a", 1), ("b", 1), "q@b#1")):
        log = CommandLog()
        for installer, counter in (first, second):
            give(log, overlay.an_install("q", installer, counter))
        ((lost, won),) = log.resolve_names()
        assert str(won) == winner
        assert set(log.live) == {winner}
        assert log.is_removed(str(lost))


def test_who_has_lost_its_name_is_live_again_where_its_installer_never_heard_of_the_winner(overlay):
    a, b, far = CommandLog(), CommandLog(), CommandLog()
    loser = give(a, overlay.an_install("q", "a", 1))
    winner = give(b, overlay.an_install("q", "b", 2))
    hear(far, loser)
    hear(far, winner)
    far.resolve_names()
    assert set(far.live) == {"q@b#2"}
    hear(far, give(b, Remove(id=QueryId("q", "b", 2), installer="b", counter=3)))
    join(a, far)
    join(far, a)
    assert set(far.live) == set(a.live) == {"q@a#1"}
    assert far.digest == a.digest


def test_a_start_without_the_loser_of_a_name_awaits_it_no_more(overlay):
    """Its removal was durable, and the count without it was not: nobody else may have it."""
    log = CommandLog()
    newer = overlay.an_install("q", "a", 6)
    log.restore([newer], [Count(installer="a", number=6, revision=6, live=("q@a#3", "q@a#6"))])
    assert log.missing_from(()) == []
    assert commanded(log.counts.values(), log.live) == {"a": 6}
    log.adopt(log.recounted("a"))
    assert log.counts["a"].live == ("q@a#6",)


def test_a_later_query_of_a_name_is_awaited(overlay):
    log = CommandLog()
    log.restore(
        [overlay.an_install("q", "a", 3)],
        [Count(installer="a", number=6, revision=6, live=("q@a#3", "q@a#6"))],
    )
    assert log.missing_from(()) == ["q@a#6"]
    assert commanded(log.counts.values(), log.live) == {"a": 5}
    assert log.recounted("a") is None


def parts_of(overlay, stream, installer, first, *, count):
    """The installs of a stream with so many roots, given as one unit."""
    return [
        overlay.an_install(
            f"{stream}_part_{number}",
            installer,
            first + number - 1,
            part=Part(stream, number, count),
            unit_last=first + count - 1,
        )
        for number in range(1, count + 1)
    ]


def test_parts_of_one_stream_live_beside_each_other(overlay):
    log = CommandLog()
    for install in parts_of(overlay, "q", "a", 1, count=3):
        log.take(install)
    assert log.resolve_names() == []
    assert len(log.live) == 3


def test_a_stream_installed_anew_with_fewer_roots_leaves_no_part_behind(overlay):
    log = CommandLog()
    for install in parts_of(overlay, "q", "a", 1, count=3) + parts_of(
        overlay, "q", "a", 4, count=2
    ):
        log.take(install)
    lost = {str(loser) for loser, _ in log.resolve_names()}
    assert lost == {"q_part_1@a#1", "q_part_2@a#2", "q_part_3@a#3"}
    log.take(overlay.an_install("q", "a", 6, unit_last=6))
    assert {str(winner) for _, winner in log.resolve_names()} == {"q@a#6"}
    for install in parts_of(overlay, "q", "a", 7, count=2):
        log.take(install)
    assert [str(loser) for loser, _ in log.resolve_names()] == ["q@a#6"]
    assert set(log.live) == {"q_part_1@a#7", "q_part_2@a#8"}


def test_parts_win_or_lose_together_whichever_of_them_a_peer_has_heard_of(overlay):
    """Of b's query number 2 and a's parts 2 and 3, a's unit ends later. By numbers, who knows the
    first part alone would give the name to b, and who knows the second would take it back."""
    first, second = parts_of(overlay, "q", "a", 2, count=2)
    other = overlay.an_install("q", "b", 2)
    for known in ((first,), (second,), (first, second)):
        log = CommandLog()
        log.restore(
            (),
            (
                Count(installer="a", number=1, revision=1),
                Count(installer="b", number=1, revision=1),
            ),
        )
        for install in (other, *known):
            log.take(install)
        log.resolve_names()
        assert set(log.live) == {str(install.query.id) for install in known}


def test_the_digest_is_equal_where_the_knowledge_is(overlay):
    giver, left, right = CommandLog(), CommandLog(), CommandLog()
    given = [give(giver, overlay.an_install(f"q{n}", "a", n)) for n in (1, 2)]
    for log, order in ((left, given), (right, given[::-1])):
        for one in order:
            hear(log, one)
    assert left.digest == right.digest == giver.digest
    before = left.digest
    hear(left, give(giver, Remove(id=QueryId("q1", "a", 1), installer="a", counter=3)))
    assert left.digest != before


steps = st.lists(
    st.one_of(
        st.tuples(st.just("install"), st.integers(0, 2), st.sampled_from(["p", "q"])),
        st.tuples(st.just("install parts"), st.integers(0, 2), st.integers(2, 3)),
        st.tuples(st.just("remove"), st.integers(0, 2), st.integers(0, 5)),
        st.tuples(st.just("lose"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("join"), st.integers(0, 2), st.integers(0, 2)),
    ),
    max_size=30,
)


@settings(max_examples=200, deadline=None)
@given(steps)
def test_logs_converge_and_removals_hold_whatever_was_exchanged_before(overlay, script):
    """Three peers, the first two give commands; some commands are flooded, all are joined."""
    logs = [CommandLog() for _ in range(3)]
    removed = set()
    given_commands = []
    for step in script:
        run_step(overlay, logs, removed, given_commands, step)
    for _ in range(6):
        for place, log in enumerate(logs):
            for other in logs:
                join(log, other)
            settle(log, "abc"[place])
    assert len({log.digest for log in logs}) == 1
    assert not removed & set(logs[0].live)
    queries = [install.query for install in logs[0].live.values()]
    assert len(queries) == len({query.id.name for query in queries})
    assert len({query.stream for query in queries}) == len({(q.stream, q.unit) for q in queries})
    for log in logs:
        assert all(log.is_counted(install.query.id) for install in log.live.values())
        assert not log.missing_from(())


def run_step(overlay, logs, removed, given_commands, step):
    kind, which, what = step
    site = INSTALLERS[which % len(INSTALLERS)]
    log = logs[which % len(INSTALLERS)]
    number = log.number_of(site) + 1
    if kind == "install":
        given_commands.append(give(log, overlay.an_install(what, site, number)))
    elif kind == "install parts":
        for command in parts_of(overlay, "q", site, number, count=what):
            given_commands.append(give(log, command))
    elif kind == "remove" and log.live:
        query_id = sorted(log.live)[what % len(log.live)]
        command = Remove(id=log.live[query_id].query.id, installer=site, counter=number)
        given_commands.append(give(log, command))
        removed.add(query_id)
    elif kind == "lose" and given_commands:
        hear(logs[which], given_commands[what % len(given_commands)])
    elif kind == "join":
        join(logs[which], logs[what])
    settle(log, site)


def test_every_command_has_its_number(overlay):
    assert number_of(overlay.an_install("q", "a", 3)) == ("a", 3)
    assert number_of(Remove(id=QueryId("q", "a", 3), installer="b", counter=7)) == ("b", 7)
