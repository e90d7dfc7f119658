r"""What the first line of a record begins with, where records go over several lines.

It is a regular expression that many read: the follower that cuts a growing file, the reference, a
check. All of them run it on whole blocks of lines by Arrow's RE2, whose time grows with the length
of a line and with nothing else: no pattern from elsewhere can hold an agent up. What is admitted is
what means the same to Java as well, so that the beginning of a ``pattern`` can be copied.

>>> record_start_fault(r"^\[?\d{4}-\d\d-\d\d[T ]")
>>> record_start_fault(r"\d*")
'it matches an empty line, so that every line would begin a record'
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

RECORD_START_LENGTH_MAX = 200
_ESCAPED = r"\\[dDwWsSt]|\\[^A-Za-z0-9\s]"
_PIECE = re.compile(
    rf"""(?:{_ESCAPED}
      | \[\^?(?:{_ESCAPED}|[^\[\]\\&^])+\]          # a class, without others in it
      | \((?:\?:|\?<[A-Za-z][A-Za-z0-9]*>|(?!\?))
      | \)
      | [*+?]\??
      | \{{\d{{1,3}}(?:,\d{{0,3}})?\}}\??
      | [.|]
      | [^\\\[\](){{}}*+?|^$.]
    )*""",
    re.VERBOSE,
)
AVAILABLE = (
    r"letters, ., [a-z], [^a-z], \d, \w, \s, \t, signs behind \, (…), (?:…), |, ?, *, +, {2,3}"
)


def anchored(start: str) -> str:
    """As it is looked for: at the beginning of a line, whether or not it says so."""
    return rf"\A(?:{start.removeprefix('^')})"


def record_start_fault(start: str) -> str | None:
    """What is wrong with it, for people."""
    if len(start) > RECORD_START_LENGTH_MAX:
        return f"a record_start has at most {RECORD_START_LENGTH_MAX} characters"
    found = _PIECE.match(start.removeprefix("^"))
    assert found is not None, "it may match nothing"
    rest = start.removeprefix("^")[found.end() :]
    if rest:
        return f"a record_start is made of {AVAILABLE}; this is not: {rest[:40]!r}"
    try:
        (is_empty_one,) = pc.match_substring_regex(pa.array([""]), anchored(start)).to_pylist()
    except pa.ArrowInvalid as error:
        return f"no regular expression: {str(error).rpartition('expression: ')[2][:100]}"
    if is_empty_one:
        return "it matches an empty line, so that every line would begin a record"
    return None
