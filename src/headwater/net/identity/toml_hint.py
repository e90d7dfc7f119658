"""Where a TOML file could not be read: the keys of that table, or the words of that choice.

msgspec names the place and what came; which keys or words there are it does not say.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

_PLACE = re.compile(r" - at `\$([^`]*)`$")
_OF_A_TYPE = ("Object ", "Expected ", "Invalid enum value ")
"""Other messages are TOML's, or our own and say themselves what was wanted."""
_STEP = re.compile(r"\.(\w+)|\[")


def hint(kind: type[Any], error: str) -> str:
    """``keys there: …`` or ``wanted one of: …``; of the top where the message names no place.

    >>> listen = msgspec.defstruct("Listen", [("host", str), ("port", int)])
    >>> config = msgspec.defstruct("Config", [("site", str), ("listen", listen)])
    >>> hint(config, "Object contains unknown field `prot` - at `$.listen`")
    'keys there: host, port'
    >>> hint(config, "Object contains unknown field `lisen`")
    'keys at the top: site, listen'
    >>> hint(config, "Expected `int`, got `str` - at `$.listen.port`")
    ''
    """
    if not error.startswith(_OF_A_TYPE):
        return ""
    found = _PLACE.search(error)
    here = _plain(msgspec.inspect.type_info(kind))
    for step in _STEP.finditer(found[1] if found else ""):
        here = _below(here, step[1])
    if isinstance(here, msgspec.inspect.StructType):
        keys = ", ".join(field.encode_name for field in here.fields)
        return f"keys {'there' if found else 'at the top'}: {keys}"
    if isinstance(here, msgspec.inspect.EnumType):
        return f"wanted one of: {', '.join(str(one.value) for one in here.cls)}"
    return ""


def _below(here: Any, name: str | None) -> Any:
    """The type of a field, or of the items of a list; None: it has none that we could describe."""
    if name is None:
        return _plain(getattr(here, "item_type", None))
    for field in getattr(here, "fields", ()):
        if field.encode_name == name:
            return _plain(field.type)
    return None


def _plain(kind: Any) -> Any:
    """Without bounds, and of ``X | None`` the X."""
    while isinstance(kind, msgspec.inspect.Metadata):
        kind = kind.type
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((_plain(one) for one in kind.types if hasattr(_plain(one), "fields")), None)
    return kind
