"""Every answer against the truth: what is in it, what it says of itself, what came before it."""

from __future__ import annotations

from collections import Counter

from headwater.algebra.remainders.error_bound import ErrorForm
from headwater.algebra.sets import ranges
from headwater.algebra.words.site_state import PaneState, Reason
from headwater.plan.node_sets import is_asked
from headwater.plan.query import Query
from headwater.plan.roster import Roster
from headwater.root.outputs import WindowAnswer
from headwater.root.said.envelope import Envelope, FinalBy, Trigger
from headwater.sim.check.check_fidelity import check_fidelity, check_no_less, check_silence
from headwater.sim.check.check_ledger import LedgerCheck
from headwater.sim.check.site_truth import SiteTruth
from headwater.sim.check.truth import Truth
from headwater.sim.outcome import Violation
from headwater.sim.records.bag import Bag, numbers_text
from headwater.sim.records.bag_keys import by_key, counts_of
from headwater.sim.transcript import Transcript


class Published:
    """The newest answer of a window."""

    def __init__(self, envelope: Envelope, bag: Bag, at_s: float) -> None:
        self.envelope = envelope
        self.bag = bag
        self.at_s = at_s


def expected_sites(query: Query, roster: Roster) -> list[int]:
    """Ordinals of the query's node set."""
    return [site.ordinal for site in roster.sites if site.has_data and is_asked(query, site)]


WITHHELD_SOMETIMES = (
    "what was kept back follows",
    "what was kept back has followed",
    "what was kept back stays",
    "a share was used that had moved",
    "a relay left out groups of what it had merged",
)


def _bounds(text: str) -> dict[ErrorForm, float]:
    """
    >>> _bounds("50 % of total or 6") == {ErrorForm.TOTAL: 0.5, ErrorForm.ABSOLUTE: 6.0}
    True
    """
    found = {}
    for one in text.split(" or "):
        number, _, share = one.partition(" %")
        form = ErrorForm.TOTAL if share else ErrorForm.ABSOLUTE
        found[form] = float(number) / (100.0 if share else 1.0)
    return found


class AnswerCheck:
    """The answers of one query by one root in one life of its disk."""

    def __init__(self, query: Query, roster: Roster, truth: Truth, *, ledger: LedgerCheck) -> None:
        """``ledger`` is that of the query's root."""
        self.query = query
        self._ledger = ledger
        self._has_word = ledger.has_word
        self.newest: dict[int, Published] = {}
        self._truth = truth
        self._names = {site.ordinal: site.name for site in roster.sites}
        self.expected = expected_sites(query, roster)

    def published(
        self, request: WindowAnswer, bag: Bag, *, shown: Bag | None = None, at_s: float
    ) -> None:
        """``bag`` is what the root holds for it, ``shown`` what readers see, if that is another."""
        envelope = request.envelope
        before = self.newest.get(request.window)
        where = f"{envelope.query} window {request.window} revision {request.revision}"
        panes = self.query.window.panes_of(request.window)
        is_forged = self._truth.is_forged(envelope.query, panes)
        if envelope.disputed and (envelope.exact or envelope.final):
            raise Violation("disputed is neither exact nor final", f"{where}: {envelope.disputed}")
        check_silence(self.query, envelope, where, bag if shown is None else shown)
        if is_forged:
            self._check_presence(where, envelope)
        else:
            self._check_content(where, request, bag)
            self._check_coverage(where, envelope, bag)
        if before is not None:
            check_revision(where, before, envelope, bag, is_forged=is_forged)
        elif envelope.revision != 1:
            raise Violation("revisions rise", f"{where}: the first one is {envelope.revision}")
        self.newest[request.window] = Published(envelope, bag, at_s)

    def count(self, request: WindowAnswer, transcript: Transcript) -> None:
        """What a sweep wants to have seen of answers; called before ``published``."""
        count, envelope = transcript.count, request.envelope
        before = self.newest.get(request.window)
        count("an answer was published")
        if envelope.exact:
            count("an answer was exact")
            if before is not None and not before.envelope.exact:
                count("an incomplete answer became exact")
        if before is not None and before.envelope.exact:
            count("an exact answer was revised")
        if envelope.disputed:
            count("an answer was disputed")
        if envelope.withheld:
            count("an answer lacks what was kept back")
            count(f"what was kept back {'follows' if envelope.withheld.follows else 'stays'}")
        if before is not None and before.envelope.withheld and not envelope.withheld:
            count("what was kept back has followed")
        if envelope.withheld.first is not None and envelope.withheld.first.exact:
            count("some of the first rows were exact")
        if envelope.degraded:
            count("an answer says who has given something up")
        if len(envelope.settings) > 1:
            count("an answer was made by several settings")
        elif envelope.settings != (0,):
            count("an answer was made by altered settings")
        self._count_demands(envelope, transcript)
        if self._truth.moved:
            count("a share was used that had moved")
        if envelope.final:
            count("an answer was final" if envelope.exact else "an answer was final, not exact")
        for missing in envelope.missing:
            count(f"a site was missing: {missing.state.value}")
            if missing.reason.partition(":")[0] == Reason.LIMIT:
                count("a growing state exceeded its limit")

    def _count_demands(self, envelope: Envelope, transcript: Transcript) -> None:
        count, before = transcript.count, self.newest.get(envelope.window)
        if envelope.trigger is Trigger.ENOUGH:
            count("an answer had enough")
            if envelope.staleness_s < 0.0:
                count("an answer had enough before its window ended")
        if envelope.trigger is Trigger.HOPELESS:
            count("an answer was hopeless")
        if not envelope.fidelity.is_met:
            count("an answer missed its demand")
        if envelope.fidelity.is_silent:
            count("an answer was silent")
        elif before is not None and before.envelope.fidelity.is_silent:
            count("a silent window came to have enough")
        if envelope.final_by is FinalBy.ENOUGH:
            count("an answer was final by enough")
        if envelope.fidelity.undrawn:
            is_all = envelope.fidelity.area_drawn == 1.0
            count(f"{'all' if is_all else 'a part'} of what was drawn was in an answer")

    def _check_presence(self, where: str, envelope: Envelope) -> None:
        """Of what a liar has said something nothing is final of which a site has closed another
        number of updates than the root holds; what has enough is not compared before."""
        if not envelope.final or envelope.final_by is FinalBy.ENOUGH:
            return
        states = _states(self.query, envelope)
        for ordinal in self.expected:
            for pane in self.query.window.panes_of(envelope.window):
                life, held = self._ledger.presence(pane, ordinal)
                if (self._names[ordinal], pane) in states or life is None:
                    continue
                made = self._truth.update_count(envelope.query, pane, ordinal, life)
                if held != set(range(1, made + 1)):
                    raise Violation(
                        "final presence is true",
                        f"{where}: of {self._names[ordinal]} pane {pane} updates {sorted(held)} "
                        f"are held, and it has cut {made}",
                    )

    def _check_content(self, where: str, request: WindowAnswer, bag: Bag) -> None:
        if bag.twice:
            raise Violation("no double counting", f"{where}: {numbers_text(bag.twice)}")
        born = 0
        for ordinal in self.expected:
            for pane in self.query.window.panes_of(request.window):
                born |= self._truth.sites[ordinal].born(self.query, pane)
        if bag.once & ~born:
            raise Violation("no strangers", f"{where}: {numbers_text(bag.once & ~born)}")

    def _check_coverage(self, where: str, envelope: Envelope, bag: Bag) -> None:
        """What is not missing is in, what is unknown is not, and no more is claimed than holds."""
        covered = lacking_bits = 0
        states = _states(self.query, envelope)
        panes = self.query.window.panes_of(envelope.window)
        whole = dict.fromkeys(panes, 0)
        for ordinal in self.expected:
            site, is_whole = self._truth.sites[ordinal], True
            for pane in self.query.window.panes_of(envelope.window):
                if not site.takes(self.query, pane):
                    continue
                in_it = bag.once & site.born(self.query, pane)
                kept_back = self._kept_back(site, pane) if envelope.withheld else 0
                lack = site.lack(self.query, pane, in_it | kept_back)
                key = (self._names[ordinal], pane)
                if key not in states and len(site.incarnations) == 1:
                    lacking_bits |= kept_back & ~in_it & self._known(site, pane, in_it)
                is_rest_declined = states.get(key) is PaneState.DECLINED and self._has_word(
                    pane, ordinal
                )
                is_in = not lack or is_rest_declined
                whole[pane] |= is_in << ordinal
                is_whole = is_whole and is_in
                if key not in states and lack:
                    raise Violation("true coverage", f"{where}: {key} is not missing, but {lack}")
                if states.get(key) is PaneState.UNKNOWN and in_it:
                    raise Violation("true coverage", f"{where}: {key} is called unknown, but is in")
            covered += is_whole
        check_fidelity(
            self.query,
            envelope,
            where,
            whole=list(whole.values()),
            missing=states,
            names=self._names,
            expected=self.expected,
        )
        if envelope.covered > covered or envelope.expected != len(self.expected):
            raise Violation(
                "true coverage",
                f"{where}: says {envelope.covered} of {envelope.expected} sites, "
                f"holds {covered} of {len(self.expected)}",
            )
        self._check_asked(where, envelope, bag)
        self._check_stated(where, envelope, lacking_bits, of=bag.once | lacking_bits)
        if envelope.exact and (envelope.missing or envelope.covered != envelope.expected):
            raise Violation("exact is exact", f"{where}: exact, and yet {envelope.missing}")
        self._check_seals(where, envelope)
        self._check_first(where, envelope, bag)
        if envelope.exact and self._is_damaged(envelope, bag):
            raise Violation("exact is exact", f"{where}: input bytes were lost, and yet exact")

    def _check_stated(self, where: str, envelope: Envelope, lacking_bits: int, *, of: int) -> None:
        """What is lacking over all keys is what is said, no key lacks more than the largest that is
        said, and as a share of the total it is within what was asked."""
        lacking, worst = lacking_bits.bit_count(), max(by_key(lacking_bits).values(), default=0)
        stated = sum(one.total for one in envelope.withheld.columns)
        largest = max((one.largest for one in envelope.withheld.columns), default=0.0)
        if lacking > stated or worst > largest:
            raise Violation(
                "stated errors are true",
                f"{where}: lacks {lacking}, {worst} of a key, and says {stated:g} and {largest:g}",
            )
        if not envelope.withheld:
            return
        column, share = envelope.withheld.columns[0], worst / max(1, of.bit_count())
        asked = _bounds(column.asked)
        if asked.keys() == {ErrorForm.ABSOLUTE} and lacking > asked[ErrorForm.ABSOLUTE] + 1e-9:
            raise Violation("the bound is kept", f"{where}: lacks {lacking}, asked {asked}")
        if asked.keys() != {ErrorForm.TOTAL} or column.share is None:
            return
        if share > column.share + 1e-9:
            raise Violation(
                "stated errors are true",
                f"{where}: a key lacks {share:g} of the total, and {column.share:g} is said",
            )
        if self._truth.dropped() and not column.is_kept:
            raise Violation("the bound is kept", f"{where}: sites and relays together: {column}")
        if column.is_kept and share > asked[ErrorForm.TOTAL] + 1e-9:
            raise Violation("the bound is kept", f"{where}: a key lacks {share:g}, asked {asked}")

    def _kept_back(self, site: SiteTruth, pane: int) -> int:
        """By the site, or left out by relays of what they had merged."""
        dropped = self._truth.dropped() & (site.due(self.query, pane) or 0)
        return site.kept_back(str(self.query.id), pane) | dropped

    def _known(self, site: SiteTruth, pane: int, in_it: int) -> int:
        """The site's records that the root knows it may have kept back. Where none is in, the site
        may have closed the pane as empty, by a clock that was ahead: of what comes late the root
        hears nothing before that is in, and so it is with what is kept back of that."""
        return site.born(self.query, pane) if in_it else site.due(self.query, pane) or 0

    def _check_asked(self, where: str, envelope: Envelope, bag: Bag) -> None:
        """The error that is said to have been asked is not smaller than one by which something was
        kept back of it, whichever settings a site went by."""
        if not envelope.withheld:
            return
        asked = _bounds(envelope.withheld.columns[0].asked)
        for ordinal in self.expected:
            site = self._truth.sites[ordinal]
            for pane in self.query.window.panes_of(envelope.window):
                in_it = bag.once & site.born(self.query, pane)
                lacks = site.kept_back(envelope.query, pane) & ~in_it
                if not lacks or not in_it or len(site.incarnations) > 1:
                    continue
                for bound in site.asked(envelope.query, pane):
                    if asked.get(bound.form, 0.0) < bound.size:
                        raise Violation(
                            "the weaker bound is stated",
                            f"{where}: says {asked} was asked, and pane {pane} of "
                            f"{self._names[ordinal]} went by {bound.text()}",
                        )

    def _check_first(self, where: str, envelope: Envelope, bag: Bag) -> None:
        """Of the sites that are in nobody keeps anything back of the rows that are called exact,
        and no other group has more than the least of them."""
        first = envelope.withheld.first
        if first is None or not first.exact:
            return
        lacking: Counter[int] = Counter()
        states = _states(self.query, envelope)
        (pane,) = self.query.window.panes_of(envelope.window)
        for ordinal in self.expected:
            site = self._truth.sites[ordinal]
            if (self._names[ordinal], pane) not in states and len(site.incarnations) == 1:
                in_it = bag.once & site.born(self.query, pane)
                known = site.kept_back(envelope.query, pane) & self._known(site, pane, in_it)
                lacking += counts_of(known & ~in_it)
        counts = counts_of(bag.once)
        floor = counts.most_common(first.exact)[-1][1]
        whole = [key for key, count in counts.items() if count >= floor and not lacking[key]]
        above = [key for key in lacking if counts[key] + lacking[key] > floor]
        if len(counts) < first.exact or len(whole) < first.exact or above:
            raise Violation(
                "the first rows are exact",
                f"{where}: says {first.exact}, has {dict(counts)} and lacks {dict(lacking)}",
            )

    def _check_seals(self, where: str, envelope: Envelope) -> None:
        """A final, exact answer lacks no record that came in time by its site's clock as it stands,
        also where another time that the clock showed before had sealed the pane."""
        for ordinal in self.expected if envelope.exact and envelope.final else ():
            for pane in self.query.window.panes_of(envelope.window):
                early = self._truth.sites[ordinal].wrongly_refused.get((str(self.query.id), pane))
                if early:
                    raise Violation(
                        "exact is exact",
                        f"{where}: a clock that was set back had sealed pane {pane} of "
                        f"{self._names[ordinal]}; it lacks {numbers_text(early)}",
                    )

    def _is_damaged(self, envelope: Envelope, bag: Bag) -> bool:
        """Lost bytes count once a poll has noticed them."""
        sites = [self._truth.sites[ordinal] for ordinal in self.expected]
        return any(
            site.lost_in(self.query, pane, bag.once & site.born(self.query, pane))
            for site in sites
            for pane in self.query.window.panes_of(envelope.window)
        )


def _states(query: Query, envelope: Envelope) -> dict[tuple[str, int], PaneState]:
    """(site, pane) that the envelope calls missing, and what it says of them."""
    return {
        (missing.site, pane): missing.state
        for missing in envelope.missing
        for pane in query.window.panes_of(envelope.window)
        if ranges.contains(missing.panes, pane)
    }


def check_revision(
    where: str, before: Published, envelope: Envelope, bag: Bag, *, is_forged: bool
) -> None:
    if before.envelope.final:
        raise Violation("final is final", f"{where}: revision {before.envelope.revision} was final")
    if envelope.revision != before.envelope.revision + 1:
        raise Violation("revisions rise", f"{where}: came after {before.envelope.revision}")
    if before.bag.once & ~bag.once and not is_forged:
        raise Violation(
            "revisions never lower coverage",
            f"{where}: lost {numbers_text(before.bag.once & ~bag.once)}",
        )
    if envelope.covered < before.envelope.covered:
        raise Violation(
            "revisions never lower coverage",
            f"{where}: {envelope.covered} sites after {before.envelope.covered}",
        )
    check_no_less(where, before.envelope.fidelity.fidelity, envelope.fidelity.fidelity)
