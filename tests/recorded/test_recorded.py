"""Every version opens what this one and those before it have left, and goes on with it.

``tests/recorded/<version>/`` has four agents' directories as a crash left them, the input that they
had not read yet, every kind of message, and an inventory that was written down at the time. See
``record.py`` for how a recording is made, and when it has to be made anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import sqlite3
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from counting_spark import in_sparks_place
from derived_keys import Certificates, ends_at
from log_lines import ORIGIN_S, Counted, counted, second_of
from log_lines import SITES as WRITERS
from packed import PACKED, unpack
from readable import formats, inventory_of, missing_in, readable
from record import END_S, STOPPED_S, described, recording_name
from small_federation import DATA, ROSTER, SITES, Clock, SmallFederation
from transcript import Line, decoded, read_transcript

from headwater.agent.control import control_api as api
from headwater.agent.query_book import QueryBook
from headwater.agent.stores import RESULTS
from headwater.net.refusal import Refusal, Refused
from headwater.net.values.codec import _LAYOUTS, Codec
from headwater.net.values.words import command_word
from headwater.overlay.messages import CommandMessage
from headwater.plan.command import Install
from headwater.root.said.envelope import Envelope
from headwater.store.commands import CommandStore, kept
from headwater.store.results.results import ResultsReader

HERE = Path(__file__).parent
RECORDINGS = sorted(path.name for path in HERE.iterdir() if re.fullmatch(r"\d+\.\d+", path.name))
RECORD = "run `make record` and look at what changed in tests/recorded"
AWAY_S = 3.0
"""By the clocks of the agents: they were gone for so long."""
SPEED = 4.0
WITHIN_S = 60.0
"""Real seconds, on a busy machine; seconds suffice."""
STREAMS = ("volume", "peak", "costly")
NEWER_STREAMS = ("rough", "lately")
"""Those that recordings since 0.4 have besides: one with an error, one of the last rows."""
BEGIN_S = 4
PANE_US = 4_000_000
LATENESS_S = 20.0


def streams_of(recorded: dict[str, Any]) -> tuple[str, ...]:
    known = {query.partition("@")[0] for query in recorded["sites"]["south"]["cube"]}
    return (*STREAMS, *(one for one in NEWER_STREAMS if one in known))


def test_the_newest_recording_has_all_streams() -> None:
    assert streams_of(inventory(recording_name())) == STREAMS + NEWER_STREAMS


def inventory(name: str) -> dict[str, Any]:
    return json.loads((HERE / name / "inventory.json").read_text())


NOT_YET: set[str] = set()
"""Requests that came after the recording of this version, which stays: the next one has them."""


@pytest.fixture(params=RECORDINGS)
def recording(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def place(recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, in which everything is where it was: at the same relative paths."""
    shutil.copytree(HERE / recording, tmp_path / "copy", ignore=shutil.ignore_patterns(PACKED))
    unpack(HERE / recording / PACKED, tmp_path / "copy" / SITES)
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


# The recording itself


def test_there_is_a_recording_of_this_version() -> None:
    assert recording_name() in RECORDINGS, (
        f"version {recording_name()} has left nothing for later ones to open: {RECORD}"
    )


def test_a_format_has_the_number_that_was_recorded() -> None:
    recorded = inventory(recording_name())["formats"]
    assert formats() == recorded, (
        f"formats of this version are {formats()}, its recording has {recorded}. A number that "
        f"rises needs a migration from the former one and a new recording: {RECORD}. What a "
        "released version has recorded stays: raise __version__ first"
    )


def test_a_recording_has_all_of_what_agents_do() -> None:
    counts = re.findall(r"^ +(\d+) (.+)$", described(HERE / recording_name()), re.MULTILINE)
    assert len(counts) >= 10
    assert not [what for number, what in counts if number == "0"]


def test_a_recording_has_each_kind_of_message() -> None:
    lines = read_transcript(HERE / recording_name() / "messages.txt")
    wanted = {layout.type.__name__ for layout in _LAYOUTS} | {"hello", "goodbye"}
    assert wanted <= {line.kind for line in lines}, f"a kind of message is not recorded: {RECORD}"
    asked = {line.says.get("name", "") for line in lines if line.kind == "request"}
    requests = {v for k, v in vars(api).items() if k.isupper() and isinstance(v, str)}
    assert requests - asked == NOT_YET, f"a request is not recorded: {RECORD}"
    assert asked - {""} <= requests, "what was asked once can be asked"


# What a later version makes of it


@pytest.mark.parametrize("site", [one.name for one in ROSTER.sites])
def test_what_an_agent_has_left_is_all_there(recording: str, place: Path, site: str) -> None:
    found = json.loads(json.dumps(inventory_of(place / SITES / site, site)))
    assert missing_in(found, inventory(recording)["sites"][site]) == []


@pytest.mark.parametrize("site", [one.name for one in ROSTER.sites])
def test_an_install_is_written_anew_with_the_bytes_that_were_signed_and_kept(
    place: Path, site: str
) -> None:
    directory = place / SITES / site / "commands"
    store = CommandStore(directory)
    installs = store.live()
    store.close()
    with contextlib.closing(sqlite3.connect(directory / "commands.sqlite")) as commands:
        rows = dict(commands.execute("SELECT id, command FROM installs"))
    assert installs
    for install in installs:
        assert install.proof is not None
        assert command_word(install) == install.proof.word
        assert kept(install) == rows[str(install.query.id)]


def test_every_message_says_what_it_said_or_is_refused_by_version(recording: str) -> None:
    """Where the hello is refused with a sentence, nothing after it is ever read."""
    lines = read_transcript(HERE / recording / "messages.txt")
    hellos = [_heard(line, Codec(lambda _: None)) for line in lines if line.kind == "hello"]
    if refusals := [one for one in hellos if isinstance(one, Refused)]:
        assert len(refusals) == len(hellos)
        assert {one.reason for one in refusals} == {Refusal.PROTOCOL_VERSION}
        assert "run the same version of headwater at both" in str(refusals[0])
        return
    codec = Codec(_schemas(lines), ordinals_max=ROSTER.ordinals)
    for line in lines:
        heard = _heard(line, codec)
        if line.kind == "goodbye":
            assert isinstance(heard, Refused)
            assert line.says["text"] in str(heard)
        else:
            assert not isinstance(heard, Refused), f"{line.kind}: {heard}"
            found = json.loads(json.dumps(readable(heard)))
            assert missing_in(found, line.says, at=line.kind) == []


def _heard(line: Line, codec: Codec) -> Any:
    """What it says, or why it is refused; any other exception is a failure of this test."""
    try:
        return decoded(line, codec)
    except Refused as refused:
        return refused


def _schemas(lines: list[Line]) -> Any:
    """Of the rows, by the installs that are in the transcript."""
    book = QueryBook()
    bare = Codec(lambda _: None, ordinals_max=ROSTER.ordinals)
    for line in lines:
        if line.kind == "CommandMessage":
            message = decoded(line, bare)
            assert isinstance(message, CommandMessage)
            if isinstance(message.command, Install):
                book.add(message.command.query)
    return book.schema


def test_the_four_work_on_and_every_window_becomes_final_and_true(
    recording: str, place: Path, tmp_path: Path
) -> None:
    recorded = inventory(recording)
    with in_sparks_place() as spark:
        newest = asyncio.run(_work_on(recorded, tmp_path / "keys", spark))
    lines = {site: (DATA / site / "access.log").read_text().splitlines() for site in WRITERS}
    last = int(ORIGIN_S + END_S) * 1_000_000
    assert {stream for stream, _ in newest} == set(streams_of(recorded))
    states = {key: newest.pop(key) for key in list(newest) if key[0] == "lately"}
    _check_states(list(states.values()), lines)
    for (stream, _), (envelope, rows) in newest.items():
        south = _declined(recorded, stream, last_pane=last // PANE_US)
        is_declined = any(pane in south for pane in _panes(envelope))
        assert envelope.exact != is_declined, envelope
        assert rows == _expected(stream, envelope, lines, south), envelope


def _check_states(
    states: list[tuple[Envelope, list[list[str]]]], lines: dict[str, list[str]]
) -> None:
    """The newest has all that either site has read since the begin, before the crash and after."""
    if not states:
        return
    envelope, rows = max(states, key=lambda one: one[0].end_us)
    start_us = int(ORIGIN_S + BEGIN_S) * 1_000_000
    found: Counted = {}
    for site in WRITERS:
        found = _sum(found, counted(lines[site], start_us=start_us, end_us=envelope.end_us))
    assert envelope.end_us == int(ORIGIN_S + END_S) * 1_000_000
    assert envelope.exact, envelope
    assert rows == [[domain, str(found[domain][0])] for domain in sorted(found)], envelope


def test_a_relay_that_lost_its_disk_is_told_commands_of_operators_who_have_left(
    recording: str, place: Path, tmp_path: Path
) -> None:
    """Their certificates have ended. What is counted by its installer stays believed."""
    ended = [ends_at(one.proof.certificate) for one in _installs(SITES / "south") if one.proof]
    streams = streams_of(inventory(recording))
    assert len(ended) == len(streams)
    assert max(ended) < datetime.now(UTC), "a minute after the recording it will have"
    shutil.rmtree(SITES / "hub")
    asyncio.run(_learn_anew(inventory(recording), tmp_path / "keys"))
    assert {one.query.stream for one in _installs(SITES / "hub")} == set(streams)


def _installs(directory: Path) -> list[Install]:
    store = CommandStore(directory / "commands")
    try:
        return store.live()
    finally:
        store.close()


async def _learn_anew(recorded: dict[str, Any], keys: Path) -> None:
    clock, count = Clock(recorded["stopped_s"] + AWAY_S), len(streams_of(recorded))
    federation = SmallFederation(Certificates(keys), clock, spark=None)
    for name in ("home", "hub"):
        await federation.start(name)
    hub = federation.runtimes["hub"]
    try:
        await federation.until(lambda: len(hub.stores.commands.live()) >= count, within_s=WITHIN_S)
    finally:
        await federation.stop()


Answers = dict[tuple[str, int], tuple[Envelope, list[list[str]]]]


async def _work_on(recorded: dict[str, Any], keys: Path, spark: Any) -> Answers:
    clock = Clock(recorded["stopped_s"] + AWAY_S, speed=SPEED)
    streams = streams_of(recorded)
    federation = SmallFederation(Certificates(keys), clock, spark=spark)
    for site in ROSTER.sites:
        await federation.start(site.name)
    writing = asyncio.create_task(_write_the_rest(federation))
    try:
        await federation.until(
            lambda: writing.done() and _are_final(clock, streams), within_s=WITHIN_S
        )
        await writing
    finally:
        writing.cancel()
        await federation.stop()
    return _newest(streams)


async def _write_the_rest(federation: SmallFederation) -> None:
    """The lines that are left, each second's when it is over."""
    left = {site: Path("later", f"{site}.log").read_text().splitlines(True) for site in WRITERS}
    for second in range(STOPPED_S, END_S):
        await federation.at(ORIGIN_S + second + 1)
        for site, lines in left.items():
            due = [one for one in lines if second_of(one) == second]
            with (DATA / site / "access.log").open("a") as log:
                log.write("".join(due))


def _are_final(clock: Clock, streams: tuple[str, ...]) -> bool:
    if clock.now_s() < ORIGIN_S + END_S + LATENESS_S:
        return False
    due = [(e, stream) for stream in streams for e in _envelopes(stream)]
    return all(envelope.final for envelope, _ in due) and all(
        max(e.end_us for e, of in due if of == stream) >= (ORIGIN_S + END_S) * 1e6
        for stream in streams
    )


def _envelopes(stream: str) -> list[Envelope]:
    """Of windows that end with the input, or before."""
    reader = ResultsReader(SITES / ROSTER.home / RESULTS / stream)
    found = (envelope for _, envelope in reader.newest())
    return [one for one in found if one.end_us <= (ORIGIN_S + END_S) * 1e6]


def _newest(streams: tuple[str, ...]) -> Answers:
    found = {}
    for stream in streams:
        reader = ResultsReader(SITES / ROSTER.home / RESULTS / stream)
        for seq, envelope in reader.newest():
            if envelope.end_us <= (ORIGIN_S + END_S) * 1e6:
                table = reader.answer(seq, envelope)
                rows = [] if table is None else readable(table)["rows"]
                found[stream, envelope.window] = (envelope, rows)
    return found


def _panes(envelope: Envelope) -> range:
    return range(envelope.start_us // PANE_US, envelope.end_us // PANE_US)


def _declined(recorded: dict[str, Any], stream: str, *, last_pane: int) -> dict[int, Counted]:
    """The panes that south has declined, each with what it had sent of it before."""
    (query,) = [id_ for id_ in recorded["sites"]["south"]["cube"] if id_.startswith(f"{stream}@")]
    south = recorded["sites"]["south"]
    ranges = [(d["first"], d["last"]) for d in south["cube"][query]["record"]["declined"]]
    panes = [pane for first, last in ranges for pane in range(first, min(last, last_pane) + 1)]
    found: dict[int, Counted] = {pane: {} for pane in panes}
    for pane in panes:
        for key, table in south["updates"].items():
            if key.startswith(f"{query} pane {pane} update "):
                rows = ((domain, (int(n), 0, 0)) for domain, n in table["rows"])
                found[pane] = _sum(found[pane], dict(rows))
    return found


def _expected(
    stream: str, envelope: Envelope, lines: dict[str, list[str]], south: dict[int, Counted]
) -> list[list[str]]:
    """From the lines alone, but for what south has declined."""
    found: Counted = {}
    for site, pane in product(WRITERS, _panes(envelope)):
        if site == "south" and pane in south:
            found = _sum(found, south[pane])
        else:
            span = {"start_us": pane * PANE_US, "end_us": (pane + 1) * PANE_US}
            found = _sum(found, counted(lines[site], **span))
    if stream == "peak":
        return [[str(max(most for _, _, most in found.values()))]]
    columns = 2 if stream == "volume" else 1
    return [[domain, *map(str, found[domain][:columns])] for domain in sorted(found)]


def _sum(left: Counted, right: Counted) -> Counted:
    both = {**right, **left}
    for domain in left.keys() & right.keys():
        (n, total, most), (more, further, other) = left[domain], right[domain]
        both[domain] = (n + more, total + further, max(most, other))
    return both
