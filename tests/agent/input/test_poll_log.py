"""What a log says of polls."""

from __future__ import annotations

from structlog.testing import capture_logs

from headwater.agent.input.poll_log import SAID_MAX, PollLog
from headwater.store.follow.poll import Poll


def said(poll_log: PollLog, poll: Poll) -> list[tuple[object, object]]:
    with capture_logs() as lines:
        poll_log.say(poll)
    return [(line["event"], line.get("path") or line.get("reason")) for line in lines]


def test_what_is_not_read_is_said_once_and_when_it_is_over() -> None:
    poll_log = PollLog("paris", "weblog")
    trouble = Poll(1.0, files=1, refused=(("a.log", "Permission denied"),), stalled="no room")
    assert said(poll_log, trouble) == [
        ("input not read", "a.log"),
        ("input stands still", "no room"),
    ]
    assert said(poll_log, trouble) == []
    assert said(poll_log, Poll(2.0, files=1)) == [
        ("input no longer refused", "a.log"),
        ("input stands still", "no longer"),
    ]


def test_what_is_decided_lost_or_read_twice_is_said_each_time() -> None:
    poll_log = PollLog("paris", "weblog")
    poll = Poll(1.0, files=1, told=(("a.log", "replaced"),), lost_bytes=4, twice_bytes=7)
    for _ in range(2):
        with capture_logs() as lines:
            poll_log.say(poll)
        assert [line["event"] for line in lines] == ["input decided", "input"]
        assert (lines[1]["lost_bytes"], lines[1]["twice_bytes_max"]) == (4, 7)


def test_many_paths_do_not_fill_the_log() -> None:
    refused = tuple((f"{n}.log", "Input/output error") for n in range(SAID_MAX + 5))
    lines = said(PollLog("paris", "weblog"), Poll(1.0, files=0, refused=refused))
    assert len(lines) == SAID_MAX + 1
    assert lines[-1][0] == "more input not read"
