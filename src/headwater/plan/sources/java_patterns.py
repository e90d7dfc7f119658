r"""Regular expressions of Java, by their letters: mistakes that would show only when a batch runs.

Not a parser of Java's: what passes may still be refused by Spark, and then fails its query at every
batch until it is suspended. These are the slips of the pen that people make.

>>> regex_fault(r"(\d+)-[a-z&&[^b]]*")
>>> regex_fault("(a")
'a group ( is not closed'
"""

import re

REGEX_LENGTH_MAX = 4000
_PIECE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\\\Z|.", re.DOTALL)
_REPEATS = "*+?"


def regex_fault(pattern: str) -> str | None:
    """What is wrong with it, for people; None: nothing that is seen here."""
    if len(pattern) > REGEX_LENGTH_MAX:
        return f"a pattern has at most {REGEX_LENGTH_MAX} characters"
    groups = classes = 0
    before = "("
    is_class_new = False
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        if piece == "\\":
            return "a backslash at the end escapes nothing"
        if piece == "[":
            classes += 1
        elif piece == "]" and classes and not is_class_new:
            classes -= 1
        elif not classes and piece in "()":
            groups += 1 if piece == "(" else -1
        elif not classes and piece in _REPEATS and before in ("(", "|") and not _opens(match):
            return f"{piece!r} repeats nothing"
        is_class_new = piece == "[" or (is_class_new and piece == "^")
        before = piece
        if groups < 0:
            return "a ) that closes nothing"
    if classes:
        return "a class [ is not closed"
    return "a group ( is not closed" if groups else None


def _opens(match: re.Match[str]) -> bool:
    """``(?`` begins a special group."""
    return match.group() == "?" and match.string[: match.start()].endswith("(")
