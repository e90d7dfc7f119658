"""What a number or a name in a value may be, whoever has written it.

They are checked when a value is read, from a link or a disk, before a machine sees it.
"""

from typing import Annotated

from msgspec import Meta

PANE_MAX = 1 << 62
Pane = Annotated[int, Meta(ge=-PANE_MAX, le=PANE_MAX)]
NUMBER_MAX = (1 << 63) - 1
Number = Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
SixtyFourBits = Annotated[int, Meta(ge=0)]
"""64 bits without a meaning as a quantity: incarnations, tags."""
ORDINALS_MAX = 1 << 17
"""Sites that a federation can number in its life; bounds every bitset to 16 KiB."""
Ordinal = Annotated[int, Meta(ge=0, lt=ORDINALS_MAX)]
Bits = Annotated[bytes, Meta(max_length=ORDINALS_MAX // 8)]
RANGES_MAX = 1 << 17
BoundedRanges = Annotated[tuple[tuple[Pane, Pane], ...], Meta(max_length=RANGES_MAX)]
Name = Annotated[str, Meta(max_length=512)]


def beginning_of(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[: characters_max - 1]}…"
