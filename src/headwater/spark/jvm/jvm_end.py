"""How a JVM ended, in one sentence, with what to do about it.

A JVM tells by its exit code, by its last words and, where it crashed, by a report; the kernel,
which ends processes when there is no memory left, tells by a signal only.
"""

from __future__ import annotations

import re
import signal
from enum import StrEnum
from pathlib import Path

import msgspec

from headwater.spark.jvm.lease import Work

OUT_OF_MEMORY = re.compile(r"Terminating due to java\.lang\.OutOfMemoryError: (.+)")
"""What ``-XX:+ExitOnOutOfMemoryError`` makes it say, with exit code 3."""
CRASH = re.compile(
    r"^#\s+(SIG\w+ \(0x\w+\)|Internal Error \(.*?\)|Out of Memory Error.*)", re.MULTILINE
)
REPORT_BYTES = 64 << 10
LINE_SHOWN = 300


class Cause(StrEnum):
    HEAP = "heap"
    METASPACE = "metaspace"
    MEMORY = "memory"
    CODE_CACHE = "code cache"
    KILLED = "killed"
    CRASHED = "crashed"
    STUCK = "stuck"
    CLUSTER = "cluster"
    ENDED = "ended"


class JvmEnd(msgspec.Struct, frozen=True):
    cause: Cause
    text: str
    """A sentence without its full stop, with "the JVM" as its subject."""
    advice: str

    def __str__(self) -> str:
        return f"{self.text}; {self.advice}"


LOG_ADVICE = "look at its log, spark.log beside the agent's state"


def end_of(code: int, last_output: str, *, crash: Path | None = None, heap: str = "") -> JvmEnd:
    """From the exit code (negative: a signal), what it said, and the report of a crash.

    >>> print(end_of(-9, ""))
    the JVM was killed (SIGKILL); if nobody did that, the machine ran out of memory: see `dmesg`
    """
    found = OUT_OF_MEMORY.search(last_output)
    if found is not None:
        return _out_of_memory(found[1].strip(), heap)
    if "Out of space in CodeCache" in last_output:
        return JvmEnd(
            Cause.CODE_CACHE,
            "the JVM had no room left for compiled code",
            "it is bounded by CODE_CACHE_MB; please report what was run",
        )
    if crash is not None or code in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS):
        return _crashed(crash)
    if code < 0:
        return _killed(code)
    line = _last_line(last_output)
    said = f", saying: {line}" if line else ""
    return JvmEnd(Cause.ENDED, f"the JVM ended by itself (exit {code}){said}", LOG_ADVICE)


def stuck(waited_s: float) -> JvmEnd:
    """It was ended by us, because it had not answered."""
    return JvmEnd(
        Cause.STUCK,
        f"the JVM did not answer for {waited_s:.0f} s and was ended",
        "its heap may be too small, or the machine too busy: see spark.memory",
    )


def overdue(waited_s: float) -> JvmEnd:
    """It was replaced under somebody who still worked with it."""
    return JvmEnd(
        Cause.STUCK,
        f"the JVM was to be replaced and was ended after {waited_s:.0f} s, at work",
        "it is tried again with the next one",
    )


def let_down(why: str) -> JvmEnd:
    """It is well, and the cluster does not work for it any more."""
    return JvmEnd(
        Cause.CLUSTER,
        f"the JVM was ended, because {why}",
        "another one asks the cluster anew: look at its master and workers",
    )


def _out_of_memory(what: str, heap: str) -> JvmEnd:
    if "etaspace" in what or "class space" in what:
        return JvmEnd(
            Cause.METASPACE,
            f"the JVM had no room left for classes ({what})",
            "it is bounded by METASPACE_MB; please report what was run",
        )
    if "native thread" in what:
        return JvmEnd(
            Cause.MEMORY,
            f"the JVM could start no thread ({what})",
            "raise the limit of processes (`ulimit -u`) or free memory on the machine",
        )
    size = f" of {heap}" if heap else ""
    return JvmEnd(
        Cause.HEAP,
        f"the JVM had no room left in its heap{size} ({what})",
        "give it a larger one (spark.memory in agent.toml), or ask for fewer groups",
    )


def _crashed(report: Path | None) -> JvmEnd:
    if report is None:
        return JvmEnd(Cause.CRASHED, "the JVM crashed and left no report", LOG_ADVICE)
    try:
        with report.open("r", encoding="utf-8", errors="replace") as file:
            found = CRASH.search(file.read(REPORT_BYTES))
    except OSError:
        found = None
    why = f" ({found[1]})" if found is not None else ""
    return JvmEnd(Cause.CRASHED, f"the JVM crashed{why}", f"its report is {report}")


def _killed(code: int) -> JvmEnd:
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    advice = "somebody ended it"
    if -code == signal.SIGKILL:
        advice = "if nobody did that, the machine ran out of memory: see `dmesg`"
    return JvmEnd(Cause.KILLED, f"the JVM was killed ({name})", advice)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:LINE_SHOWN] if lines else ""


class JvmDied(msgspec.Struct, frozen=True):
    end: JvmEnd
    at_work: tuple[Work, ...]

    @property
    def text(self) -> str:
        if not self.at_work:
            return f"{self.end}; no query was at work"
        works = (f"{one.what} of {', '.join(one.queries) or 'no query'}" for one in self.at_work)
        return f"{self.end}; at work: {'; '.join(works)}"


class JvmReplaced(msgspec.Struct, frozen=True):
    why: str

    @property
    def text(self) -> str:
        return f"the JVM was replaced between two batches: {self.why}"


class JvmNotStarted(msgspec.Struct, frozen=True):
    why: str
    pause_s: float

    @property
    def text(self) -> str:
        return f"Spark did not start, the next try is in {self.pause_s:.0f} s: {self.why}"


class JvmStarted(msgspec.Struct, frozen=True):
    generation: int

    @property
    def text(self) -> str:
        return f"Spark runs again, with JVM number {self.generation} of this agent"


SparkEvent = JvmDied | JvmReplaced | JvmNotStarted | JvmStarted
