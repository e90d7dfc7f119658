"""What a site remarks about a query's input, for people: nothing stops, and nobody must miss it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from headwater.algebra.bounds import Name, beginning_of

REMARKS_MAX = 4
"""Of one site about one query."""
REMARK_CHARACTERS_MAX = 500


class RemarkKind(StrEnum):
    NO_FILE = "no file"
    """The source's path matches nothing at the site."""
    CATCHING_UP = "catching up"
    """The site reads the past for the query."""
    NOT_RETAINED = "not retained"
    """It begins later with the query than that asks for, and declines what is before."""
    MALFORMED = "malformed"
    """More lines than may be are malformed."""


class Remark(msgspec.Struct, frozen=True, array_like=True):
    """Without values of records: it travels."""

    kind: Name
    """A ``RemarkKind``, or one of a later version."""
    text: Annotated[str, Meta(max_length=REMARK_CHARACTERS_MAX)]

    @classmethod
    def of(cls, kind: RemarkKind, text: str) -> Remark:
        return cls(kind, beginning_of(text, REMARK_CHARACTERS_MAX))


class SiteRemark(msgspec.Struct, frozen=True):
    """As the root knows it."""

    site: str
    kind: str
    text: str

    def line(self) -> str:
        """
        >>> SiteRemark("oslo", "no file", "no file matches 'a*.csv'").line()
        "oslo: no file matches 'a*.csv'"
        """
        return f"{self.site}: {self.text}"


def remarks_line(remarks: Iterable[SiteRemark], *, shown: int) -> str:
    """In one cell: the first ones, and how many there are more.

    >>> remarks_line([SiteRemark("a", "no file", "x"), SiteRemark("b", "no file", "y")], shown=1)
    'a: x; and 1 more'
    """
    lines = [one.line() for one in remarks]
    rest = f"; and {len(lines) - shown} more" if len(lines) > shown else ""
    return "; ".join(lines[:shown]) + rest
