"""How many malformed lines of a source are too many: a share of a site's lines, or a number.

A share is rounded up to whole lines, so that one bad line in a small file is not too many; but
where no line at all is a record, it always is: something is wrong with the source, not with a line.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

import msgspec

EXAMPLES = "'1%', '0.1%' or '20'"
NUMBER_MAX = 10**15


class MalformedMax(msgspec.Struct, frozen=True):
    text: str
    """As it was said."""
    share: Fraction | None = None
    """Of the lines; None: it is a number of lines."""
    lines: int = 0

    def is_exceeded(self, malformed: int, *, lines: int) -> bool:
        """``lines`` are all, the malformed ones among them."""
        if self.share is None:
            return malformed > self.lines
        is_all = 0 < lines <= malformed and self.share < 1
        return is_all or malformed > math.ceil(self.share * lines)


def malformed_max(text: str) -> MalformedMax | None:
    """None: it is neither a share nor a number.

    >>> malformed_max("1%").is_exceeded(1, lines=20), malformed_max("1%").is_exceeded(2, lines=20)
    (False, True)
    >>> malformed_max("many")
    """
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*(%?)", text.strip(), flags=re.ASCII)
    if match is None:
        return None
    number = Fraction(match[1])
    if match[2]:
        return MalformedMax(text, number / 100) if number <= 100 else None
    return MalformedMax(text, lines=int(number)) if number.denominator == 1 else None


DEFAULT = MalformedMax("1%", Fraction(1, 100))
