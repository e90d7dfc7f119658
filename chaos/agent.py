"""An agent that can be struck at a step: ``python -m chaos.agent agent.toml``.

It is the agent that ``headwater agent`` runs, but for looking for a trap at each step of a batch
and of an answer. The product knows nothing of it: a few of its public methods are wrapped here,
when the process begins, and a method that is not there any more is an error at once.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.processes import java_children
from chaos.steps import Snare, Step, Trap, Victim

GONE_S_MAX = 2.0
"""A JVM that was sent SIGKILL is gone within milliseconds; the step goes on without it."""
LOOK_EVERY_S = 0.002
AMBUSH = "ambush"
"""The name of the threads that wait within a step."""


def lay_hooks(trap: Trap) -> None:
    """Look for the trap at every step, from now on. Raises ``AttributeError`` where one is gone."""
    from headwater.agent.input.site_inbox import SiteInbox
    from headwater.spark.root.root_part import RootSpark
    from headwater.spark.site.batch import BatchRunner
    from headwater.store.ledger.root_ledger import RootLedger

    hooks = Hooks(trap)
    hooks.wrap(
        BatchRunner, "run", before=Step.BEFORE_BATCH, within=Step.IN_SPARK, after=Step.BEFORE_COMMIT
    )
    hooks.wrap(SiteInbox, "commit", after=Step.AFTER_COMMIT)
    hooks.wrap(RootSpark, "finish", within=Step.IN_ROOT_JOB, after=Step.BEFORE_PUBLISHING)
    hooks.wrap(RootLedger, "publish", after=Step.AFTER_PUBLISHING)


class Hooks:
    def __init__(self, trap: Trap, strike: Callable[[Victim], None] | None = None) -> None:
        self._trap = trap
        self._strike = strike or _strike

    def wrap(
        self,
        owner: type,
        name: str,
        *,
        before: Step | None = None,
        within: Step | None = None,
        after: Step | None = None,
    ) -> None:
        method = getattr(owner, name)

        @functools.wraps(method)
        def wrapped(*arguments: Any, **named: Any) -> Any:
            self._meet(before)
            returned = threading.Event()
            snare = self._laid(within)
            if snare is not None:
                threading.Thread(
                    target=self._ambush, args=(snare, returned), name=AMBUSH, daemon=True
                ).start()
            try:
                result = method(*arguments, **named)
            finally:
                returned.set()
            self._meet(after)
            return result

        setattr(owner, name, wrapped)

    def _laid(self, step: Step | None) -> Snare | None:
        snare = self._trap.laid() if step is not None else None
        return snare if snare is not None and snare.step is step else None

    def _meet(self, step: Step | None) -> None:
        snare = self._laid(step)
        if snare is not None and self._trap.spring():
            self._strike(snare.victim)

    def _ambush(self, snare: Snare, returned: threading.Event) -> None:
        """Springs while the work goes on, or not at all: then the next one's turn comes."""
        if not returned.wait(snare.wait_s) and self._trap.spring():
            self._strike(snare.victim)


def _strike(victim: Victim) -> None:
    """Returns when the JVM is gone; with the agent as victim it does not return."""
    jvms = java_children(os.getpid())
    for pid in jvms:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if victim is Victim.AGENT:
        os.kill(os.getpid(), signal.SIGKILL)
    deadline_s = time.monotonic() + GONE_S_MAX
    while set(jvms) & set(java_children(os.getpid())) and time.monotonic() < deadline_s:
        time.sleep(LOOK_EVERY_S)


def main(configuration: Path) -> None:
    from headwater.agent.config import AgentConfig
    from headwater.agent.process import run_agent

    lay_hooks(Trap(configuration.parent))
    run_agent(AgentConfig.load(configuration))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
