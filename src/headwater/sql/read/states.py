"""The options of a stream over the last rows of each site: what can't be asked of states.

A state is what a site has at the end of a pane, of all that it had read until then. It is closed
once and never revised, and it begins with what is read from now on: nobody knows in which order the
past was read.
"""

from __future__ import annotations

import msgspec

from headwater.plan.query import Timing
from headwater.sql.read.options import Options
from headwater.sql.read.sequences import read_sequence_timing
from headwater.sql.read.streams import Stay, read_timing

REFUSED = {
    "time": "a state is of records by their own time, in the order in which they are read",
    "lateness": "a record that comes late counts for the answers that follow, however late it is",
}


def check_states(options: Options, *, part_count: int) -> None:
    """Raises ``QueryRefused``."""
    for name, why in REFUSED.items():
        if name in options.names():
            raise options.refused(name, f"it asks for the last rows: {why}; leave out {name}")
    if part_count > 1:
        raise options.refused(
            "roots",
            "the last rows of a site are the last of all its groups, which no single root has; "
            "write root = '…', with one site",
        )


def state_begin(*, ends: bool) -> str:
    """What holds where a stream says no ``begin``, whatever is asked for in general."""
    return "earliest" if ends else "now"


def timing_of(options: Options, *, counted: str, last_n: int) -> Timing:
    """By whether its windows are of numbers, of states or of time. What is closed of a state is
    sealed: nothing that comes later changes it."""
    if counted:
        return read_sequence_timing(options)
    timing = read_timing(options)
    return msgspec.structs.replace(timing, lateness_s=timing.disorder_s) if last_n else timing


def check_state_begin(options: Options, stay: Stay, *, ends: bool) -> None:
    """Raises ``QueryRefused``."""
    is_past = stay.reads_past is not msgspec.UNSET or stay.begin_pane is None
    if is_past and not ends:
        raise options.refused(
            "begin",
            "it asks for the last rows, and nobody knows in which order the past was read; leave "
            "out begin",
        )
    if ends and stay.begin_pane is not None:
        raise options.refused(
            "begin",
            "it asks for the last rows of files that end, which are answered from their first "
            "record to their last; leave out begin",
        )
