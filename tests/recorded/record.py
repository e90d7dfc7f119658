"""Records a federation of this version in mid-work, for all later versions to open.

Run as ``python tests/recorded/record.py`` (or ``make record``); it takes two minutes, replaces
``tests/recorded/<version>/`` and says what is in it. A format's number that rises needs a migration
and a new recording; what a released version has recorded stays as it is, in its own folder.

The federation runs in a process of its own, which in the end kills itself: what is on its disks is
what a crash leaves. All times in it are of a clock that begins at ``ORIGIN_S``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from counting_spark import flow, in_sparks_place, stand_still
from derived_keys import OPERATOR, VIEWER, Certificates
from log_lines import ORIGIN_S, late_line, lines_of
from log_lines import SITES as WRITERS
from made_messages import encoded, made_answers, made_hello, made_messages, made_requests
from packed import PACKED, pack
from readable import formats, inventory_of, laid_out
from small_federation import DATA, ROSTER, SITES, Clock, SmallFederation, sign_the_roster
from transcript import ANSWER, HELLO, REQUEST, ListeningCodec, Transcript, listen_to_greetings

from headwater import __version__
from headwater.agent.control import control_api as api
from headwater.agent.control.operator_client import (
    alter_stream,
    command_budget,
    remove_stream,
    run_statements,
)
from headwater.errors import HeadwaterError
from headwater.net.control.control import Event, Reply, Request
from headwater.net.control.control_client import ControlClient
from headwater.net.values.codec import Codec

HERE = Path(__file__).parent
BYTES_MAX = 500_000
"""Of a recording: it is cloned with the sources, for ever."""
STOPPED_S = 39
"""After so many seconds the agents are gone."""
END_S = 48
"""The rest of the input, which nobody has read yet, goes to here."""
MINUTES = 1 / (24 * 60)
LASTS = {
    OPERATOR: 0.7 * MINUTES,
    VIEWER: 0.7 * MINUTES,
    **{site.name: 1.5 * MINUTES for site in ROSTER.sites},
}
"""Certificates of the recording, in days: they have ended by the time that somebody opens it."""
ALL_ENDED_S = 100.0
"""That time, at the earliest."""

SOURCE = """
CREATE SOURCE hits (ts TIMESTAMP, domain STRING, bytes BIGINT)
WITH (format = 'csv', path = 'access.log', time = 'ts');
"""
OPTIONS = (
    "begin = '2026-11-17 09:00:04', lateness = '20 seconds', disorder = '1 second', "
    "deadline = '3 seconds'"
)
STREAMS = f"""{SOURCE}
CREATE STREAM volume WITH ({OPTIONS}) AS
SELECT domain, count(*) AS n, sum(bytes) AS total FROM hits
GROUP BY window(ts, '8 seconds', '4 seconds'), domain;
CREATE STREAM peak WITH ({OPTIONS}) AS
SELECT max(bytes) AS most FROM hits GROUP BY window(ts, '4 seconds');
CREATE STREAM costly WITH ({OPTIONS}) AS
SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '4 seconds'), domain;
"""
BY_ERROR = f"""{SOURCE}
CREATE STREAM rough WITH ({OPTIONS}, error = '30 % of total', finally = 'exact') AS
SELECT domain, count(*) AS n FROM hits GROUP BY window(ts, '4 seconds'), domain;
"""
OF_STATES = f"""{SOURCE}
CREATE STREAM lately WITH (
  begin = '2026-11-17 09:00:04', disorder = '1 second', deadline = '3 seconds') AS
SELECT domain, count(*) AS n FROM hits GROUP BY last_rows(1000, every => '4 seconds'), domain;
"""
"""More than there are, so that each state has all that was read since the begin."""
ASKED = "SELECT domain, count(*) AS n FROM hits GROUP BY domain"
BRIEF = f"""{SOURCE}
CREATE STREAM brief WITH ({OPTIONS}) AS
SELECT count(*) AS n FROM hits GROUP BY window(ts, '4 seconds');
"""


def main() -> None:
    if sys.argv[1:] == ["--live"]:
        with in_sparks_place() as spark:
            asyncio.run(Story().live(spark))
        raise SystemExit("the story has an end")
    into, began_s = HERE / recording_name(), time.time()
    with tempfile.TemporaryDirectory(prefix="recording-") as scratch:
        place = Path(scratch) / "federation"
        place.mkdir()
        _live_and_die(place)
        _put_in_order(place)
        _write_recording(place, into)
        print(described(into))
    time.sleep(max(0.0, began_s + ALL_ENDED_S - time.time()))


def recording_name() -> str:
    """Of the versions with these formats: 0.2 for 0.2.0 and 0.2.1."""
    return ".".join(__version__.split(".")[:2])


def _live_and_die(place: Path) -> None:
    command = [sys.executable, str(Path(__file__).resolve()), "--live"]
    ended = subprocess.run(command, cwd=place, check=False)
    if ended.returncode != -signal.SIGKILL:
        raise SystemExit(f"the federation ended with {ended.returncode}, and was to be killed")


def _put_in_order(place: Path) -> None:
    """What SQLite's log has goes into its file; locks and Spark's checkpoints are nobody's."""
    for path in sorted(place.rglob("*.sqlite")):
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    for site in ROSTER.sites:
        shutil.rmtree(place / SITES / site.name / "spark", ignore_errors=True)
    for path in place.rglob("*"):
        if path.name == "agent.lock" or path.name.endswith(("-wal", "-shm")):
            path.unlink()


def _write_recording(place: Path, into: Path) -> None:
    later = place / "later"
    later.mkdir()
    for site in WRITERS:
        rest = [one for second in range(STOPPED_S, END_S) for one in lines_of(site, second)]
        (later / f"{site}.log").write_text("".join(rest))
    inventory = {
        "version": __version__,
        "formats": formats(),
        "stopped_s": json.loads((place / "stopped.json").read_text()),
        "sites": _inventories(place),
    }
    (place / "stopped.json").unlink()
    (place / "inventory.json").write_text(laid_out(inventory) + "\n")
    pack(place / SITES, place / PACKED)
    shutil.rmtree(place / SITES)
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(place, into)
    size = sum(path.stat().st_size for path in into.rglob("*") if path.is_file())
    if size > BYTES_MAX:
        raise SystemExit(f"{into}: {size} bytes, wanted at most {BYTES_MAX}")


def _inventories(place: Path) -> dict[str, Any]:
    """Of copies: opening is a start, and changes what is there."""
    with tempfile.TemporaryDirectory(prefix="inventory-") as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(place / SITES, copy)
        return {site.name: inventory_of(copy / site.name, site.name) for site in ROSTER.sites}


def described(recording: Path) -> str:
    """What is in it, for people: each thing that it is to have, counted."""
    inventory = json.loads((recording / "inventory.json").read_text())
    panes = [
        pane
        for site in inventory["sites"].values()
        for kept in site["cube"].values()
        for pane in kept["panes"]
    ]
    answers = [
        one["envelope"]
        for stream in inventory["sites"][ROSTER.home]["answers"].values()
        for one in stream.values()
    ]
    counts = {
        "bytes": sum(path.stat().st_size for path in recording.rglob("*") if path.is_file()),
        "messages": len((recording / "messages.txt").read_text().splitlines()),
        "panes acknowledged": sum(pane["is_acked"] for pane in panes),
        "panes sent, not acknowledged": sum(
            not pane["is_acked"] and bool(pane["sent"]) for pane in panes
        ),
        "panes open with rows": sum(pane["waiting_rows"] > 0 for pane in panes),
        "panes with a late update": sum(pane["updates"] > 1 for pane in panes),
        "panes of which something was kept back": sum(
            pane.get("withheld") is not None for pane in panes
        ),
        "panes of states": sum(
            len(kept["panes"])
            for site in inventory["sites"].values()
            for query, kept in site["cube"].items()
            if query.startswith("lately@")
        ),
        "queries with declines": sum(
            bool(kept["record"]["declined"])
            for site in inventory["sites"].values()
            for kept in site["cube"].values()
        ),
        "answers": len(answers),
        "answers that are revisions": sum(one["revision"] > 1 for one in answers),
        "final answers": sum(one["final"] for one in answers),
    }
    return "\n".join([str(recording), *(f"  {n:>7} {what}" for what, n in counts.items())])


class Story:
    """What happens, second by second; ends with the death of this process."""

    def __init__(self) -> None:
        self.transcript = ListeningCodec.transcript = Transcript()
        self.certificates = Certificates(Path(tempfile.mkdtemp(prefix="keys-")), days=LASTS)
        for site in WRITERS:
            (DATA / site).mkdir(parents=True)
            (DATA / site / "access.log").touch()

    async def live(self, spark: Any) -> None:
        sign_the_roster(self.certificates, OPERATOR)
        self.federation = SmallFederation(
            self.certificates, Clock(ORIGIN_S), spark=spark, codec=ListeningCodec
        )
        listen_to_greetings(self.transcript)
        writing = asyncio.create_task(self._write_logs())
        for name in ("home", "hub", "north"):
            await self.federation.start(name)
        await self._install()
        await self._at(2.5)
        await self.federation.start("south")
        await self._at(9)
        await self._ask()
        await self._at(14)
        for site in WRITERS:
            _append(site, late_line(site, 5.5))
        await self._at(16)
        south = self.federation.runtimes["south"]
        south.suspend(self._id_of("costly"), "it takes more than its share")
        await self._at(18)
        stand_still("south")
        await self._at(25)
        flow("south")
        await self._at(30)
        _append("north", late_line("north", 22.5))
        await self._at(31)
        stand_still("south")
        await self._at(34.5)
        await self.federation.kill("home")
        _append("north", late_line("north", 28.5))
        await self._at(STOPPED_S)
        writing.cancel()
        self._die()

    async def _at(self, second: float) -> None:
        await self.federation.at(ORIGIN_S + second)

    async def _write_logs(self) -> None:
        for second in range(STOPPED_S):
            await self._at(second + 1)
            for site in WRITERS:
                _append(site, "".join(lines_of(site, second)))
            if second == 11:
                _append("north", "this is no record\n")

    # Operators

    def _client(self, who: str, *, site: str = "home") -> ControlClient:
        port = self.federation.ports["home"]
        return ControlClient("127.0.0.1", port, self.certificates.files(who), site=site)

    async def _install(self) -> None:
        async with self._client(OPERATOR) as home:
            ask = self._listening(home)
            await run_statements(ask, STREAMS, home.signature)
            await run_statements(ask, BY_ERROR, home.signature)
            await run_statements(ask, OF_STATES, home.signature)
            await run_statements(ask, BRIEF, home.signature)

    async def _ask(self) -> None:
        """All that people ask of an agent, and a refusal of each sort."""
        async with self._client(OPERATOR) as home:
            ask = self._listening(home)
            await remove_stream(ask, "brief", home.signature)
            await alter_stream(
                ask,
                "volume",
                "revise_every = '2 seconds'",
                home.signature,
                now_s=self.federation.clock.now_s,
            )
            await command_budget(ask, "north", 1e8, home.signature, by_file=False)
            for name, payload in (
                (api.EXPLAIN, {"text": STREAMS}),
                (api.COMPARE, {"text": STREAMS}),
                (api.STREAMS, {}),
                (api.SITES, {}),
                (api.ALARMS, {}),
                (api.STATEMENTS, {"stream": "peak"}),
                (api.WHY, {"stream": "peak", "window": "newest"}),
                (api.PREPARE_ASK, {"select": ASKED, "name": "ask_1", "since_s": 20.0}),
                (api.END_ASK, {"questions": []}),
            ):
                await ask(name, payload)
            await self._watch(home)
        async with self._client(VIEWER) as home:
            with contextlib.suppress(HeadwaterError):
                await self._listening(home)(api.PREPARE, {"text": BRIEF})
        with contextlib.suppress(HeadwaterError):
            await self._client(VIEWER, site="elsewhere").connect()

    async def _watch(self, home: ControlClient) -> None:
        asked = Request(2, api.WATCH, {"stream": "peak"})
        self.transcript.want(REQUEST, api.WATCH, encoded(asked), asked)
        async for payload in home.stream(api.WATCH, asked.payload):
            event = Event(2, payload)
            self.transcript.want(ANSWER, api.WATCH, encoded(event), event)
            return

    def _listening(self, client: ControlClient) -> Any:
        async def ask(name: str, payload: dict[str, Any]) -> Any:
            asked = Request(1, name, payload)
            self.transcript.want(REQUEST, name, encoded(asked), asked)
            reply = Reply(1, await client.request(name, payload))
            self.transcript.want(ANSWER, name, encoded(reply), reply)
            return reply.payload

        return ask

    def _id_of(self, stream: str) -> str:
        live = self.federation.runtimes["south"].node.peer.live_queries().values()
        return next(str(one.query.id) for one in live if one.query.stream == stream)

    # The end

    def _add_made(self) -> None:
        north = self.federation.runtimes["north"]
        codec = Codec(north.stores.book.schema, ordinals_max=ROSTER.ordinals)
        for number, message in enumerate(made_messages(north.network.signatures)):
            data = codec.encode(message)
            name = f"made {number}"
            self.transcript.want(type(message).__name__, name, data, codec.decode(data))
        self.transcript.want(HELLO, "made", encoded(made_hello()), made_hello())
        for number, word in enumerate(made_requests()):
            self.transcript.want(REQUEST, f"made {number}", encoded(word), word)
        for number, word in enumerate(made_answers()):
            self.transcript.want(ANSWER, f"made {number}", encoded(word), word)

    def _die(self) -> None:
        self._add_made()
        self.transcript.write(Path("messages.txt"))
        Path("stopped.json").write_text(json.dumps(self.federation.clock.now_s()))
        shutil.rmtree(self.certificates.directory)
        os.kill(os.getpid(), signal.SIGKILL)


def _append(site: str, text: str) -> None:
    with (DATA / site / "access.log").open("a") as log:
        log.write(text)


if __name__ == "__main__":
    main()
