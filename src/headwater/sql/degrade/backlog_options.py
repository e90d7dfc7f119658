"""``backlog_bytes`` and ``backlog_age``: how much, and for how long, panes may wait at a site.

Beyond either the oldest leave at a coarser level of time, so there must be one.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from headwater.plan.degrading.degradation import LEVEL_KINDS, Operator, OperatorKind
from headwater.plan.durations import EXAMPLES, duration_us
from headwater.sql.degrade.can_be_had import Degradable
from headwater.sql.degrade.degrade_option import NOTHING
from headwater.sql.read.options import Options
from headwater.sql.resolve.grids.own_counts import size_bytes

BYTES, AGE = "backlog_bytes", "backlog_age"
AGE_S_MIN = 1.0


def read_backlog(
    options: Options, operators: Sequence[Operator], stream: Degradable
) -> tuple[int | UnsetType, float | UnsetType]:
    """In bytes and seconds. Raises ``QueryRefused`` with what can be had."""
    found = _bytes(options), _age_s(options)
    levels = [one.kind for one in operators if one.kind in LEVEL_KINDS]
    has_levels = levels[:1] == [OperatorKind.COARSEN_TIME]
    for name, limit in zip((BYTES, AGE), found, strict=True):
        if limit is not UNSET and not has_levels:
            raise options.refused(
                name,
                "beyond it the oldest panes that wait leave at a coarser level of time: wanted "
                "degrade = 'coarsen(time, …)' beside it, before coarser keys and samples, got "
                f"{', '.join(levels) or 'none'}{stream.offered()}",
            )
    return found


def _bytes(options: Options) -> int | UnsetType:
    text = options.text(BYTES, NOTHING) or NOTHING
    if text.strip().lower() == NOTHING:
        return UNSET
    size = size_bytes(text)
    if size is None:
        raise options.refused(
            BYTES,
            "wanted a size in B, kB, MB, GB, or KiB, MiB, GiB, as in '16 MB', "
            f"got '{text[:60]}'; 'none' takes it away",
        )
    return size


def _age_s(options: Options) -> float | UnsetType:
    text = options.text(AGE, NOTHING) or NOTHING
    if text.strip().lower() == NOTHING:
        return UNSET
    us = duration_us(text)
    if us is None or us < AGE_S_MIN * 1e6:
        raise options.refused(
            AGE,
            f"wanted at least {AGE_S_MIN:g} s, as in {AGE} = {EXAMPLES}, got '{text[:60]}'; "
            "'none' takes it away",
        )
    return us / 1e6
