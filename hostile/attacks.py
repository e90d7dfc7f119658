"""The attacks, one for each row of the table of what must be impossible.

An attack tries something and looks from outside; it returns what happened, or raises ``Succeeded``
with what the attacker got. That agents live, answer operators and count the honest stream rightly
is looked at after each of them by ``run``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from headwater.agent.control import control_api as api
from headwater.algebra.coordinate import Coordinate
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import FOREVER, SiteState
from headwater.errors import HeadwaterError
from headwater.overlay.messages import (
    AckMessage,
    AlterMessage,
    AskInstall,
    CommandMessage,
    CommandsKnown,
    CoordinatesMessage,
    Heartbeat,
    Placed,
    StatesMessage,
)
from headwater.overlay.ways.root_pulses import RootPulse
from headwater.plan.altered.settings import Settings
from headwater.plan.command import Alter, Count, Install, Remove
from hostile import certificates, honest
from hostile.federation import HAS_DECLARED, SECOND, Agents
from hostile.thief import Thief

SHOWN_S_MAX = 15.0
HUGE = 2**62
CONNECTS = 1_500
ONE_ADDRESS = "127.6.6.6"
SLOTS = 40
RSS_GROWTH_BYTES_MAX = 300 << 20
QUICK_S_MAX = 10.0
ONE_WINDOW = "SELECT count(*) AS n FROM web GROUP BY window(ts, '5 seconds')"


class Succeeded(Exception):
    """The attacker got what it wanted."""


class Missing(Exception):
    """What would make it fail is not there yet."""


class Siege(NamedTuple):
    agents: Agents
    thief: Thief

    @property
    def root(self) -> str:
        return self.agents.sites[0]

    @property
    def targets(self) -> tuple[str, ...]:
        return self.agents.names

    def honest_install(self) -> Install:
        """As everybody knows it."""
        found = [q for key, q in self.thief.installs.items() if key.startswith(f"{honest.STREAM}@")]
        if not found:
            raise Succeeded("the thief never heard of the honest stream, so nothing was tried")
        return found[0]

    async def shown(self, stream: str, word: str) -> str:
        """Wait until ``streams`` tells of this trouble at the root."""
        line = None
        for _ in range(round(SHOWN_S_MAX / 0.5)):
            line = (await self.agents.streams()).get(stream)
            if line is not None and word in line.trouble:
                return f"shown: {line.trouble[:90]}"
            await asyncio.sleep(0.5)
        raise Succeeded(f"{stream}: wanted {word!r} in streams, got {line}")

    def refusals(self) -> int:
        """Of the overlay, as agents write them into their logs, and of messages, as they count."""
        texts = (self.agents.log(name) for name in self.agents.names)
        return sum(text.count('"refused"') for text in texts) + self.agents.refused_frames()

    async def counted(self, lie: Callable[[], Awaitable[None]]) -> str:
        """Lie until somebody says that it was refused: agents do not say the same all the time."""
        before = self.refusals()
        for _ in range(round(SHOWN_S_MAX)):
            await lie()
            await asyncio.sleep(1.0)
            if self.refusals() > before:
                return "refused, and agents say or count it"
        raise Succeeded("nobody says that it was refused")


def stream(name: str, select: str = ONE_WINDOW) -> str:
    return f"{honest.SOURCE}\nCREATE STREAM {name} WITH (deadline = '4s') AS {select};"


async def _installed(siege: Siege, name: str, change: Callable[[Any], None]) -> None:
    query = siege.thief.compiled(stream(name))
    message = siege.thief.install(query, change)
    for to in siege.targets:
        await siege.thief.say(to, message)


def _setting(**fields: Any) -> Callable[[Any], None]:
    def change(word: Any) -> None:
        word[0].update(fields)

    return change


async def shell(siege: Siege) -> str:
    mark = siege.agents.directory / "owned"
    texts = {
        "evil_transform": f"SELECT TRANSFORM(n) USING 'touch {mark}' FROM panes",
        "evil_reflect": "SELECT REFLECT('java.lang.Runtime', 'getRuntime') AS n FROM panes",
        "evil_java": f"SELECT JAVA_METHOD('java.io.File', 'new', '{mark}') AS n FROM panes",
    }
    for name, sql in texts.items():
        await _installed(siege, name, _setting(root_sql=sql))
    settings = [["spark.sql.extensions", "evil.Extensions"]]
    await _installed(siege, "evil_settings", _setting(settings=settings))
    told = [await siege.shown(name, "not answered here") for name in (*texts, "evil_settings")]
    if mark.exists():
        raise Succeeded("a shell at the root")
    return told[0]


async def counters(siege: Siege) -> str:
    thief = siege.thief
    names = [site.name for site in siege.agents.roster.sites]
    lies = [Count(installer=name, number=2**53, revision=2**53) for name in names]
    signed = [thief.network.signatures.sign_count(one) for one in lies]

    async def lie() -> None:
        for to in siege.targets:
            await thief.say(to, CommandsKnown(tuple(lies), ()), CommandsKnown(tuple(signed), ()))

    told = await siege.counted(lie)
    problem = await siege.agents.run(stream("after_counts"))
    if problem:
        raise Succeeded(f"no command can be given any more: {problem}")
    await siege.agents.remove("after_counts")
    bad = siege.agents.directory / "bad.sql"
    bad.write_text(stream("bad", "SELECT no_such_function(host) AS n FROM web"))
    if siege.agents.command("run", str(bad)).returncode == 0:
        raise Succeeded("headwater run calls a refused install a success")
    return f"{told}; another stream could be run and removed"


async def states(siege: Siege) -> str:
    thief, roster = siege.thief, siege.agents.roster
    query = str(siege.honest_install().query.id)

    def lies_of(site: str) -> list[SiteState]:
        true = [one for one in thief.states if one.ordinal == roster.site(site).ordinal]
        lie = SiteState(
            query=query,
            ordinal=roster.site(site).ordinal,
            incarnation=HUGE,
            number=9,
            first_pane=-FOREVER,
            sealed_through=FOREVER,
            ended=True,
            empty=((-FOREVER, FOREVER),),
        )
        replayed = [msgspec.structs.replace(lie, proof=one.proof) for one in true[-1:]]
        return [lie, thief.network.signatures.sign_state(lie), *replayed]

    async def lie() -> None:
        for site in siege.agents.sites:
            for to in siege.targets:
                await thief.say(to, *(StatesMessage((one,)) for one in lies_of(site)))

    told = await siege.counted(lie)
    alarms = siege.agents.command("alarms", "--output", "json").stdout.decode()
    if "not signed" not in alarms or thief.name not in alarms:
        raise Succeeded(f"headwater alarms does not name the liar: {alarms[:200]}")
    return f"{told}; headwater alarms names the liar"


async def poison(siege: Siege) -> str:
    thief = siege.thief
    await _installed(siege, "evil_type", _setting(keys=[{"name": "host", "type": "cheese"}]))
    digits = f"SELECT {'9' * 4400} AS n FROM panes"
    await _installed(siege, "evil_digits", _setting(root_sql=digits))
    for fields in ({"range_us": HUGE, "slide_us": 1}, [HUGE, 1]):
        await _installed(siege, "evil_window", _setting(window=fields))
    told = await siege.shown("evil_digits", "not answered here")
    await thief.say(siege.root, thief.end_own())
    return told


async def commands(siege: Siege) -> str:
    thief = siege.thief
    known = siege.honest_install()
    removal = Remove(
        id=known.query.id, installer=thief.name, counter=1, operator="operator", proof=known.proof
    )
    count = thief.network.signatures.sign_count(
        Count(installer=thief.name, number=1, revision=10_000, live=(), ended=(removal,))
    )
    planned = thief.network.signatures.sign_plan(msgspec.structs.replace(known, plan_version=2**53))
    other = msgspec.structs.replace(known.query, root=thief.name)
    forged = msgspec.structs.replace(known, query=other)
    altered = Alter(
        id=known.query.id,
        installer=thief.name,
        counter=1,
        number=1,
        first_pane=known.query.begin_pane or 0,
        settings=Settings(deadline_s=0.0),
        operator="operator",
        proof=known.proof,
    )
    lies = (
        CommandMessage(removal, count),
        CommandMessage(planned),
        CommandMessage(forged),
        AlterMessage(altered),
        AlterMessage(msgspec.structs.replace(altered, number=2**53)),
    )

    async def lie() -> None:
        for to in siege.targets:
            await thief.say(to, *lies)

    told = await siege.counted(lie)
    for at in siege.targets:
        if honest.STREAM not in await siege.agents.streams(at=at):
            raise Succeeded(f"the honest stream was removed at {at}")
        thief.installs.clear()
        await thief.say(at, AskInstall((str(known.query.id),)))
        await asyncio.sleep(1.0)
        now = siege.honest_install()
        if (now.query, now.plan_version) != (known.query, known.plan_version):
            raise Succeeded(f"{at} goes by another query or plan: version {now.plan_version}")
        if thief.alters:
            raise Succeeded(f"{at} has taken settings that no operator has signed")
    return f"{told}; all go by the plan and the settings that they had"


async def acks(siege: Siege) -> str:
    thief, query = siege.thief, str(siege.honest_install().query.id)
    lie_ = Acknowledgement(
        query=query,
        root_incarnation=HUGE,
        number=HUGE,
        done_through=FOREVER,
        held=((-FOREVER, FOREVER),),
    )
    signed = thief.network.signatures.sign_ack(lie_)

    async def lie() -> None:
        replayed = [msgspec.structs.replace(lie_, proof=one.proof) for one in thief.acks[-1:]]
        for to in siege.targets[1:]:
            await thief.say(to, *(AckMessage(one) for one in (lie_, signed, *replayed)))

    return await siege.counted(lie)


async def trees(siege: Siege) -> str:
    agents, thief = siege.agents, siege.thief
    before = {name: _rss_bytes(agents.pid(name)) for name in agents.names}
    tree = [0, [-1] + [0] * ((1 << 17) - 1)]
    word = msgspec.msgpack.encode(["evil@x#1", 1, [tree] * 16])
    bomb = thief.compressed([["install", [word], [word], 0.0, None], None])

    async def lie() -> None:
        for to in agents.names:
            await thief.say(to, bomb)

    began_s = time.monotonic()
    told = await siege.counted(lie)
    await agents.streams()
    took_s = time.monotonic() - began_s
    grown = max(_rss_bytes(agents.pid(name)) - before[name] for name in agents.names)
    if grown > RSS_GROWTH_BYTES_MAX or took_s > QUICK_S_MAX + SHOWN_S_MAX:
        raise Succeeded(f"{len(bomb.data)} bytes cost {grown >> 20} MiB and {took_s:.0f} s")
    return f"{len(bomb.data)} bytes each cost {max(grown, 0) >> 20} MiB in all; {told}"


async def clocks(siege: Siege) -> str:
    agents, thief = siege.agents, siege.thief
    before = await _clocks_ms(agents)
    ordinal = agents.roster.site(siege.root).ordinal

    def lie(beat: Heartbeat) -> Heartbeat:
        sign = RootPulse(root=ordinal, age_s=0.0, clock_s=time.time() + 86_400.0, spread_s=0.0)
        return msgspec.structs.replace(beat, roots=(sign,))

    for to in agents.names:
        await thief.linked(to)
    await thief.beat(seconds=4.0, change=lie)
    after = await _clocks_ms(agents)
    moves_ms = [abs(after[key] - before[key]) for key in after if key in before]
    if not moves_ms:
        raise Missing("an agent that goes by the root's clock in this run; try --sites 3")
    moved_ms = max(moves_ms)
    if moved_ms > 60_000.0:
        raise Succeeded(f"the root's clock was moved by {moved_ms / 1e3:.0f} s at a site")
    return f"the root's clock moved by {moved_ms:.0f} ms at most"


async def _clocks_ms(agents: Agents) -> dict[str, float]:
    """By agent: how far the home's clock is ahead of its own."""
    found = {}
    for name in agents.names[1:]:
        reply = msgspec.convert(await agents.ask(api.SITES, at=name), api.SitesReply)
        found |= {one.site: one.clock_ms for one in reply.sites if one.site == name}
    return {name: ms for name, ms in found.items() if ms is not None}


async def large_values(siege: Siege) -> str:
    calls = (
        "repeat(host, 700000000)",
        "space(700000000)",
        "lpad(host, 700000000, 'x')",
        "rpad(host, 700000000, 'x')",
        "format_string('%700000000s', host)",
    )
    for call in calls:
        select = f"SELECT max(length({call})) AS n FROM web GROUP BY window(ts, '5 seconds')"
        problem = await siege.agents.run(stream("evil_value", select))
        if not problem:
            await siege.agents.remove("evil_value")
            raise Succeeded(f"{call} was installed")

    def change(word: Any) -> None:
        word[0]["site_sql"] = word[0]["site_sql"].replace(
            "COUNT(*)", "MAX(LENGTH(REPEAT(host, 700000000)))"
        )

    await _installed(siege, "evil_repeat", change)
    told = await siege.shown("evil_repeat", "refused")
    return f"five functions refused by their sizes; slipped past the compiler, {told}"


async def patterns(siege: Siege) -> str:
    agents = siege.agents
    before = len(honest.Answers(agents.directory, siege.root).final())
    select = (
        "SELECT count(*) AS n FROM web WHERE host RLIKE '^(a+)+$' GROUP BY window(ts, '5 seconds')"
    )
    problem = await agents.run(stream("evil_pattern", select))
    if problem:
        return f"refused: {problem[:90]}"
    deadline_s = time.monotonic() + 6 * SHOWN_S_MAX
    answers = honest.Answers(agents.directory, siege.root)
    while len(answers.final()) < before + 2:
        if time.monotonic() > deadline_s:
            raise Succeeded("the honest stream of the same source stood still")
        await asyncio.sleep(1.0)
    await agents.remove("evil_pattern")
    jvm = agents.jvm(siege.root)
    await asyncio.sleep(8.0)
    busy = [await _cpu_share(jvm) for _ in range(3)]
    if min(busy) > 0.9:
        raise Succeeded(f"its job went on after it was removed: {min(busy):.0%} of a core")
    return "the honest stream of the same source went on, and removing it ended its job"


async def columns(siege: Siege) -> str:
    if not HAS_DECLARED:
        raise Missing("a site's own declared sources")
    agents, regex = siege.agents, r"format = 'regex', pattern = r'(.*?),(.*?),(.*)'"
    sources = {
        "evil_plain": honest.SOURCE,
        "evil_renamed": honest.SOURCE.replace("secret STRING", "free STRING"),
        "evil_cut": honest.SOURCE.replace("format = 'csv'", regex),
        "evil_sweep": honest.SOURCE.replace(honest.LOG, "**/*.log").replace("secret", "free"),
    }
    for name, source in sources.items():
        column = "free" if "free STRING" in source else "secret"
        own = source.replace("SOURCE web", f"SOURCE {name}_of")
        select = f"SELECT {column}, count(*) AS n FROM {name}_of"
        sql = f"{own} CREATE STREAM {name} WITH (deadline = '4s', disorder = '1s') AS {select}"
        await agents.run(f"{sql} GROUP BY window(ts, '5 seconds'), {column};")
    await asyncio.sleep(20.0 if agents.has_spark else 2.0)
    for name in sources:
        for path in (agents.directory / siege.root / "state" / "results" / name).glob("*.parquet"):
            if honest.SECRET.encode() in path.read_bytes():
                raise Succeeded(f"{name}: a denied column is in its answers")
    told = (await agents.streams()).get("evil_renamed")
    for name in sources:
        with contextlib.suppress(HeadwaterError):
            await agents.remove(name)
    return f"four ways to it, in no answer; streams: {told.trouble[:90] if told else 'not run'}"


async def globs(siege: Siege) -> str:
    for path in ("/".join(["**", "a"] * 16) + "/*.log", "/".join("*" * 40), "*" * 60 + ".log"):
        sql = stream("evil_glob").replace(honest.LOG, path)
        if not await siege.agents.run(sql):
            await siege.agents.remove("evil_glob")
            raise Succeeded(f"{path[:40]} was installed")

    def change(word: Any) -> None:
        word[0]["source"]["path"] = "/".join(["**", "a"] * 16) + "/*.log"

    await _installed(siege, "evil_path", change)
    return await siege.shown("evil_path", "refused")


async def formats(siege: Siege) -> str:
    select = (
        "SELECT max(date_format(ts, 'YYYY-bbbb')) AS n FROM web GROUP BY window(ts, '5 seconds')"
    )
    problem = await siege.agents.run(stream("evil_format", select))
    if not problem:
        await siege.agents.remove("evil_format")
        raise Succeeded("a pattern by which every batch fails was installed")
    return f"refused: {problem[:90]}"


async def slots(siege: Siege) -> str:
    async with contextlib.AsyncExitStack() as held:
        kept, refused = 0, 0
        for _ in range(SLOTS):
            client = held.enter_context(siege.agents.client())
            try:
                await client.connect()
                held.push_async_callback(client.close)
                kept += 1
            except HeadwaterError:
                refused += 1
        await siege.agents.ask(api.STREAMS, operator=SECOND)
    if not refused:
        raise Succeeded(f"one operator held {kept} connections")
    return f"one operator had {kept} of {SLOTS} connections, another one was let in"


async def connects(siege: Siege) -> str:
    port = siege.agents.port(siege.root)
    held: list[socket.socket] = []
    waits_s = []
    for number in range(CONNECTS):
        one = socket.socket()
        one.setblocking(False)
        with contextlib.suppress(OSError):
            one.bind((ONE_ADDRESS, 0))
            one.connect_ex(("127.0.0.1", port))
        held.append(one)
        if number % 300 == 299:
            began_s = time.monotonic()
            await siege.agents.streams()
            waits_s.append(time.monotonic() - began_s)
        await asyncio.sleep(0.001)
    for one in held:
        one.close()
    return f"{CONNECTS} bare connects held; an operator waited {max(waits_s):.1f} s at most"


async def escapes(siege: Siege) -> str:
    watch = ("watch", honest.STREAM, "--count", "2")
    for words in (watch, (*watch, "--output", "json"), ("streams",), ("why", honest.STREAM)):
        shown = siege.agents.command(*words).stdout
        if b"\x1b]" in shown or b"\x07" in shown or b"\x1b[2J" in shown:
            raise Succeeded(
                f"headwater {' '.join(words)} hands escapes of a record to the terminal"
            )
    return "four commands show such records, and none hands on a control character"


async def spark_ports(siege: Siege) -> str:
    if not siege.agents.has_spark:
        raise Missing("a Spark in this run")
    pid = siege.agents.jvm(siege.root)
    found = _listening(pid)
    wide = [address for address in found if not address[0].startswith("127.")]
    if wide:
        raise Succeeded(f"Spark listens at {wide}")
    for host, port in found:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=2) as one:
            one.sendall(b"\x00" * 21 + b"java.lang.Runtime" * 20)
            one.settimeout(1.0)
            with contextlib.suppress(OSError):
                one.recv(100)
    if siege.agents.jvm(siege.root) != pid:
        raise Succeeded("a few bytes ended the JVM")
    report = siege.agents.command("doctor", "--output", "json").stdout.decode()
    return f"{len(found)} ports, all on loopback; doctor: {_said(report, 'authenticat')}"


async def modes(siege: Siege) -> str:
    seen = 0
    for name in siege.agents.names:
        for path in (siege.agents.directory / name / "state").rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                seen += 1
                mode = path.lstat().st_mode
                if mode & 0o077 and not path.is_symlink():
                    raise Succeeded(f"{path} is open to others: {mode & 0o777:o}")
    return f"{seen} files and folders, all for their owner alone"


async def the_rest(siege: Siege) -> str:
    agents, thief = siege.agents, siege.thief
    far = Coordinate(x=9e3, y=-9e3, z=0.0, height=1.0, error=0.01)
    placed = tuple(Placed(site.ordinal, far) for site in agents.roster.sites)
    for to in agents.names:
        await thief.say(to, CoordinatesMessage(placed))
    select = "SELECT sum(CAST(host AS INT)) AS n FROM web GROUP BY window(ts, '5 seconds')"
    if not await agents.run(stream("leaky", select)):
        await asyncio.sleep(6.0)
        told = str(await agents.ask(api.WHY, {"stream": "leaky", "window": "newest"}))
        told += str(await agents.streams())
        await agents.remove("leaky")
        if honest.HOSTS[0] in told:
            raise Succeeded("why hands on a value of a record")
    sites = msgspec.convert(await agents.ask(api.SITES), api.SitesReply)
    moved = [
        one.site for one in sites.sites if "9000,-9000" in one.place and one.site != thief.name
    ]
    if moved:
        raise Succeeded(f"coordinates of {moved} were rewritten")
    got = [
        certificates.mistyped_deny_path(agents),
        await certificates.operator_outlives(agents),
        await certificates.bulk_half_outlives(agents),
    ]
    for one in got:
        if one is not None:
            raise Succeeded(one)
    return "places of others stay, Spark's words do not travel, connections end with certificates"


Attack = Callable[[Siege], Awaitable[str]]

ROWS: dict[int, tuple[str, Attack]] = {
    1: ("TRANSFORM, reflect, java_method, settings in a signed install", shell),
    2: ("counts of 2^53 for every site", counters),
    3: ("states of others, of life 2^62, empty and sealed", states),
    4: ("an unknown type, 4,400 digits, endless windows", poison),
    5: ("removals, plans of 2^53 and installs in others' names", commands),
    6: ("acknowledgements of all panes for ever", acks),
    7: ("trees of two million entries in a few kilobytes", trees),
    8: ("heartbeats with a root's clock a day ahead", clocks),
    9: ("repeat, space, lpad, rpad, format_string of 700 MB", large_values),
    10: ("a pattern that backtracks for ever, then remove", patterns),
    11: ("a denied column under another name", columns),
    12: ("paths of many stars", globs),
    13: ("a date_format by which every batch fails", formats),
    14: (f"{SLOTS} connections of one operator", slots),
    15: (f"{CONNECTS} bare connects from one address", connects),
    16: ("escape sequences in values of records", escapes),
    17: ("Spark's ports, by a user of the machine", spark_ports),
    18: ("files of an agent, by a user of the machine", modes),
    19: ("others' coordinates, Spark's words, certificates that are over", the_rest),
}
SMALL = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14, 18)
"""Those that need no Spark and no waiting, for the tests."""


def _rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def _cpu_share(pid: int) -> float:
    before, began_s = _cpu_s(pid), time.monotonic()
    await asyncio.sleep(1.0)
    return (_cpu_s(pid) - before) / (time.monotonic() - began_s)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _listening(pid: int) -> list[tuple[str, int]]:
    """Where a process listens, by what the kernel says of its sockets."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address, port = fields[1].split(":")
                found.append((_host(address), int(port, 16)))
    return found


def _host(address: str) -> str:
    """Of IPv6, a mapped address of IPv4, or as it is."""
    last = bytes.fromhex(address[-8:])[::-1]
    is_mapped = len(address) == 8 or address[16:24] == "FFFF0000"
    return ".".join(map(str, last)) if is_mapped else f"[{address}]"


def _said(report: str, word: str) -> str:
    lines = [line for line in report.splitlines() if word in line.lower()]
    return lines[0].strip()[:90] if lines else "it says nothing of it"
