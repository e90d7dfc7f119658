"""What came of a run: a table by phase, one of memory, and the checks with their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from crowd.answers import Answers
from crowd.meter import KINDS, Sample
from crowd.parties import BESIDE, GENERATOR, HOME, RELAY, Party

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Phase:
    name: str
    from_s: float
    until_s: float

    @property
    def seconds(self) -> float:
        return self.until_s - self.from_s

    def __contains__(self, at_s: float) -> bool:
        return self.from_s <= at_s < self.until_s


@dataclass(frozen=True)
class Check:
    text: str
    trouble: str = ""
    """Empty: it holds."""
    is_timed: bool = False
    """A machine with too much else to do may fail it."""

    def line(self) -> str:
        return f"holds: {self.text}" if not self.trouble else f"FAILS: {self.text}: {self.trouble}"


@dataclass
class Outcome:
    parties: Sequence[Party]
    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    """By process."""
    phases: list[Phase] = field(default_factory=list)
    answers: Mapping[str, Answers] = field(default_factory=dict)
    """By root."""
    first_us: Mapping[str, int] = field(default_factory=dict)
    """By root: the start of the first window."""
    checks: list[Check] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return bool(self.checks) and not any(check.trouble for check in self.checks)

    # What was counted

    def total(self, kind: str) -> int:
        """Over the whole run, its start included."""
        return sum(one.counts.get(kind, 0) for found in self.samples.values() for one in found)

    def counts(self, kind: str, phase: Phase) -> int:
        return sum(self._by_second(kind, phase).values())

    def worst_in_second(self, kind: str, phase: Phase) -> int:
        return max(self._by_second(kind, phase).values(), default=0)

    def _by_second(self, kind: str, phase: Phase) -> dict[int, int]:
        """Over all processes."""
        found: dict[int, int] = {}
        for sample in self._in(phase):
            second = int(sample.at_s)
            found[second] = found.get(second, 0) + sample.counts.get(kind, 0)
        return found

    def dialled(self, phase: Phase) -> list[str]:
        """Who dialled whom, each as often as it did; see ``Sample.dialled``."""
        return [pair for sample in self._in(phase) for pair in sample.dialled]

    def missing(self, until_s: float) -> int:
        """Neighbours without a link by then, over all agents."""
        known = [
            [one.missing for one in samples if one.at_s <= until_s]
            for samples in self.samples.values()
        ]
        return sum(found[-1] for found in known if found)

    def _in(self, phase: Phase) -> list[Sample]:
        return [one for samples in self.samples.values() for one in samples if one.at_s in phase]

    def _each(self, kind: str, phase: Phase, name: str) -> float:
        """Of what grows: how much in a second, for one agent of a kind."""
        parties = [party for party in self.parties if party.names[0].startswith(kind)]
        grown = sum(self._grown(party.name, phase, name) for party in parties)
        return grown / sum(len(party.names) for party in parties)

    def _grown(self, party: str, phase: Phase, name: str) -> float:
        """By so much a second, from the sample before the phase to its last one."""
        found = [one for one in self.samples.get(party, ()) if one.at_s in phase]
        before = [one for one in self.samples.get(party, ()) if one.at_s < phase.from_s][-1:]
        known = [*before, *found]
        if len(known) < 2:
            return 0.0
        grown = getattr(known[-1], name) - getattr(known[0], name)
        return float(grown) / (known[-1].at_s - known[0].at_s)

    def rss_bytes(self, party: str, until_s: float) -> int:
        """The last that is known by then."""
        found = [one.rss_bytes for one in self.samples.get(party, ()) if one.at_s <= until_s]
        return found[-1] if found else 0

    # As text

    def text(self) -> str:
        lines = [*self._phase_table(), "", *self._memory_table(), ""]
        return "\n".join(lines + [check.line() for check in self.checks])

    def _phase_table(self) -> list[str]:
        cells: dict[str, Callable[[Phase], str]] = {
            "": lambda phase: phase.name,
            "seconds": lambda phase: f"{phase.seconds:.0f}",
        }
        for kind in KINDS:
            cells[f"{kind} a second (worst)"] = partial(self._rate, kind)
        cells["queued for links, at most"] = self._queued
        for root in (HOME, BESIDE):
            cells[f"{root}: windows"] = partial(self._windows, root)
            cells[f"{root}: first after"] = partial(self._first, root)
        for kind in (HOME, BESIDE, RELAY, GENERATOR):
            cells[f"{kind}: of a core"] = partial(self._cores, kind)
            cells[f"{kind}: late a second"] = partial(self._late, kind)
        return _aligned([[name, *map(cell, self.phases)] for name, cell in cells.items()])

    def _queued(self, phase: Phase) -> str:
        """At one process, in all."""
        return f"{max((one.queued_bytes for one in self._in(phase)), default=0) / 1e3:.0f} kB"

    def _cores(self, kind: str, phase: Phase) -> str:
        return f"{self._each(kind, phase, 'cpu_s'):.3f}"

    def _late(self, kind: str, phase: Phase) -> str:
        return f"{self._each(kind, phase, 'asleep_s'):.3f} s"

    def _rate(self, kind: str, phase: Phase) -> str:
        rate = self.counts(kind, phase) / phase.seconds
        return f"{rate:.2f} ({self.worst_in_second(kind, phase)})"

    def _windows(self, root: str, phase: Phase) -> str:
        answers = self.answers[root]
        ended = answers.ended_in(phase.from_s, phase.until_s, first_us=self.first_us[root])
        firsts = [answers.firsts[one] for one in ended if one in answers.firsts]
        whole = sum(one.covered == one.expected for one in firsts)
        return f"{len(ended)}, {whole} whole at first"

    def _first(self, root: str, phase: Phase) -> str:
        answers = self.answers[root]
        ended = answers.ended_in(phase.from_s, phase.until_s, first_us=self.first_us[root])
        after_s = [s for s in map(answers.first_after_s, ended) if s is not None]
        return f"{median(after_s):.1f} s (worst {max(after_s):.1f})" if after_s else "-"

    def _memory_table(self) -> list[str]:
        rows = [["memory", "before", "highest", "after"]]
        for party in self.parties:
            samples = self.samples.get(party.name, ())
            if samples and self.phases:
                before = self.rss_bytes(party.name, self.phases[0].until_s)
                highest = max(one.rss_bytes for one in samples)
                rows.append([party.name, *map(_mib, (before, highest, samples[-1].rss_bytes))])
        return _aligned(rows)


def _mib(count: int) -> str:
    return f"{count / MEBIBYTE:.0f} MiB"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
