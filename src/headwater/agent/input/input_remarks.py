"""What is to be said of one source's input at a site: that no file matches, that too many lines are
malformed. Each is said when it becomes so and when it is over, never at every poll or batch."""

from __future__ import annotations

from collections.abc import Sequence

from headwater.agent.input.malformed_watch import SLICE_S, SLICES_MAX, MalformedWatch
from headwater.algebra.words.malformed import Malformed
from headwater.algebra.words.remark import Remark, RemarkKind
from headwater.plan.sources.source import Source

REASONS_NAMED = 3


class InputRemarks:
    """Of one life of a source. What happens returns what people are to be told now."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._watch = MalformedWatch(source.malformed_max)
        self._no_file = ""
        self._malformed = ""
        self._has_reasons = False
        self._looked_at: int | None = None
        """So many files were left alone when it was last looked whether any matches."""

    @property
    def current(self) -> tuple[Remark, ...]:
        texts = {RemarkKind.NO_FILE: self._no_file, RemarkKind.MALFORMED: self._malformed}
        return tuple(Remark.of(kind, text) for kind, text in texts.items() if text)

    def is_look_due(self, left_alone: int) -> bool:
        """Whether to look why a poll has no file to read, and has left so many alone."""
        return self._looked_at != left_alone

    def found_none(self, text: str, left_alone: int) -> list[tuple[str, str]]:
        """No file matches, in words; empty: some do, which are left alone or empty."""
        self._looked_at = left_alone
        return self._files(text)

    def found_some(self) -> list[tuple[str, str]]:
        self._looked_at = None
        return self._files("")

    def read(
        self, lines: int, malformed: int, kinds: Sequence[Malformed], *, now_s: float
    ) -> list[tuple[str, str]]:
        """A batch was committed, or time has passed (no lines); ``kinds`` are of this life."""
        has_changed = self._watch.read(lines, malformed, now_s=now_s)
        if not self._watch.is_exceeded:
            self._malformed, self._has_reasons = "", False
            text = "no longer too many malformed lines"
            return [self._said(RemarkKind.MALFORMED, text)] if has_changed else []
        if has_changed or (kinds and not self._has_reasons):
            self._malformed, self._has_reasons = self._too_many(kinds), bool(kinds)
        return [self._said(RemarkKind.MALFORMED, self._malformed)] if has_changed else []

    def _files(self, text: str) -> list[tuple[str, str]]:
        if text == self._no_file:
            return []
        self._no_file = text
        return [self._said(RemarkKind.NO_FILE, text or "there are files that match now")]

    def _too_many(self, kinds: Sequence[Malformed]) -> str:
        watch = self._watch
        minutes = round(SLICE_S * SLICES_MAX / 60)
        text = (
            f"{watch.malformed:,} of {watch.lines:,} lines that were read within {minutes} minutes "
            f"are malformed, more than malformed_max = '{watch.limit.text}'"
        )
        named = "; ".join(kind.without_values().text() for kind in kinds[:REASONS_NAMED])
        return f"{text}: {named}" if named else text

    def _said(self, kind: RemarkKind, text: str) -> tuple[str, str]:
        return kind, f"source {self._source.name}: {text}"
