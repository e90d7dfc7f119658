"""Effects and messages in one short line each, for transcripts that a person reads."""

from __future__ import annotations

from typing import Any

from headwater.algebra.coverage import Coverage
from headwater.algebra.sets import bitset
from headwater.algebra.summary import Summary
from headwater.algebra.words.acknowledgement import Acknowledgement
from headwater.algebra.words.site_state import SiteState
from headwater.edge.record import EdgeRecord
from headwater.node import effects as do
from headwater.overlay.messages import AckMessage, StatesMessage, SummaryMessage
from headwater.plan.command import Install
from headwater.root.outputs import WindowAnswer

LINE_LENGTH_MAX = 320


def describe(what: Any) -> str:
    """One line; what has no form of its own here prints itself."""
    text = what if isinstance(what, str) else _describe(what)
    return text if len(text) <= LINE_LENGTH_MAX else text[: LINE_LENGTH_MAX - 1] + "…"


def _describe(what: Any) -> str:
    match what:
        case do.Transmit(to, message, priority):
            return f"-> {to} [{priority}] {_message(message)}"
        case do.Keep(query, kept):
            return f"keep #{kept.number} {query} pane {kept.pane} {_coverage(kept.coverage)}"
        case do.KeepState(_, state, since):
            return f"keep state since {since}: {_state(state)}"
        case do.KeepAlarm(query, standing):
            return f"keep alarm {standing.number} of {query}: {standing.alarm.text}"
        case do.KeepShares(query, tables):
            return f"keep shares of {query}: {', '.join(map(str, tables[-1:]))}"
        case do.MakeUpdates(query, panes, record, sent):
            return f"cut {query} panes {panes} sent={sent} {_record(record)}"
        case do.Remember(query, record):
            return f"remember {query} {_record(record)}"
        case do.MarkAcked(query, panes, done_through, _):
            return f"mark acked {query} panes {panes} done through {done_through}"
        case do.Expire(query, panes, record):
            return f"expire {query} panes {panes} {_record(record)}"
        case do.LoadAndSend(query, pane, updates, coverage, lane, _, more):
            span = f"panes {pane}-{pane + more}" if more else f"pane {pane}"
            return f"load {query} {span} updates {updates} {lane.value} {_coverage(coverage)}"
        case do.Answer(query, requests, kept_through):
            asked = "; ".join(_request(request) for request in requests)
            return f"answer {query} kept through {kept_through}: {asked}"
        case do.KeepCommand(command, counts):
            name = type(command).__name__.lower()
            query_id = command.query.id if isinstance(command, Install) else command.id
            told = ", ".join(f"{count.installer}#{count.number}" for count in counts)
            return f"keep {name} {query_id} counts {told}"
        case do.Installed(query) | do.AnswersBegun(query):
            return f"{type(what).__name__} {query.id}"
    return str(what)


def _message(message: Any) -> str:
    match message:
        case SummaryMessage(summary):
            return f"summary {_summary(summary)}"
        case AckMessage(ack):
            return f"ack {_ack(ack)}"
        case StatesMessage(states):
            return "states " + "; ".join(_state(state) for state in states)
    return str(message)


def _summary(summary: Summary) -> str:
    rows = "-" if summary.rows is None else f"{{{summary.rows}}}"
    panes = f"panes {summary.pane}-{summary.last}" if summary.more else f"pane {summary.pane}"
    return (
        f"{summary.query} {panes} {summary.lane.value} age {summary.age_s:.2f} "
        f"{_coverage(summary.coverage)} rows {rows}"
    )


def _coverage(coverage: Coverage) -> str:
    parts = [f"{part.ordinal}:{_ranges(part.updates)}/{part.closed_at}" for part in coverage.parts]
    groups = [
        f"{list(bitset.members(group.sites))}:{_ranges(group.updates)}/{group.closed_at}"
        for group in coverage.groups
    ]
    return (
        f"whole {list(bitset.members(coverage.whole))} "
        f"empty {list(bitset.members(coverage.empty))}"
        + (f" groups {groups}" if groups else "")
        + (f" parts {parts}" if parts else "")
    )


def _ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def _ack(ack: Acknowledgement) -> str:
    panes = [f"{held.pane}:{list(bitset.members(held.sites))}" for held in ack.panes]
    extra = [f"{one.pane}/{one.ordinal}:{_ranges(one.updates)}" for one in ack.extra]
    rounds = [
        f"{one.pane}:{one.first}-{one.last}:{list(bitset.members(one.sites))}" for one in ack.rounds
    ]
    greet = [f"{one.ordinal}#{one.number}" for one in ack.greetings]
    return (
        f"{ack.query} #{ack.number} age {ack.age_s:.2f} done {ack.done_through} "
        f"held {_ranges(ack.held)} panes {panes} "
        f"several {ack.tells_several} rounds {rounds} extra {extra} greet {greet} "
        f"listed {_ranges(ack.listed)} leaves {[leaf.number for leaf in ack.leaves]} "
        f"of {list(bitset.members(ack.filled))}"
        + (f" unwanted {_ranges(ack.unwanted)}" if ack.unwanted else "")
    )


def _state(state: SiteState) -> str:
    declined = [f"{one.first}-{one.last} {one.reason.value}" for one in state.declined]
    return (
        f"{state.query} site {state.ordinal} life {state.incarnation % 997} #{state.number} first "
        f"{state.first_pane} sealed {state.sealed_through} empty {_ranges(state.empty)} "
        f"declined {declined} counts {state.counts}"
        + (f" alarms {[one.text for one in state.alarms]}" if state.alarms else "")
        + (f" damaged {_ranges(state.damaged)}" if state.damaged else "")
        + (" catching up" if state.catching_up else "")
    )


def _record(record: EdgeRecord) -> str:
    declined = [f"{one.first}-{one.last} {one.reason.value}" for one in record.declined]
    return (
        f"[first {record.first_pane} closed {record.closed_through} sealed "
        f"{record.sealed_through} done {record.done_through} state #{record.state_number} "
        f"empty {_ranges(record.empty)} reopened {_ranges(record.reopened)} declined {declined}"
        + (f" unwanted {_ranges(record.unwanted)}]" if record.unwanted else "]")
    )


def _request(request: WindowAnswer) -> str:
    envelope = request.envelope
    missing = [
        f"{one.site} {one.state.value} {one.reason} {_ranges(one.panes)}"
        for one in envelope.missing
    ]
    flags = ("exact " if envelope.exact else "") + ("final " if envelope.final else "")
    return (
        f"{request.window} r{request.revision} {envelope.trigger.value} "
        f"{envelope.covered}/{envelope.expected} {flags}missing {missing}"
    )
