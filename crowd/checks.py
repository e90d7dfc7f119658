"""What is held against a run. Every bound has a name, and was set before the first run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

from crowd.answers import Answers
from crowd.meter import DIALS, GREETINGS, HOSTS, LOST, REPAIRS
from crowd.outcome import MEBIBYTE, Check, Outcome, Phase
from crowd.parties import BESIDE, HOME

RECOVERED_S_MAX = 40.0
"""After a trouble has ended, every window that had ended by then is exact within this time: what
was lost is asked for after ``SUMMARY_LIFE_S`` and an acknowledgement, and may be lost again."""
QUIET_S = 10.0
"""In the last so many seconds after a trouble nobody loses a neighbour, seeks hosts or repairs any
more. Whoever is dialled is dialled once, and reached: somebody who could not be while the machines
were busy waits for up to ``dial_last_s``, so that the dial that mends a link may come late."""
BESIDE_S_MAX = 15.0
"""The other root's first answers come within this time of their windows' ends, whatever happens to
this one: three deadlines."""
OPERATORS = 1
"""Who installs the streams."""
RSS_SHARE_MAX, RSS_SLACK_BYTES = 1.25, 48 * MEBIBYTE
"""By so much may a process have grown from the end of the calm to the end of the run."""


def checked(outcome: Outcome, *, settled_s: float | None, forced: Sequence[str]) -> list[Check]:
    return [
        *_answers(outcome),
        _settled(settled_s),
        _storms(outcome),
        _greetings(outcome),
        *_recovered(outcome),
        *_quiet(outcome),
        _beside(outcome),
        _memory(outcome),
        _failures(outcome, forced),
    ]


def _answers(outcome: Outcome) -> Iterator[Check]:
    for root, answers in outcome.answers.items():
        verdict = answers.checker.verdict
        is_good = verdict.is_safe and verdict.is_live and not answers.wrong_sums
        text = f"{root}: {verdict.windows} windows exact in the end, nothing lost or doubled"
        yield Check(text, "" if is_good else f"{verdict.text()}; sums {answers.wrong_sums[:5]}")


def _settled(settled_s: float | None) -> Check:
    return Check("all windows are final in time", "" if settled_s is not None else "they are not")


def _storms(outcome: Outcome) -> Check:
    found = [text for one in outcome.samples.values() for s in one for text in s.storms]
    return Check("dials, hosts sought and repairs within their budgets", "; ".join(found[:5]))


def _greetings(outcome: Outcome) -> Check:
    """A link is two connections."""
    counts = {kind: outcome.total(kind) for kind in (DIALS, HOSTS, GREETINGS)}
    most = 2 * (counts[DIALS] + counts[HOSTS]) + OPERATORS
    text = f"greetings at most two for each dial ({counts[GREETINGS]} of {most})"
    return Check(text, "there were more" if counts[GREETINGS] > most else "")


def _recovered(outcome: Outcome) -> Iterator[Check]:
    for phase in _after(outcome):
        for root, answers in outcome.answers.items():
            took_s = _recovery_s(answers, phase, first_us=outcome.first_us[root])
            text = f"{phase.name}: windows of {root} exact within {RECOVERED_S_MAX:.0f} s"
            trouble = "" if took_s <= RECOVERED_S_MAX else "some were not"
            yield Check(f"{text} ({took_s:.1f} s)", trouble, is_timed=True)


def _recovery_s(answers: Answers, phase: Phase, *, first_us: int) -> float:
    """From the end of the trouble until all windows that had ended by then were exact."""
    starts = answers.ended_in(0.0, phase.from_s, first_us=first_us)
    return max([answers.exact_s.get(one, inf) - phase.from_s for one in starts] + [0.0])


def _quiet(outcome: Outcome) -> Iterator[Check]:
    for phase in [*_after(outcome), *outcome.phases[:1]]:
        from_s = max(phase.from_s, phase.until_s - QUIET_S)
        end = Phase(phase.name, from_s, phase.until_s)
        counts = {kind: outcome.counts(kind, end) for kind in (LOST, HOSTS, REPAIRS)}
        left = [f"{count} {kind}" for kind, count in counts.items() if count]
        left += _dialled_in_vain(outcome, end)
        text = f"{phase.name}: quiet in the last {QUIET_S:.0f} s"
        yield Check(text, ", ".join(left), is_timed=True)


def _dialled_in_vain(outcome: Outcome, end: Phase) -> Iterator[str]:
    """Dials are told apart by whom they mean: the first mends what was lost long before."""
    dialled = outcome.dialled(end)
    again = sorted(pair for pair, count in Counter(dialled).items() if count > 1)
    if again:
        yield f"dialled again and again: {', '.join(again[:5])}"
    unnamed = outcome.counts(DIALS, end) - len(dialled)
    if unnamed:
        yield f"{unnamed} dials more than can be named"
    if missing := outcome.missing(end.until_s):
        yield f"{missing} neighbours without a link, after dials {', '.join(dialled[:5]) or 'none'}"


def _beside(outcome: Outcome) -> Check:
    answers = outcome.answers[BESIDE]
    from_s, until_s = outcome.phases[0].from_s, outcome.phases[-1].until_s
    ended = answers.ended_in(from_s, until_s, first_us=outcome.first_us[BESIDE])
    after_s = {one: answers.first_after_s(one) for one in ended}
    late = [one for one, s in after_s.items() if s is None or s > BESIDE_S_MAX]
    text = f"{BESIDE} answers within {BESIDE_S_MAX:.0f} s, whatever happens to {HOME}"
    return Check(text, f"not the windows {late}" if late else "", is_timed=True)


def _memory(outcome: Outcome) -> Check:
    grown = []
    for name, samples in outcome.samples.items():
        before = outcome.rss_bytes(name, outcome.phases[0].until_s)
        if samples and samples[-1].rss_bytes > before * RSS_SHARE_MAX + RSS_SLACK_BYTES:
            grown.append(name)
    text = f"memory at most {RSS_SHARE_MAX:g} times that of the calm and 48 MiB"
    return Check(text, ", ".join(grown))


def _failures(outcome: Outcome, forced: Sequence[str]) -> Check:
    found = {text for samples in outcome.samples.values() for s in samples for text in s.failures}
    found |= {f"{name} did not end in time" for name in forced}
    return Check("no agent failed, and all ended when told", "; ".join(sorted(found)))


def _after(outcome: Outcome) -> list[Phase]:
    """The phases that follow a trouble: it ended when they began."""
    return [phase for phase in outcome.phases if phase.name.startswith("after")]
