"""How the option ``degrade`` is written: operators with commas between them, in their order.

::

    degrade = 'coarsen(time, 5 s, 10 s), threshold(hits, 1 % of total), sample(url, 1/16)'
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from headwater.plan.degrading.degradation import OPERATORS_MAX, TEXT_MAX
from headwater.sql.read.options import Options
from headwater.sql.read.refusal import choices

NOTHING = "none"
"""As an option: nothing is given up any more."""
OPERATORS = {
    "coarsen": "coarsen(time, 5 s, 10 s) or coarsen(key, expression)",
    "threshold": "threshold(column, 1 % of total)",
    "sample": "sample(key, 1/16)",
    "top": "top(100, column)",
    "shrink": "shrink(column)",
}
"""With how each is written."""
_CALL = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*\((?P<inside>.*)\)\s*", re.DOTALL)
_OPEN, _CLOSED = "([", ")]"


class Asked(msgspec.Struct, frozen=True):
    """One operator as it is written."""

    name: str
    arguments: tuple[str, ...]
    text: str


def read_degrade(options: Options) -> tuple[Asked, ...]:
    """(): it asks for none. Raises ``QueryRefused``."""
    text = (options.text("degrade", NOTHING) or "").strip()
    if text.lower() == NOTHING:
        return ()
    found = tuple(_asked(options, one) for one in _parts(text))
    if len(found) > OPERATORS_MAX:
        raise options.refused(
            "degrade", f"wanted at most {OPERATORS_MAX} operators, got {len(found)}"
        )
    return found


def _asked(options: Options, text: str) -> Asked:
    call = _CALL.fullmatch(text)
    name = "" if call is None else call["name"].lower()
    if call is None or name not in OPERATORS:
        known = choices("operators", OPERATORS.values(), near=None)
        raise options.refused(
            "degrade", f"wanted operators, got '{text.strip()[:60]}'{_near(text)}{known}"
        )
    arguments = tuple(one.strip() for one in _parts(call["inside"]))
    if not all(arguments) or len(arguments) < (1 if name == "shrink" else 2):
        raise options.refused("degrade", f"wanted {OPERATORS[name]}, got '{text.strip()[:60]}'")
    return Asked(name, arguments, " ".join(text.split())[:TEXT_MAX])


def _near(text: str) -> str:
    """What may have been meant."""
    found = re.match(r"\w*", text.strip())
    word = found[0].lower() if found else ""
    if word in OPERATORS:
        return f"; write `{word}` with all its brackets"
    hint = choices("operators", OPERATORS, near=word or None)
    return hint.split("?")[0] + "?" if "?" in hint else ""


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets and no quotes."""
    depth, quote, start = 0, "", 0
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"`":
            quote = sign
        elif sign in _OPEN:
            depth += 1
        elif sign in _CLOSED:
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
