"""Every message of ``src/`` that refuses something to a person, read from the code.

A message says where, what was wanted, what came, and what is available or what to do. Here they are
collected from the syntax trees: what is raised as an error of ours, and the words of refusals that
point into a statement. Values that are filled in stand in braces. ``docs/reference/messages.md`` is
made of it, and ``tests/cli/test_messages.py`` holds every message to the rules below.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headwater import errors

SOURCE = Path(__file__).resolve().parent.parent / "src" / "headwater"
WITHIN = {
    "Refused": "between agents; counted by reason, and in their logs",
    "PaneIsLarge": "the caller takes the rows one by one",
    "EpochOver": "the batch comes again",
    "SourceForgotten": "whoever works for it has nothing left to do",
    "QueryUnknown": "the batch is tried again",
    "AlreadyPublished": "nothing is left to do",
    "RowsGone": "the pane is declined",
    "OverlapError": "the summaries go on apart",
}
"""Errors by which parts of an agent speak to each other, and what comes of them: no person meets
their words but in a log."""
ERRORS = frozenset(
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.HeadwaterError) and name not in WITHIN
) | {"ResultsUnreadable"}
POINTING = {"refusal": 2, "Objection": 1, "refused": 1, "_refusal": 0}
"""Functions whose refusals name line and column by themselves, and which argument the words are."""
WORDS_AT = {"GroupFailed": 1}
"""Errors whose words are not the first argument; the one before says where."""
PLACE = re.compile(r"^[^:;]{0,160}(\{|`)|^[^:;]{1,60}:")
"""Something that is filled in, in the first clause, or a word that names the place, and a colon."""
PASSED_ON = re.compile(
    r"(\{[^}]*\}|[ :;,.…()'`/])+"
    r"|(?!.*\b(can't|not|no|failed|did|is)\b)([^:;]{1,60}: ){1,2}(\{[^}]*\}[ .…]*)+"
)
"""Beyond its place it is the words of another message, which is held to the rules itself."""
WANTED = re.compile(
    r"\b(wanted|must|has to|have to|at most|at least|up to|the limit|limit is|needs?|takes"
    r"|longer than|more than|prints|may|only|is for|are for|belongs?|is missing|not admitted"
    r"|has no|there are|here are|is true or false)\b"
)
TO_DO = re.compile(
    r"\bheadwater (?!/)[a-z]+|\b(give|set|name|start|use|choose|write|raise|lower|remove|rename"
    r"|run|see|make|stop|try|put|say|compare|install|leave|ask|look|end|take|add|mend|free|restart"
    r"|activate|call|move|open|declare|shorten|split|quote|divide|sign|issue|wait|replace|bring"
    r"|restore|let|read again|read each|group|order by|mounted|begin|change)\b"
    r"|\b(tried again|comes again|anew|go on|goes on|known: |available|instead|as in|stays?"
    r"|is left as it was)\b"
    r"|\b[a-z]+s:? \{|\{(names|qualifiers|known|hint)\}",
    re.I,
)
CLAUSE = re.compile(r"(?<=[;:,]) | \(")
ASKS = re.compile(
    r"(or |and |then )?(wanted|at most|at least|only|give|set|name|start|use|choose|write|raise"
    r"|lower|remove|rename|run|see|make|stop|try|put|say|install|leave|ask|look|take|add|mend|free"
    r"|activate|call|move|open|declare|shorten|split|sign|wait|replace|bring|restore|let|group"
    r"|change)\b",
    re.I,
)
"""How a clause begins that says what was wanted, or what to do: it does not say what came."""
CAME = re.compile(
    r"\b(got|came|found|is|are|was|were|has|have|had|does|did|can't|no|not|nobody|nothing|neither"
    r"|there|occurs?|twice|nests|holds|points|ended|ends|fails?|failed|lacks?|missing|names|says"
    r"|said|differs?|runs|reads|stands|begins|already|computes|without|gone|refused)\b"
)
"""Words of a clause that says how it stands."""
BARE_PLACE = re.compile(r"[\w\[\]. /'][\w\[\]. /'-]*(\{[^}]*\}[\w ]*)*[:;,)]*|\{[^}]*\}[:;,)]*")
"""A first clause that names a place and nothing else. An option with its value is more."""


@dataclass(frozen=True)
class Message:
    """One message, as it stands in the code."""

    file: str
    """Below ``src/headwater``."""
    function: str
    kind: str
    """The error's class, or the function that makes it."""
    text: str
    """With what is filled in, in braces; empty: it is made elsewhere."""
    points: bool
    """The place in the statement is put before it."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it should say and does not, as far as a rule can tell."""
        if not self.text:
            return ()
        found = []
        if not self.points and PLACE.search(self.text) is None:
            found.append("where")
        is_said = WANTED.search(self.text) or TO_DO.search(self.text)
        if not is_said and not PASSED_ON.fullmatch(self.text):
            found.append("what was wanted, or what to do")
        if (
            not self.points
            and not PASSED_ON.fullmatch(self.text)
            and not _says_what_came(self.text)
        ):
            found.append("what came")
        return tuple(found)


def _says_what_came(text: str) -> bool:
    """A clause that asks for nothing has a value in it, or says how it stands. What points into a
    statement shows what came by that."""
    clauses = [clause for clause in CLAUSE.split(text) if clause and not ASKS.match(clause)]
    if clauses and text.startswith(clauses[0]) and BARE_PLACE.fullmatch(clauses[0]):
        clauses = clauses if CAME.search(clauses[0]) else clauses[1:]
    return any("{" in clause or CAME.search(clause) for clause in clauses)


@cache
def messages() -> tuple[Message, ...]:
    """All of them, by file and in its order."""
    found: list[Message] = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = str(path.relative_to(SOURCE))
        found += [message for message in _in(tree, file, "") if message.text]
    return tuple(found)


def _in(node: ast.AST, file: str, function: str) -> Iterator[Message]:
    for child in ast.iter_child_nodes(node):
        name = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{function}.{child.name}" if function else child.name
        if isinstance(child, ast.Call):
            message = _message(child, file, function)
            if message is not None:
                yield message
        yield from _in(child, file, name)


def _message(call: ast.Call, file: str, function: str) -> Message | None:
    kind = _name(call.func)
    if kind in ERRORS:
        at = WORDS_AT.get(kind, 0)
    elif kind in POINTING:
        at = POINTING[kind]
    else:
        return None
    if len(call.args) <= at:
        return None
    text = " ".join(_words(call.args[at]).split())
    return Message(file, function, kind, text, kind in POINTING)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _words(node: ast.expr) -> str:
    """What is written; what is filled in, by what it is called. Empty: nothing is written here."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_words(part) for part in parts)
        case ast.FormattedValue(value=value):
            return f"{{{_short(value)}}}"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            words = (_words(left), _words(right))
            named = [
                text or f"{{{_short(side)}}}"
                for text, side in zip(words, (left, right), strict=True)
            ]
            return "".join(named) if any(words) else ""
        case ast.IfExp(body=body, orelse=orelse):
            return " / ".join(text for text in (_words(body), _words(orelse)) if text)
    return ""


def _short(value: ast.expr) -> str:
    """``query.id.name[:80]`` is called ``name``."""
    match value:
        case ast.Name(id=name):
            return name.strip("_")
        case ast.Attribute(attr=name):
            return name.strip("_")
        case ast.Subscript(value=inner):
            return _short(inner)
        case ast.Call(func=function, args=arguments):
            return _short(arguments[-1]) if arguments else _short(function)
        case ast.BinOp(left=left) | ast.BoolOp(values=[left, *_]):
            return _short(left)
    return "…"


def messages_page() -> str:
    """For people who look for what they were told."""
    parts = [
        "# Messages",
        "Every refusal that Headwater gives, as it stands in the code, by the file that gives it. "
        "In braces is what is filled in. Refusals of statements (`refusal`, `Objection`, "
        "`refused`) begin with line and column, and show the place. Made by "
        "`scripts/write_references.py`.",
    ]
    by_package: dict[str, list[Message]] = {}
    for message in messages():
        by_package.setdefault(message.file.partition("/")[0], []).append(message)
    for package, found in by_package.items():
        parts += [f"## {package.removesuffix('.py')}", _table(found)]
    return "\n\n".join(parts) + "\n"


def _table(found: list[Message]) -> str:
    rows = ["| where in the code | kind | message |", "|---|---|---|"]
    for message in found:
        text = message.text.replace("|", "\\|").replace("<", "&lt;")
        rows.append(f"| `{message.file}` | {message.kind} | {text} |")
    return "\n".join(rows)


if __name__ == "__main__":
    for one in messages():
        if one.lacks:
            print(
                f"{one.file}:{one.function} {one.kind}: {one.text}  -- lacks {', '.join(one.lacks)}"
            )
