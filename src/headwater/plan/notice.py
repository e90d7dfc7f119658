"""What a part of an agent says that nobody needs to act on."""

import msgspec


class Notice(msgspec.Struct, frozen=True):
    """Something that an operator or a test may want to see."""

    part: str
    """edge, overlay, root, node, spark, or disk."""
    kind: str
    text: str
