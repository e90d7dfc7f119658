"""Other settings for a stream that runs: which options they are, and what comes of them.

The stream is compiled anew with the options as they are to be, so whatever is refused at CREATE is
refused here, in the same words; and nothing but settings may be another for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from headwater.algebra.remainders.tolerance import Finally
from headwater.errors import QueryRefused
from headwater.plan.altered.dealing import dealing_as
from headwater.plan.altered.settings import Settings
from headwater.plan.degrading.companion import plain_fault
from headwater.plan.degrading.degradation import Operator
from headwater.plan.query import Query
from headwater.plan.roster import Site
from headwater.sql.compile import compile_statements
from headwater.sql.degrade.companions import level_operators, levels_text
from headwater.sql.read.answering import ENOUGH
from headwater.sql.read.refusal import choices
from headwater.sql.read.statements import Option, StreamStatement, read_statements

ALTERABLE = (
    "error",
    "finally",
    "deadline",
    "staleness",
    "answer",
    "revise_every",
    "budget",
    "weight",
    "degrade",
    "backlog_bytes",
    "backlog_age",
)
"""What holds for a pane by itself: what is kept back of it, and when its window is answered."""
NONE = "none"
"""As an error: nothing is kept back any more. As a budget: there is none. As degrade: nothing is
given up."""
ENDED_BY_NONE = ("error", "budget", "degrade", "backlog_bytes", "backlog_age")
_SENDS_EARLY = {"error", "staleness"}
"""Without either nothing leaves early, and there is nothing to be divided by ``rounds``."""
_KEEPS_BACK = {"error", "degrade"}
"""By which there is something of which ``finally`` says what becomes of it."""
OF_A_BOUND = "relay_share"
"""It is a part of what is kept back, and says nothing where there is none."""
NEW_STREAM = "install a new stream, or run the changed file with --replace"
NOT_ALTERABLE: Mapping[str, str] = {
    "window": "another window is another question",
    "begin": "its first window has begun",
    "extent": "sites and root end at the pane that it was installed with",
    "time": "records are placed by it, and those of before were placed otherwise",
    "disorder": "sites have closed panes by it, and would close later ones out of their order",
    "lateness": "sites seal by it what they have read, and never take a seal back",
    "revise_for": "sites and root keep panes for so long, and have let go of older ones",
    "session_max": "sessions that are open were cut by it",
    "root": "answers so far lie at the root that it was installed with",
    "roots": "the groups of a stream are dealt out among the roots that it was installed with",
    "relay_share": "relays have left groups out by it, and sites kept back by what it leaves them",
    "rounds": "keys of panes that are open have left by them",
    "fidelity": "sites have let go of what it did not want, and windows were final by it",
    "below": "windows that had less were answered by it",
    "keep": "sites have let go of panes by what it said",
    "shed": "sites have set panes aside, or given them up, by it",
    "sites": "who is expected in an answer is settled when a stream is installed",
}
"""Options of a stream that stay as they are, and why."""
_REPLACES: Mapping[str, tuple[str, ...]] = {"deadline": ("staleness",), "staleness": ("deadline",)}
"""Options that say the same: the later one holds."""

Written = tuple[tuple[str, str], ...]
"""(option, its value as it was written), in the order of ``ALTERABLE``."""


def check_alterable(options: Sequence[Option]) -> None:
    """Raises ``QueryRefused``."""
    if not options:
        raise QueryRefused(
            "SET: wanted settings to change, as in error = '0.5 % of total', got none"
        )
    for option in options:
        if option.name in NOT_ALTERABLE:
            why = NOT_ALTERABLE[option.name]
            raise QueryRefused(
                f"`{option.name}` can't change while a stream runs: {why}; {NEW_STREAM}"
            )
        if option.name not in ALTERABLE:
            known = choices("settings", ALTERABLE, near=option.name)
            raise QueryRefused(f"no setting `{option.name[:60]}`{known}")
    names = [option.name for option in options]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise QueryRefused(f"setting `{twice}` occurs twice; write it once")


def present_options(query: Query, settings: Settings, *, number: int) -> Written:
    """What is written of its settings: in the statement, or where they were altered."""
    return settings.options if number else written_options(query.program.text)


def written_options(text: str) -> Written:
    """Of the one stream of a text, those that may be altered."""
    return _ordered({one.name: one.written for one in _stream(text).options})


def rounds_written(text: str) -> str:
    """The option by which panes are divided, as it was written; empty: it was not. It is no
    setting, but what follows of an error or a staleness is."""
    streams = [one for one in read_statements(text) if isinstance(one, StreamStatement)]
    options = (one for stream in streams for one in stream.options)
    return next((one.written for one in options if one.name == "rounds"), "")


def merged_options(present: Written, options: Sequence[Option]) -> Written:
    """As they are to be. What an option makes meaningless goes with it. Raises
    ``QueryRefused``."""
    check_alterable(options)
    found, named = dict(present), {one.name for one in options}
    for option in options:
        found[option.name] = option.written
        word = option.value.strip().lower()
        replaced = _REPLACES.get(option.name, ())
        if option.name == "answer" and word == "complete":
            replaced = ("deadline", "staleness")
        if option.name in ENDED_BY_NONE and word == NONE:
            del found[option.name]
        for name in replaced:
            if name not in named:
                found.pop(name, None)
    if "degrade" not in found:
        found = {name: value for name, value in found.items() if not name.startswith("backlog_")}
    ended = [option.name for option in options if option.name not in found]
    if "finally" not in named and not found.keys() & _KEEPS_BACK:
        _drop_finally(found, ended)
    return _ordered(found)


def _drop_finally(found: dict[str, str], ended: Collection[str]) -> None:
    """Where nothing is kept back any more. What is enough stays so, and 'exact' is with a degrade
    that may come back."""
    word = found.get("finally", "").strip("'\"").strip().lower()
    if ("error" in ended and word != ENOUGH) or ("degrade" in ended and word == Finally.BOUNDED):
        found.pop("finally", None)


def settings_with(
    query: Query, options: Written, *, known_sites: Collection[str | Site]
) -> Settings:
    """The settings of a query, or of a part of a stream, that these options make. Raises
    ``QueryRefused``."""
    made = compiled_with(query, options, known_sites=known_sites)
    found = next((one for one in made if one.id.name == query.id.name), None)
    if found is not None and found.demand != query.demand:
        raise QueryRefused(
            "`finally` can't change while a stream runs under a fidelity: windows were final by "
            f"it; {NEW_STREAM}"
        )
    if found is not None:
        _check_levels(query, found)
    if found is not None and _names(found) != _names(query):
        raise QueryRefused(
            f"{query.id}: wanted an error of a sketch only where there was one at the start, since "
            f"sites count the records in it, or don't, as it was installed; {NEW_STREAM}"
        )
    if found is None or _without_text(_with_levels(found, query)) != _without_text(query):
        raise QueryRefused(
            f"{query.id}: wanted a statement that this version makes the same query of as was "
            f"installed, and it was installed by another one; {NEW_STREAM}"
        )
    return msgspec.structs.replace(
        Settings.of(dealing_as(found, query)), options=options, rounds=found.round_count
    )


def _with_levels(found: Query, query: Query) -> Query:
    """What its levels go by sites compute as it was installed, also while they are left."""
    if level_operators(found) or not level_operators(query):
        return found
    written = dict(written_options(query.program.text))
    again = compiled_with(query, _ordered(written), known_sites=query.sites)
    same = next((one for one in again if one.id.name == query.id.name), found)
    return msgspec.structs.replace(found, program=same.program)


def _check_levels(query: Query, found: Query) -> None:
    """Streams of coarser panes were installed with it, or not: settings make none, and change
    none. Raises ``QueryRefused``."""
    fault = _levels_fault(query, found)
    if fault is not None:
        raise QueryRefused(f"{query.stream}: {fault}; {NEW_STREAM}")


def _levels_fault(query: Query, found: Query) -> str | None:
    has, asked = level_operators(query), level_operators(found)
    if asked and (_unwritten(asked) != _unwritten(has) or not _is_beside(found, query)):
        return (
            "each level of coarsen and sample is a stream beside it, installed with it, and other "
            f"settings install none; wanted {_whole_text(query)}, got {_whole_text(found)}"
        )
    if asked and _follows(found) != _follows(query):
        return f"`finally` can't change beside {_levels_text(has)}, which was installed with it"
    if has and not asked and (found.degrades is not None or plain_fault(found) is not None):
        return (
            f"wanted no error and no threshold in the place of {_levels_text(has)}, with which it "
            "was installed"
        )
    return None


def _unwritten(operators: Sequence[Operator]) -> list[Operator]:
    """The same, however they are written."""
    return [msgspec.structs.replace(one, text="") for one in operators]


def _levels_text(operators: Sequence[Operator]) -> str:
    return levels_text(operators) or "degrade without it"


def _whole_text(query: Query) -> str:
    return _levels_text(() if query.degrades is None else query.degrades.operators)


def _is_beside(found: Query, query: Query) -> bool:
    """Whether the same is kept back beside the levels, in the same order: what they keep back is
    settled with them."""
    mine, others = (() if q.degrades is None else q.degrades.operators for q in (found, query))
    asked = [None if q.tolerates is None else q.tolerates.columns for q in (found, query)]
    return _unwritten(mine) == _unwritten(others) and asked[0] == asked[1]


def _follows(query: Query) -> bool:
    return query.degrades is not None and query.degrades.follows


def compiled_with(
    query: Query, options: Written, *, known_sites: Collection[str | Site]
) -> list[Query]:
    """The queries that its stream would be, had it been written with these options."""
    source = query.program.source
    return compile_statements(
        text_with(query.program.text, options),
        root=query.root,
        installer=query.id.installer,
        next_counter=1,
        known_sites=known_sites,
        known_sources={source.name: source},
    )


def file_with(text: str, options: Written) -> str:
    """A source and a stream, the stream with these options."""
    texts = [
        text_with(one.text, options) if isinstance(one, StreamStatement) else one.text
        for one in read_statements(text)
    ]
    return "".join(f"{one.rstrip().rstrip(';')};\n" for one in texts)


def text_with(text: str, options: Written) -> str:
    """The one stream of a text, with these options in the place of those that may be altered."""
    stream, written = _stream(text), dict(options)
    left_out = set(ALTERABLE)
    if not written.keys() & _SENDS_EARLY:
        left_out.add("rounds")
    if not written.keys() & _KEEPS_BACK:
        left_out.add(OF_A_BOUND)
    kept = [(one.name, one.written) for one in stream.options if one.name not in left_out]
    said = ", ".join(f"{name} = {value}" for name, value in (*options, *kept))
    with_ = f" WITH ({said})" if said else ""
    return f"CREATE STREAM {stream.name}{with_} AS\n{text[stream.select_offset :]}"


def difference_text(former: Written, later: Written) -> str:
    """
    >>> difference_text((("error", "'1 %'"),), (("deadline", "'9 s'"),))
    "deadline = '9 s' (was by default), error by default (was '1 %')"
    """
    was, now = dict(former), dict(later)
    lines = []
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            is_ = f"{name} = {now[name]}" if name in now else f"{name} by default"
            lines.append(f"{is_} (was {was.get(name, 'by default')})")
    return ", ".join(lines)


def _stream(text: str) -> StreamStatement:
    streams = [one for one in read_statements(text) if isinstance(one, StreamStatement)]
    if len(streams) != 1:
        raise QueryRefused(f"wanted one CREATE STREAM, got {len(streams)}")
    return streams[0]


def _ordered(found: Mapping[str, str]) -> Written:
    return tuple((name, found[name]) for name in ALTERABLE if name in found)


def _names(query: Query) -> list[str]:
    """Of what sites compute."""
    return [one.name for one in query.program.partials]


def _without_text(query: Query) -> object:
    """What Spark does for it, but for how it was written."""
    return msgspec.structs.replace(query.program, text=""), query.window
