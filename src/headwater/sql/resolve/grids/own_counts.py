"""``rows_window(1000000)``, ``bytes_window('64 MB')``: windows of what each site has read."""

from __future__ import annotations

import re

from sqlglot import exp

from headwater.algebra.panes import WindowSpec
from headwater.algebra.windows.sequence_grid import BYTE, NUMBER_MAX, ROW
from headwater.plan.sources.log_formats import COLUMNAR
from headwater.plan.sources.source import Source
from headwater.sql.read.objection import Objection
from headwater.sql.resolve.grids.sequence_windows import Grid, numbers_fault, whole_number
from headwater.sql.types.call_types import name_of

ROWS_WINDOW = "rows_window"
BYTES_WINDOW = "bytes_window"
COLUMN_OF = {ROWS_WINDOW: ROW, BYTES_WINDOW: BYTE}
_SHAPES = {
    ROWS_WINDOW: f"{ROWS_WINDOW}(1000000) or {ROWS_WINDOW}(1000000, 100000)",
    BYTES_WINDOW: f"{BYTES_WINDOW}('64 MB') or {BYTES_WINDOW}('64 MB', '16 MB')",
}
_SIZES = {
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}


def is_own_count_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and name_of(node) in COLUMN_OF


def read_own_count(call: exp.Anonymous, source: Source) -> Grid:
    """Length and slide of one call. Raises ``Objection``."""
    name, arguments = name_of(call), call.expressions
    shape = _SHAPES[name]
    if not 1 <= len(arguments) <= 2:
        raise Objection(call, f"{name} takes a length and a slide: {shape}")
    if name == BYTES_WINDOW and source.format in COLUMNAR:
        raise Objection(
            call,
            f"{name} counts the bytes of lines, and records of {source.format} files are none; "
            f"write {_SHAPES[ROWS_WINDOW]}",
        )
    length, *slides = (_number(one, name) for one in arguments)
    slide = slides[0] if slides else length
    if slide > length:
        raise Objection(arguments[1], "the slide is longer than the window; records would be lost")
    window = WindowSpec(length, slide)
    fault = numbers_fault(window)
    if fault is not None:
        raise Objection(call, fault)
    return Grid(window, COLUMN_OF[name])


def _number(node: exp.Expr, name: str) -> int:
    """Raises ``Objection``."""
    number = whole_number(node) if name == ROWS_WINDOW else _size(node)
    if number is None:
        wanted = (
            f"a number of records from 1 to {NUMBER_MAX - 1}, without quotes"
            if name == ROWS_WINDOW
            else "a size in quotes, in B, kB, MB, GB, TB, or KiB, MiB, GiB, TiB"
        )
        raise Objection(node, f"{name} takes {wanted}: {_SHAPES[name]}")
    return number


def _size(node: exp.Expr) -> int | None:
    text = node.name if isinstance(node, exp.Literal) and node.is_string else ""
    return size_bytes(text)


def size_bytes(text: str) -> int | None:
    """None: it says none, or one that is no whole number of bytes.

    >>> size_bytes("64 MB"), size_bytes("1.5kB"), size_bytes("4 GiB"), size_bytes("0 MB")
    (64000000, 1500, 4294967296, None)
    """
    found = re.fullmatch(r"\s*([0-9]{1,18})(?:\.([0-9]{1,6}))?\s*([A-Za-z]+)\s*", text)
    unit = _SIZES.get(found[3].lower()) if found is not None else None
    if found is None or unit is None:
        return None
    whole, rest = divmod(int(found[1] + (found[2] or "").ljust(6, "0")) * unit, 10**6)
    return whole if not rest and 0 < whole < NUMBER_MAX else None
