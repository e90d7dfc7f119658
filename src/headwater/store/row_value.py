"""Values in rows of a manifest, read again: whole, or with a sentence that names the row.

A row may have been damaged on the disk, or written by a newer version that was here before. Neither
is a reason for an agent not to start: what hangs on the row is set aside, alone, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from headwater.errors import UnreadableRow

T = TypeVar("T")
WHY_LENGTH_MAX = 200


def row_value(content: Any, kind: type[T], *, where: str, hint: str = "") -> T:
    """Raises ``UnreadableRow``; ``where`` says which table and which row, ``hint`` what to do."""
    return read_row(lambda: msgspec.msgpack.decode(content, type=kind), where=where, hint=hint)


def read_row(read: Callable[[], T], *, where: str, hint: str = "") -> T:
    """Raises ``UnreadableRow`` for whatever reading the row raises: SQLite gives what is there, of
    any type."""
    try:
        return read()
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        why = f"{type(error).__name__}: {str(error)[:WHY_LENGTH_MAX]}"
        raise UnreadableRow(
            f"{where} can't be read ({why}): it is damaged, or of a newer version{hint}"
        ) from None
