"""The options of WITH lists: which there are, and reading their values.

An option is read once, where it is used, by a reader that refuses with the option's own place in
the text; whatever has not been read at the end is unknown and refused with what there is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from headwater.errors import QueryRefused
from headwater.plan import durations, timestamps
from headwater.sql.read.refusal import choices, refusal
from headwater.sql.read.statements import Option

NOT_BUILT = {
    "mixed": "where sites are at different levels, the stream has those at full fidelity and names "
    "the others; the stream of the coarsest level has all of them, at that level",
    "recover": "a site goes on after a crash where it stopped, and leaves no gap",
}
"""Options that one may look for, and what happens in their place."""


class Options:
    """The options of one statement, to be read by name."""

    def __init__(
        self, text: str, options: Iterable[Option], *, known: Mapping[str, str], offset: int
    ) -> None:
        """``known`` says of each option what it is for; another name is refused here."""
        self._text = text
        self._offset = offset
        self._by_name: dict[str, Option] = {}
        for option in options:
            if option.name in NOT_BUILT and option.name not in known:
                text_of = f"no option `{option.name}` in this version: {NOT_BUILT[option.name]}"
                raise refusal(text, option.offset, text_of)
            if option.name not in known:
                raise refusal(
                    text,
                    option.offset,
                    f"no option `{option.name}`{choices('options', known, near=option.name)}",
                )
            if option.name in self._by_name:
                raise refusal(text, option.offset, f"option `{option.name}` occurs twice")
            self._by_name[option.name] = option

    def text(self, name: str, default: str | None = None) -> str | None:
        option = self._by_name.get(name)
        return option.value if option is not None else default

    def required(self, name: str, example: str) -> str:
        if name not in self._by_name:
            raise refusal(
                self._text, self._offset, f"option `{name}` is missing: WITH ({name} = {example})"
            )
        value = self._by_name[name].value
        if not value.strip():
            raise self.refused(name, f"option `{name}` is empty; write {name} = {example}")
        return value

    def one_of(self, name: str, values: Collection[str], value: str) -> str:
        """``value`` in the spelling of ``values``, without regard to case."""
        found = next((known for known in values if known.lower() == value.lower()), None)
        if found is None:
            raise self.refused(
                name, f"no {name} `{value[:60]}`{choices(name + 's', values, near=value)}"
            )
        return found

    def duration_s(self, name: str, default: float) -> float:
        option = self._by_name.get(name)
        if option is None:
            return default
        us = durations.duration_us(option.value)
        if us is None:
            raise self.refused(
                name,
                f"`{option.value[:60]}` is no length of time; write {name} = "
                f"{durations.EXAMPLES} …",
            )
        return us / 1_000_000

    def moment_us(self, name: str) -> int:
        value = self._by_name[name].value
        us = timestamps.timestamp_us(value)
        if us is None:
            raise self.refused(
                name, f"`{value[:60]}` is no point in time; write {timestamps.EXAMPLES}"
            )
        return us

    def has_single_backslash(self, name: str) -> bool:
        """True for a '…' without r before it in which a backslash escapes the sign after it."""
        written = self._by_name[name].written
        return (
            written[0] in "'\"" and re.search(r"\\[^'\"]", written.replace("\\\\", "")) is not None
        )

    def names(self) -> list[str]:
        return list(self._by_name)

    def value_offset(self, name: str) -> int:
        return self._by_name[name].value_offset if name in self._by_name else self._offset

    def refused(self, name: str, message: str) -> QueryRefused:
        return refusal(self._text, self.value_offset(name), message)
