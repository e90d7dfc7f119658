"""The sources that the operator of a site declares in ``agent.toml``, read and checked.

A declaration is the CREATE SOURCE that queries have to write, with a level for each column: one
language for both, so that what a query is refused for can be shown as what to write. A mistake in
one keeps the agent from starting: a column that was meant to be denied must not be free by a slip.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec

from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.sources.glob_overlap import Parts, literal_parts, may_overlap, parts_of
from headwater.plan.sources.log_formats import holds
from headwater.plan.sources.source import Source
from headwater.sql.admit.column_levels import Level
from headwater.sql.admit.declared_source import DeclaredSource
from headwater.sql.read.time_of import time_inputs

DECLARED_MAX = 100
"""Sources of one site. Each listing of another source looks at all of theirs."""


class SourceDeclaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source of this site. A query that reads its files must read them so, and may do with a
    column what its level allows; no other path leads to them. A relative path is below ``data``;
    an absolute one need not be below ``open``."""

    statement: str
    """``CREATE SOURCE name (column type, …) WITH (format = …, path = …, time = …)``, as in a query.
    Let the path cover the names to which files are rotated."""
    levels: dict[str, str]
    """For every column: ``denied`` (no query reads it), ``aggregated`` (only count, count_if, sum
    and avg take it) or ``free``. The time column may not be denied, nor what it is computed of; a
    time that is computed has the lowest level of that unless said. A column that holds another one,
    by their paths, may be no freer."""


def read_declarations(
    declarations: Sequence[SourceDeclaration], *, data: str
) -> tuple[DeclaredSource, ...]:
    """Raises ``ConfigurationError`` with the first mistake. ``data`` is the directory that relative
    paths are below."""
    if len(declarations) > DECLARED_MAX:
        raise ConfigurationError(
            f"sources.declared: wanted at most {DECLARED_MAX} sources, got {len(declarations)}"
        )
    found = []
    for number, one in enumerate(declarations, start=1):
        where = f"sources.declared, number {number}"
        source = _source(one.statement, where)
        found.append(
            DeclaredSource(source, _levels(source, one.levels, f"{where} ({source.name})"))
        )
    _check_apart(found, data)
    return tuple(found)


def _source(statement: str, where: str) -> Source:
    from headwater.sql.compile import parse_script  # slow to load, and seldom needed

    try:
        script = parse_script(statement)
    except QueryRefused as error:
        raise ConfigurationError(f"{where}: {error}") from error
    if len(script.sources) != 1 or script.streams:
        raise ConfigurationError(
            f"{where}: wanted one CREATE SOURCE in statement, got {len(script.sources)} and "
            f"{len(script.streams)} streams"
        )
    return script.sources[0]


def _levels(source: Source, levels: dict[str, str], where: str) -> tuple[tuple[str, Level], ...]:
    """A time that is computed has the lowest level of what it is computed of, unless said."""
    inputs = time_inputs(source)
    if inputs and source.time_column not in levels:
        of_inputs = [levels[name] for name in inputs if name in levels]
        levels = {source.time_column: min(of_inputs, key=_rank, default=Level.FREE), **levels}
    names = [column.name for column in source.columns]
    known = ", ".join(Level)
    for name, level in levels.items():
        if name not in names:
            raise ConfigurationError(
                f"{where}: levels names column {name[:60]!r}, and the statement has none called "
                f"so; columns: {', '.join(names)}"
            )
        if level not in list(Level):
            raise ConfigurationError(
                f"{where}: column {name}: wanted a level of {known}, got {level[:60]!r}"
            )
    missing = [name for name in names if name not in levels]
    if missing:
        raise ConfigurationError(
            f"{where}: wanted a level for every column, got none for {', '.join(missing)}; say "
            f"which of {known} under levels"
        )
    denied = [name for name in inputs if levels[name] == Level.DENIED]
    if denied:
        raise ConfigurationError(
            f"{where}: its time is computed of column {denied[0]}, which is denied, and every "
            f"answer says when records were; wanted {Level.AGGREGATED} or {Level.FREE}"
        )
    if levels[source.time_column] == Level.DENIED:
        raise ConfigurationError(
            f"{where}: its time column {source.time_column} is denied, so that no query could read "
            f"it; wanted {Level.AGGREGATED} or {Level.FREE}"
        )
    _check_paths(source, levels, where)
    return tuple((name, Level(levels[name])) for name in names)


def _check_paths(source: Source, levels: dict[str, str], where: str) -> None:
    """What holds another column's value is no freer than that column."""
    names = [column.name for column in source.fields]
    for outer in names:
        for inner in names:
            is_within = outer != inner and holds(source, outer, inner)
            if is_within and _rank(levels[outer]) > _rank(levels[inner]):
                raise ConfigurationError(
                    f"{where}: column {outer} is {levels[outer]}, and holds column {inner}, which "
                    f"is {levels[inner]}; wanted {levels[inner]} for both"
                )


def _rank(level: str) -> int:
    """What is no level is found out later."""
    known: list[str] = list(Level)
    return known.index(level) if level in known else 0


def parts_below(path: str, data: str) -> Parts:
    """The parts of a source's path from the root of the file system on."""
    return parts_of(path) if path.startswith("/") else (*literal_parts(data), *parts_of(path))


def _check_apart(declared: Sequence[DeclaredSource], data: str) -> None:
    """One file, one declaration: a query could agree with only one of two."""
    for one, other in combinations((one.source for one in declared), 2):
        if one.name.lower() == other.name.lower():
            raise ConfigurationError(f"sources.declared: source {one.name} is declared twice")
        if may_overlap(parts_below(one.path, data), parts_below(other.path, data)):
            raise ConfigurationError(
                f"sources.declared: the paths of {one.name} ({one.path[:100]!r}) and {other.name} "
                f"({other.path[:100]!r}) may name the same file; let each file be of one source"
            )
