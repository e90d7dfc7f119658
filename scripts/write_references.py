"""Writes the reference pages from the code, so that they can't say anything else.

``docs/reference/cli.md`` is the help of every command; ``docs/operating/configuration.md`` has
every key of ``agent.toml`` with its default and the sentence that stands beside it in the code;
``docs/reference/messages.md`` has every refusal (``message_catalogue.py``).
Run it after changing either: ``.venv/bin/python scripts/write_references.py``. A test compares.
"""

import ast
import contextlib
import inspect
import io
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from headwater.agent.config import (
    AgentConfig,
    LinksConfig,
    LinkToConfig,
    PolicyConfig,
    SourcesConfig,
)
from headwater.agent.control.rights import OperatorRights
from headwater.agent.input.declarations import SourceDeclaration
from headwater.cli.main import main
from headwater.plan.roster import Site

sys.path.insert(0, str(Path(__file__).resolve().parent))

from message_catalogue import messages_page

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMANDS = (
    "demo", "try", "infer", "check-source", "up", "down", "run", "explain", "streams", "sites",
    "ask", "watch", "why", "alarms", "remove", "resume", "doctor", "audit", "agent", "certs",
    "certs init", "certs site", "certs relay", "certs operator", "certs viewer", "certs roster",
    "certs show",
)  # fmt: skip

TABLES = (
    (SourcesConfig, "declared", SourceDeclaration),
    (PolicyConfig, "operators", OperatorRights),
    (LinksConfig, "to", LinkToConfig),
)
"""Lists of tables, or tables by name: (where, key, what)."""
BY_NAME = {LinkToConfig: "[{}.{}.NAME]"}
BUDGETS = """\
```toml
[links]
budget = "200 kbit/s"                  # of this agent, all links together
[links.to.frankfurt]
budget = "64 kbit/s"
```

What a budget counts, and what goes first in it, is in
[A budget for a link](running_agents.md#a-budget-for-a-link)."""
DECLARED = """\
```toml
[[sources.declared]]
statement = '''
CREATE SOURCE access (ts TIMESTAMP, domain STRING, client STRING, bytes BIGINT)
WITH (format = 'csv', path = 'access/*.log*', time = 'ts')
'''
levels = { ts = "free", domain = "free", client = "denied", bytes = "aggregated" }
```

What each level allows, and what it does not protect from, is in
[Certificates and trust](trust.md#the-sites-own-sources). `headwater doctor` shows what is
declared."""


def cli_page() -> str:
    parts = [
        "# Command line",
        "What a command found goes to standard output, what it says about its work to standard "
        "error. On a terminal the output is a table, in a pipe one JSON object a line. A refused "
        "request ends with one message and exit code 2; `headwater --debug …` shows where it came "
        "from.",
        _block(_help()),
    ]
    for command in COMMANDS:
        parts += [f"## headwater {command}", _block(_help(*command.split()))]
    return "\n\n".join(parts) + "\n"


def configuration_page() -> str:
    parts = [
        "# Configuration",
        "An agent reads one TOML file, `headwater agent --config agent.toml`. Relative paths are "
        "relative to the file. A key that does not exist is refused. All keys but `site` have a "
        "default.",
        "## agent.toml",
        _table(AgentConfig, is_nested=False),
    ]
    for field in msgspec.structs.fields(AgentConfig):
        if _is_struct(field.type):
            about = inspect.cleandoc(field.type.__doc__ or "").replace("``", "`")
            parts += [f"### [{field.name}]", *([about] if about else []), _table(field.type)]
        for within, name, kind in TABLES:
            if field.type is within:
                about = inspect.cleandoc(kind.__doc__ or "").replace("``", "`")
                heading = BY_NAME.get(kind, "[[{}.{}]]").format(field.name, name)
                parts += [f"### {heading}", about, _table(kind)]
        if field.type is LinksConfig:
            parts += [BUDGETS]
        if field.type is SourcesConfig:
            parts += [DECLARED]
    parts += [
        "## roster.toml",
        "What `headwater certs roster` signs; agents read the signed file, the same at every "
        "agent. The keys are `federation` (its name, as in the certificates), `version` (raise it "
        "with every change), `home` (the site where commands meet and queries are answered unless "
        "they say otherwise), and one `[[site]]` table for each site:",
        _table(Site),
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    return {
        DOCS / "reference" / "cli.md": cli_page(),
        DOCS / "operating" / "configuration.md": configuration_page(),
        DOCS / "reference" / "messages.md": messages_page(),
    }


def _help(*command: str) -> str:
    out = io.StringIO()
    captured = contextlib.redirect_stdout(out)
    with patch.dict(os.environ, COLUMNS="90"), captured, contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def _block(text: str) -> str:
    return f"```\n{text}\n```"


def _table(kind: type[msgspec.Struct], *, is_nested: bool = True) -> str:
    said = dict(_sentences(kind))
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for field in msgspec.structs.fields(kind):
        if not is_nested and _is_struct(field.type):
            continue
        rows.append(f"| `{field.name}` | {_default(field)} | {said.get(field.name, '')} |")
    return "\n".join(rows)


def _sentences(kind: type[msgspec.Struct]) -> Iterator[tuple[str, str]]:
    """(field, the string that stands below it in the source)."""
    (cls,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(cls, ast.ClassDef)
    for field, after in zip(cls.body, cls.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield field.target.id, " ".join(text.split()).replace("``", "`")


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value: Any = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    if value in (None, (), {}, ""):
        return "none"
    if isinstance(value, tuple):
        return f"`[{', '.join(_number(str(one)) for one in value)}]`"
    return f"`{_number(value)}`"


def _number(value: Any) -> str:
    """As TOML has it, with bytes as powers of two where they are."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= 1 << 20 and value % (1 << 20) == 0:
        return f"{value} ({value >> 20} MiB)"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path)
