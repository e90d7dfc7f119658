"""How the files of a source are written, as far as that matters before Spark sees a line."""

from __future__ import annotations

import msgspec

from headwater.plan.query import Source

FIELDS_FORMATS = ("w3c", "cloudfront")
"""A line in the log, ``#Fields: …``, names the columns of the lines that follow."""


class Form(msgspec.Struct, frozen=True):
    has_header: bool = False
    """The first line of a file names its columns."""
    has_fields_lines: bool = False
    """See ``FIELDS_FORMATS``."""

    @property
    def has_heads(self) -> bool:
        """What the columns of a line are stands elsewhere in its file."""
        return self.has_header or self.has_fields_lines


def form_of(source: Source) -> Form:
    options = dict(source.options)
    return Form(
        has_header=options.get("header") == "true",
        has_fields_lines=str(source.format) in FIELDS_FORMATS,
    )
