"""How much a question reads, in a line: what sites said of their manifests, and the others may.

Of sites that have not said it is taken that they are like those that have. It promises nothing; the
limits of ``[ask]`` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from headwater.agent.control.control_api import AnswerEvent

BEGIN_S = 3.0
"""Until sites have heard of a question, and Spark has finished its answer: measured on one machine
with two agents."""
ROWS_PER_S = 100_000.0
"""Rows of panes that one site reads and merges in a second, of files of a few rows each."""
ROW_BYTES = 40.0
"""Of a row on the way, where nothing is known of its size."""


class Estimate(msgspec.Struct, frozen=True):
    rows: int
    bytes: int
    sends_bytes: int
    seconds: float
    sites: int
    """That were asked."""
    said: int
    """Of these, that have said how much they have."""
    of_logs: bool = False
    """They are bytes of files, as these are listed: of whatever time."""

    def text(self) -> str:
        """
        >>> Estimate(1_200_000, 38_000_000, 310_000, 9.2, 217, 212).text().partition(", ")[0]
        'reads 1.2 M rows (38 MB) of the cubes of 217 sites'
        """
        silent = self.sites - self.said
        rest = f"; {silent} site{'s have' if silent > 1 else ' has'} not said" if silent else ""
        if self.of_logs:
            return (
                f"reads up to {_bytes(self.bytes)} of the logs of {self.sites} "
                f"site{'s' if self.sites != 1 else ''}, which is what their files have as they are "
                f"listed{rest}."
            )
        return (
            f"reads {_amount(self.rows)} rows ({_bytes(self.bytes)}) of the cubes of {self.sites} "
            f"site{'s' if self.sites != 1 else ''}, sends about {_bytes(self.sends_bytes)}, about "
            f"{max(1, round(self.seconds))} s{rest}."
        )


def estimate_of(answer: AnswerEvent, question: Any) -> Estimate:
    """What the sites' sums come to; ``question`` is an ``operator_client.Question``."""
    row: Mapping[str, Any] = answer.rows[0] if answer.rows else {}
    sites, said = int(answer.header["expected"]), _said(answer.header)
    rows, byte_count = int(row.get("rows", 0)), int(row.get("bytes", 0))
    groups = int(row.get("groups", 0))
    estimate = question.estimate
    pairs = max(1, said * (estimate.ends_at - estimate.begin_pane))
    if not question.query.reads_cube:
        listed = round(byte_count * (sites / said if said else 1.0))
        return Estimate(0, listed, 0, 0.0, sites, said, of_logs=True)
    own = (groups / pairs) ** question.prepared.group_share if groups else 0.0
    row_bytes = byte_count / rows if rows else ROW_BYTES
    scale = sites / said if said else 1.0
    return Estimate(
        rows=round(rows * scale),
        bytes=round(byte_count * scale),
        sends_bytes=round(own * pairs * row_bytes * scale),
        seconds=BEGIN_S + rows / max(1, said) / ROWS_PER_S,
        sites=sites,
        said=said,
    )


def _said(header: Mapping[str, Any]) -> int:
    """Those whose panes are in, or who said why they are not."""
    missing = [(site, state) for site, state, *_ in header.get("missing", ())]
    listed = {site for site, _ in missing}
    silent = {site for site, state in missing if state in ("unknown", "deferred")}
    unlisted = max(0, int(header.get("missing_count", 0)) - len(listed))
    return int(header["expected"]) - len(silent) - unlisted


def _amount(count: float) -> str:
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if count >= size:
            return f"{_digits(count / size)}{unit}"
    return str(round(count))


def _bytes(count: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{_digits(count / size)} {unit}"
    return f"{round(count)} bytes"


def _digits(number: float) -> str:
    """Two of them: it is an estimate."""
    return f"{number:.1f}" if number < 10 else f"{round(number)}"
