"""Laws of the command log: joining converges, whatever is exchanged in whatever order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.overlay.command_log import CommandLog, Verdict
from headwater.plan.command import Remove
from headwater.plan.query import Part, QueryId

INSTALLERS = ("a", "b")


def join(log, other):
    """All that a comparison does, in one step."""
    for id_text in log.missing_from(other.live):
        log.take(other.live[id_text])
    log.join(other.vector, other.live)


def state(log):
    return set(log.live), dict(log.vector)


def test_an_install_is_accepted_once(overlay):
    log = CommandLog()
    install = overlay.an_install("q", "a", 1)
    assert log.take(install) is Verdict.ACCEPTED
    assert log.take(install) is Verdict.KNOWN
    assert state(log) == ({"q@a#1"}, {"a": 1})


def test_a_removed_query_never_comes_back(overlay):
    log = CommandLog()
    install = overlay.an_install("q", "a", 1)
    log.take(install)
    log.take(Remove(install.query.id, "a", 2))
    assert log.is_removed("q@a#1")
    assert log.take(install) is Verdict.KNOWN
    stale = CommandLog()
    stale.take(install)
    join(log, stale)
    assert state(log) == (set(), {"a": 2})
    join(stale, log)
    assert state(stale) == state(log)


def test_a_name_can_be_used_again_after_its_removal(overlay):
    log = CommandLog()
    install = overlay.an_install("q", "a", 1)
    log.take(install)
    log.take(Remove(install.query.id, "a", 2))
    assert log.take(overlay.an_install("q", "a", 3)) is Verdict.ACCEPTED
    assert log.resolve_names() == []
    assert set(log.live) == {"q@a#3"}


def test_an_early_install_is_live_but_leaves_the_vector_where_it_is(overlay):
    log = CommandLog()
    assert log.take(overlay.an_install("q", "a", 3)) is Verdict.ACCEPTED
    assert state(log) == ({"q@a#3"}, {})
    log.take(overlay.an_install("p", "a", 1))
    assert log.vector == {"a": 1}
    log.take(overlay.an_install("o", "a", 2))
    assert log.vector == {"a": 3}


def test_a_removal_waits_until_the_removed_query_is_known(overlay):
    log = CommandLog()
    removal = Remove(QueryId("q", "a", 1), "b", 1)
    assert log.take(removal) is Verdict.BEHIND
    log.take(overlay.an_install("q", "a", 1))
    assert log.take(removal) is Verdict.ACCEPTED
    assert state(log) == (set(), {"a": 1, "b": 1})


def test_an_installer_may_leave_out_numbers(overlay):
    log = CommandLog()
    assert log.take(overlay.an_install("q", "a", 5), is_own=True) is Verdict.ACCEPTED
    assert log.vector == {"a": 5}
    assert log.take(overlay.an_install("p", "a", 4), is_own=True) is Verdict.KNOWN


def test_of_two_queries_with_one_name_the_higher_number_then_site_wins(overlay):
    for first, second, winner in (
        (("a", 2), ("b", 1), "q@a#2"),
        (("a", 1), ("b", 1), "q@b#1"),
    ):
        log = CommandLog()
        for installer, counter in (first, second):
            log.take(overlay.an_install("q", installer, counter), is_own=True)
        ((lost, won),) = log.resolve_names()
        assert str(won) == winner
        assert set(log.live) == {winner}
        assert log.is_removed(str(lost))


def parts_of(overlay, stream, installer, first, *, count):
    """The installs of a stream with so many roots, given as one unit."""
    return [
        overlay.an_install(
            f"{stream}_part_{number}", installer, first + number - 1,
            part=Part(stream, number, count), unit_last=first + count - 1,
        )
        for number in range(1, count + 1)
    ]  # fmt: skip


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
        log.restore((), {"a": 1, "b": 1})
        for install in (other, *known):
            log.take(install)
        log.resolve_names()
        assert set(log.live) == {str(install.query.id) for install in known}


def test_the_digest_is_equal_where_the_knowledge_is(overlay):
    left, right = CommandLog(), CommandLog()
    for log, order in ((left, (1, 2)), (right, (2, 1))):
        for counter in order:
            log.take(overlay.an_install(f"q{counter}", "a", counter))
    assert left.digest == right.digest
    before = left.digest
    left.take(Remove(QueryId("q1", "a", 1), "a", 3))
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
    for _ in range(3):
        for log in logs:
            for other in logs:
                join(log, other)
            log.resolve_names()
    assert len({log.digest for log in logs}) == 1
    assert not removed & set(logs[0].live)
    queries = [install.query for install in logs[0].live.values()]
    assert len(queries) == len({query.id.name for query in queries})
    assert len({query.stream for query in queries}) == len({(q.stream, q.unit) for q in queries})
    for log in logs:
        for install in log.live.values():
            assert log.knows(install.query.id.installer, install.query.id.counter)


def run_step(overlay, logs, removed, given_commands, step):
    kind, which, what = step
    site = INSTALLERS[which % len(INSTALLERS)]
    log = logs[which % len(INSTALLERS)]
    number = log.vector.get(site, 0) + 1
    if kind == "install":
        command = overlay.an_install(what, site, number)
        log.take(command, is_own=True)
        given_commands.append(command)
    elif kind == "install parts":
        for command in parts_of(overlay, "q", site, number, count=what):
            log.take(command, is_own=True)
            given_commands.append(command)
    elif kind == "remove" and log.live:
        query_id = sorted(log.live)[what % len(log.live)]
        command = Remove(log.live[query_id].query.id, site, number)
        if log.take(command, is_own=True) is Verdict.ACCEPTED:
            removed.add(query_id)
            given_commands.append(command)
    elif kind == "lose" and given_commands:
        logs[which].take(given_commands[what % len(given_commands)])
    elif kind == "join":
        join(logs[which], logs[what])
    log.resolve_names()
