"""One process with agents: ``python -m crowd.process DIRECTORY PARTY CROWD``, until SIGTERM.

Agents that share a process share its event loop, which makes each of them wait for the others: a
harder life than on machines of their own. SIGUSR1 makes the disk of a root's process slow, SIGUSR2
makes it quick again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import msgspec
import structlog
from chaos.generator import PlainHost, open_agent

from crowd.meter import Meter, keep_samples
from crowd.parties import ROOTS, Crowd, Party, config_of
from crowd.plain_root import PlainRoot
from crowd.slow_disk import SlowDisk, slow_commits
from headwater.agent.runtime import SiteRuntime, federation_trees
from headwater.agent.settings import RuntimeSettings
from headwater.local.up import laid_out_roster

LOOK_EVERY_S = 0.5
READY = "ready"
FAILED = 75
"""The exit code of an agent that wants to be started again."""


def sample_file(directory: Path, party: str) -> Path:
    return directory / f"{party}.samples"


def ready_file(directory: Path, party: str) -> Path:
    return directory / f"{party}.{READY}"


async def run(directory: Path, party: Party, *, disk_s: float) -> int:
    disk = SlowDisk(disk_s)
    if party.name in ROOTS:
        slow_commits(disk)
    runtimes, meter, host = _open(directory, party, disk)
    ends = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ends.set)
    loop.add_signal_handler(signal.SIGUSR1, setattr, disk, "is_slow", True)
    loop.add_signal_handler(signal.SIGUSR2, setattr, disk, "is_slow", False)
    await _start(runtimes)
    sampling = asyncio.create_task(
        keep_samples(
            sample_file(directory, party.name),
            lambda: meter.sample(runtimes, disk_waits=disk.waits),
        )
    )
    ready_file(directory, party.name).write_text(f"{os.getpid()}\n")
    why = await _until(ends, runtimes, host)
    sampling.cancel()
    if why:
        print(f"ends: {why}", file=sys.stderr, flush=True)
        return FAILED
    await _stop(runtimes)
    return 0


def _open(
    directory: Path, party: Party, disk: SlowDisk
) -> tuple[list[SiteRuntime], Meter, PlainHost | None]:
    signed = laid_out_roster(directory)
    roster = signed.roster
    configs = [config_of(directory, roster.site(name)) for name in party.names]
    settings = RuntimeSettings.of(configs[0])
    meter = Meter(settings.node)
    meter.lay_hooks()
    trees = federation_trees(roster, settings)
    host = PlainHost(look_every_s=LOOK_EVERY_S) if party.has_data else None
    runtimes = [
        open_agent(
            config,
            signed,
            host=host,
            trees=trees,
            disk=disk,
            root=PlainRoot() if config.site in ROOTS else None,
        )
        for config in configs
    ]
    return runtimes, meter, host


async def _start(runtimes: list[SiteRuntime]) -> None:
    """All of a process are reachable before the first one dials."""
    for runtime in runtimes:
        await runtime.take_up()
    for runtime in runtimes:
        await runtime.join()
    for runtime in runtimes:
        runtime.begin()


async def _stop(runtimes: list[SiteRuntime]) -> None:
    """All rest before the first one leaves, so that nobody seeks those who have left."""
    for runtime in runtimes:
        await runtime.rest()
    for runtime in runtimes:
        await runtime.stop()


async def _until(ends: asyncio.Event, runtimes: list[SiteRuntime], host: PlainHost | None) -> str:
    """Why it ends; empty when it was told to."""
    while not ends.is_set():
        failures = [runtime.failure for runtime in runtimes if runtime.failure]
        if host is not None and host.failure is not None:
            failures.append(repr(host.failure))
        if failures:
            return failures[0]
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await ends.wait()
        except TimeoutError:
            continue
    return ""


def main() -> int:
    directory, name, crowd = sys.argv[1:]
    structlog.configure(
        processors=[
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    plan = msgspec.json.decode(crowd, type=Crowd)
    party = next(one for one in plan.parties() if one.name == name)
    return asyncio.run(run(Path(directory), party, disk_s=plan.disk_s))


if __name__ == "__main__":
    code = main()
    os._exit(code)  # threads that wait for a disk are not waited for
