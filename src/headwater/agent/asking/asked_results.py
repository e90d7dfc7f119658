"""What is left of the answers of questions: an hour, so that somebody can read them from files.

Answers of streams stay for ever, as results. A question is asked by hand, or by a program that asks
again and again, and nobody comes back for its answer; so they go, by the names that only questions
have.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Collection
from pathlib import Path

import structlog

log = structlog.get_logger()

KEPT_S = 3_600.0
NAMED = re.compile(r"ask_[0-9a-f]{8}(_estimate)?")
"""As ``headwater ask`` calls them."""


def forget_answers(results: Path, *, live: Collection[str], kept_s: float = KEPT_S) -> list[str]:
    """Directories of questions that are over and were answered long ago; what was removed."""
    if not results.is_dir():
        return []
    before_s = time.time() - kept_s
    gone = [
        entry
        for entry in sorted(results.iterdir())
        if NAMED.fullmatch(entry.name) and entry.name not in live and entry.is_dir()
        if entry.stat().st_mtime < before_s
    ]
    for entry in gone:
        shutil.rmtree(entry, ignore_errors=True)
    if gone:
        log.info("answers of questions are removed", count=len(gone), first=gone[0].name)
    return [entry.name for entry in gone]
