"""What a site says of its own sources, and who gets to their files: ``agent.toml`` and globs."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

from headwater.agent.admission import admit_with
from headwater.agent.config import AgentConfig, PolicyConfig
from headwater.agent.input.declarations import read_declarations
from headwater.errors import ConfigurationError, QueryRefused
from headwater.plan.duty import Admit, Duty
from headwater.plan.sources.glob_overlap import is_within, matches, may_overlap, parts_of
from headwater.plan.sources.globs import glob_fault
from headwater.sql.admit.column_levels import Level
from headwater.sql.admit.declared_source import DeclaredSource
from headwater.sql.compile import compile_statements

_AGENT = b"""site = "alpha"
replan_every_s = 60.0

[spark]
settings = { "spark.ui.enabled" = "false" }

[sources]
data = "logs"
open = ["/var/log"]
declared_only = false

[[sources.declared]]
statement = '''
CREATE SOURCE web (at TIMESTAMP, domain STRING, client STRING, ms DECIMAL(10, 2))
WITH (format = 'csv', path = 'web/*.log*', time = 'at', delimiter = ';', header = 'true')
'''
levels = { at = "free", domain = "free", client = "denied", ms = "aggregated" }

[[sources.declared]]
statement = '''
CREATE SOURCE err (at TIMESTAMP, said STRING)
WITH (format = 'regex', path = '/var/log/[e-f]*/**/?.err', time = 'at', pattern = r'(\\S+) (.*)')
'''
levels = { at = "aggregated", said = "denied" }

[[policy.operators]]
name = "web-*"
may = ["install", "read"]
"""
_GLOBS = (
    b"logs/*.log\nlogs/web.log",
    b"logs/**/a?c[!x-z]*.log\n**/[]abc]*/.hidden/**",
    b"/srv/**/*\n/srv/*/a.log",
)
_FILLINGS = ("", "a", "b.", ".c", "[", "logs", "web.log")


def good_configurations() -> list[bytes]:
    return [_AGENT]


def run_configuration(data: bytes) -> bool:
    """Whatever is accepted can be used, and no denied column of it is read."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        file.write(data)
        file.flush()
        try:
            config = AgentConfig.load(Path(file.name))
        except ConfigurationError:
            return False
    admit = admit_with(PolicyConfig(), config.sources)
    for one in read_declarations(config.sources.declared, data=config.sources.data):
        for column, level in one.levels:
            reason = _asked(one, column, admit)
            assert reason or level is not Level.DENIED, f"{column} of {one.name} is read"
    return True


def _asked(declared: DeclaredSource, column: str, admit: Admit) -> str | None:
    source = declared.source
    text = (
        f"{source.text}; CREATE STREAM q AS SELECT max(`{column}`) AS m "
        f"FROM `{source.name}` GROUP BY window(`{source.time_column}`, '5 seconds')"
    )
    try:
        (query,) = compile_statements(text, root="alpha", installer="alpha", next_counter=1)
    except QueryRefused as error:
        return str(error)
    return admit(query, Duty.READ, "olga")


def good_globs() -> list[bytes]:
    return list(_GLOBS)


def run_globs(data: bytes) -> bool:
    """Two globs with a line between them: no path is of both where they are called apart, and
    none of the first is not of the second where the first is called within the second."""
    one, _, other = data.decode(errors="replace").partition("\n")
    if any(glob_fault(path) is not None for path in (one, other)):
        return False
    parts = parts_of(one), parts_of(other)
    if not all(parts):
        return False
    is_apart, is_inside = not may_overlap(*parts), is_within(*parts)
    for path in {*_filled(one), *_filled(other)}:
        is_of = [matches(path, of) for of in parts]
        assert not (is_apart and all(is_of)), f"{path!r} is of both"
        assert not (is_inside and is_of[0] and not is_of[1]), f"{path!r} is of the first alone"
    return True


def _filled(path: str) -> list[str]:
    """Paths that are likely to be of the glob."""
    return [
        path.replace("**/", folders).replace("*", stars).replace("?", letter)
        for folders, stars, letter in product(("", "a/", "x/y/"), _FILLINGS, "ax")
    ]
