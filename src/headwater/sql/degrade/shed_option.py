"""What sites do with panes that they can't read before the deadline: the option ``shed``.

::

    shed = 'never'      they are read in their order, however late (unless said)
    shed = 'defer'      they are set aside, and read when there is CPU to spare
    shed = 'decline'    they are given up
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from headwater.plan.query import Query, Shed, shed_fault
from headwater.sql.read.answering import FirstAnswer, read_first_answer
from headwater.sql.read.options import Options

NEVER = "never"
WORDS = (NEVER, *Shed)


def read_shed(options: Options) -> Shed | UnsetType:
    """Raises ``QueryRefused``."""
    if "shed" not in options.names():
        return UNSET
    word = (options.text("shed") or "").strip().lower()
    if word not in WORDS:
        raise options.refused("shed", f"wanted 'never', 'defer' or 'decline', got '{word[:60]}'")
    if word == NEVER:
        return UNSET
    if read_first_answer(options) is FirstAnswer.COMPLETE:
        raise options.refused(
            "shed",
            "a window is answered when it is complete, so there is no deadline that a site could "
            "miss; leave out shed, or write answer = 'either'",
        )
    return Shed(word)


def check_shed(options: Options, query: Query) -> Query:
    """The same query. Of an input that ends nothing is ever left out, so there all is well. Raises
    ``QueryRefused``."""
    is_live = query.shed is not UNSET and not query.ends
    fault = shed_fault(msgspec.structs.replace(query, ends=False)) if is_live else None
    if fault is not None:
        raise options.refused(
            "shed",
            f"sites can't leave out panes of a stream with {fault}: what they left out would be "
            f"missing from others, too; leave out shed, or {fault}",
        )
    return query
