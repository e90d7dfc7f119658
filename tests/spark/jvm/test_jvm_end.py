"""How a JVM ended: the sentence, and what to do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from headwater.spark.jvm.java import Java
from headwater.spark.jvm.jvm import CODE_CACHE_MB, METASPACE_MB, Voice, jvm_command
from headwater.spark.jvm.jvm_end import Cause, end_of, overdue, stuck

OUT = "Terminating due to java.lang.OutOfMemoryError: "


@pytest.mark.parametrize(
    ("code", "words", "cause", "said"),
    [
        (3, f"x\n{OUT}Java heap space\n", Cause.HEAP, "heap of 512m.*spark.memory"),
        (3, f"{OUT}Metaspace\n", Cause.METASPACE, "no room left for classes"),
        (3, f"{OUT}Compressed class space\n", Cause.METASPACE, "Compressed class space"),
        (3, f"{OUT}unable to create native thread: x\n", Cause.MEMORY, "ulimit"),
        (
            1,
            "java.lang.VirtualMachineError: Out of space in CodeCache for adapters",
            Cause.CODE_CACHE,
            "compiled code",
        ),
        (-9, "at work\n", Cause.KILLED, r"SIGKILL.*dmesg"),
        (-15, "at work\n", Cause.KILLED, r"SIGTERM"),
        (-40, "at work\n", Cause.KILLED, r"killed"),
        (-11, "", Cause.CRASHED, "left no report"),
        (-6, "", Cause.CRASHED, "left no report"),
        (1, "first\nError: could not bind\n", Cause.ENDED, r"exit 1.*could not bind"),
        (0, "", Cause.ENDED, r"exit 0\)"),
    ],
)
def test_a_jvm_tells_how_it_ended(code: int, words: str, cause: Cause, said: str) -> None:
    end = end_of(code, words, heap="512m")
    assert end.cause is cause
    assert re.search(said, str(end)), str(end)


def test_a_crash_is_told_with_its_report(tmp_path: Path) -> None:
    report = tmp_path / "jvm_crash_7.log"
    report.write_text("#\n# A fatal error\n#\n#  SIGSEGV (0xb) at pc=0x1, pid=7\n#\n")
    end = end_of(-6, "", crash=report)
    assert end.cause is Cause.CRASHED
    assert "SIGSEGV (0xb)" in end.text
    assert str(report) in end.advice


def test_one_that_did_not_answer_says_for_how_long() -> None:
    assert "did not answer for 120 s" in str(stuck(120.0))
    assert "after 60 s" in str(overdue(60.0))


def test_last_words_are_those_of_this_jvm_and_not_of_the_one_before(tmp_path: Path) -> None:
    log = tmp_path / "spark.log"
    log.write_text(f"{OUT}Java heap space\n")
    voice = Voice.of(log)
    with log.open("a") as file:
        file.write("the second one\n")
    assert voice.last_output() == "the second one\n"
    assert end_of(-9, voice.last_output()).cause is Cause.KILLED


def test_a_jvm_has_room_for_code_however_it_compiles_and_ends_when_it_has_no_memory() -> None:
    command = jvm_command(Java(Path("/j"), 17, "17"), options=[], settings={})
    assert f"-XX:ReservedCodeCacheSize={CODE_CACHE_MB}m" in command
    assert f"-XX:MaxMetaspaceSize={METASPACE_MB}m" in command
    assert "-XX:+ExitOnOutOfMemoryError" in command
    assert CODE_CACHE_MB > 2 * 48, "48 MB is what a JVM that compiles quickly ran out of"


def test_a_report_is_found_by_the_process_that_wrote_it(tmp_path: Path) -> None:
    voice = Voice.of(tmp_path / "spark.log")
    (option,) = voice.crash_options()
    path = option.removeprefix("-XX:ErrorFile=").replace("%p", "42")
    assert voice.crash(42) is None
    Path(path).write_text("#")
    assert voice.crash(42) == Path(path)
    assert voice.crash(43) is None


def test_the_kernel_names_the_signal_that_ended_a_process() -> None:
    """What ``end_of`` takes for a signal is what a process gives that was ended by one."""
    process = subprocess.Popen(["sleep", "60"])
    process.kill()
    assert end_of(process.wait(120), "").cause is Cause.KILLED
