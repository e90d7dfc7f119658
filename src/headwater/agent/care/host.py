"""What an agent leaves to the others on its machine: iMR's guest on a log server (section 5.6).

Taken once, before there is a thread or a JVM: both inherit it, and so do Spark's tasks. A JVM sees
only the cores that it may use, so ``local[*]`` is as many.
"""

from __future__ import annotations

import os

import msgspec

from headwater.errors import ConfigurationError
from headwater.spark.niceness import be_nice

NICE_MAX = 19


class HostConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the agent, its JVM and Spark's tasks on a local master leave to other work on the
    machine. The JVM's memory is bounded by ``memory`` of ``[spark]``."""

    nice: int = 0
    """They run with this niceness at the least: at 19 they take what others leave. Of a service or
    container that has a weight of its own (``CPUWeight``) it counts inside."""
    cores: int = 0
    """On how many cores they run at most; 0: on all that the agent may use."""

    def __post_init__(self) -> None:
        if not 0 <= self.nice <= NICE_MAX:
            raise ValueError(f"host.nice: wanted 0 to {NICE_MAX}, got {self.nice}")
        if self.cores < 0:
            raise ValueError(f"host.cores: wanted 0 or more, got {self.cores}")

    def settle_in(self) -> None:
        """For this process and all that it starts from now on."""
        if self.cores:
            self._keep_to_cores()
        if self.nice:
            be_nice(self.nice)

    def _keep_to_cores(self) -> None:
        if not hasattr(os, "sched_setaffinity"):
            raise ConfigurationError(
                f"host.cores: wanted a system that can keep a process to some cores, got "
                f"{os.uname().sysname}; leave it at 0 here"
            )
        usable = sorted(os.sched_getaffinity(0))
        if self.cores > len(usable):
            raise ConfigurationError(
                f"host.cores: wanted at most {len(usable)}, which this process may use, got "
                f"{self.cores}"
            )
        os.sched_setaffinity(0, usable[-self.cores :])
