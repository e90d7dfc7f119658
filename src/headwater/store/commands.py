"""The commands that a site knows, on disk: live queries, the installers' counts, its own counter.

Words are kept with their proofs: whoever asks for them must be able to look at them, also when
those who signed them are gone. A removed query leaves nothing but its installer's count.

They are for the site's next life: its present one has them in its node. On a disk that nobody opens
again there is no next life, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headwater.node.effects import CommandWrite, KeepCommand, KeepCounts, perform_all
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Count, Install
from headwater.plan.flat_query import FlatQuery
from headwater.store.disk import Disk
from headwater.store.manifest import Manifest, Schema

T = TypeVar("T")
SETTINGS_AT = 6
"""Where the settings stand in the word of who altered them."""
_budgets = msgspec.msgpack.Decoder(SiteBudget)
_counts = msgspec.msgpack.Decoder(Count)
COMMANDS_SCHEMA = Schema(
    name="commands",
    application_id=0x4857434D,
    oldest=2,
    migrations=(
        (
            "CREATE TABLE installs (id TEXT PRIMARY KEY, command BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE counters (site TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID",
            # Nothing is in it. Agents of 0.2 and 0.3, which may run here again, ask for it.
            "CREATE TABLE unsigned (id TEXT PRIMARY KEY) WITHOUT ROWID",
            "CREATE TABLE counts (installer TEXT PRIMARY KEY, number INTEGER NOT NULL, "
            "count BLOB NOT NULL) WITHOUT ROWID",
        ),
        ("CREATE TABLE budgets (link TEXT PRIMARY KEY, command BLOB NOT NULL) WITHOUT ROWID",),
    ),
)


class CommandStore:
    """One for each site. Safe to use from several threads."""

    def __init__(self, directory: Path, *, disk: Disk | None = None) -> None:
        """Open the file ``commands.sqlite`` in this directory, made if needed."""
        self._is_read_again = disk is None or disk.is_kept
        self._manifest = Manifest.open(directory / "commands.sqlite", COMMANDS_SCHEMA, disk=disk)

    def close(self) -> None:
        self._manifest.close()

    def refuse_if_broken(self) -> None:
        """Raises ``StoreBroken`` where only opening it anew helps."""
        self._manifest.refuse_if_broken()

    def write(self, news: Sequence[CommandWrite]) -> list[None]:
        """Make commands and counts durable, in order, in one transaction."""
        if not self._is_read_again:
            return [None for _ in news]
        with self._manifest.transaction():
            return perform_all(self, news)

    def keep_command(self, keep: KeepCommand) -> None:
        """A part of ``write``, as the next one."""
        command = keep.command
        if isinstance(command, Install):
            self._manifest.run(
                "INSERT OR REPLACE INTO installs VALUES (?, ?)",
                (str(command.query.id), kept(command)),
            )
        else:
            self._manifest.run("DELETE FROM installs WHERE id = ?", (str(command.id),))
        self.keep_counts(keep)

    def keep_counts(self, keep: KeepCommand | KeepCounts) -> None:
        self._manifest.run_many(
            "INSERT OR REPLACE INTO counts VALUES (?, ?, ?)",
            ((one.installer, one.number, msgspec.msgpack.encode(one)) for one in keep.counts),
        )

    def keep_budget(self, budget: SiteBudget) -> None:
        """By itself: what this agent may send, for one link or for all."""
        if self._is_read_again:
            with self._manifest.transaction():
                word = msgspec.msgpack.encode(budget)
                self._manifest.run(
                    "INSERT OR REPLACE INTO budgets VALUES (?, ?)", (budget.to, word)
                )

    def budgets(self) -> list[SiteBudget]:
        """The newest for each link, as far as they can be read."""
        if self._manifest.is_untouched:
            return []
        rows = self._manifest.all("SELECT command FROM budgets ORDER BY link")
        read = [_read(word, _budgets.decode) for (word,) in rows]
        return [one for one in read if isinstance(one, SiteBudget)]

    def next_counter(self, site: str) -> int:
        """A number for a command of this site: higher than all before, also after a crash.

        It is above its count, too: a site that lost its disk learns from its peers how far its
        former self had counted, and must not use a number twice.
        """
        with self._manifest.transaction():
            (number,) = self._manifest.one(
                "SELECT 1 + max(coalesce((SELECT last FROM counters WHERE site = ?1), 0), "
                "coalesce((SELECT number FROM counts WHERE installer = ?1), 0))",
                (site,),
            )
            self._manifest.run("INSERT OR REPLACE INTO counters VALUES (?, ?)", (site, number))
        return int(number)

    def live(self) -> list[Install]:
        """The queries that were installed and not removed, as far as they can be read."""
        return [read for _, read in self._read() if isinstance(read, Install)]

    def set_aside(self) -> dict[str, str]:
        """The ids of installs that can't be read, and why. They stay as they are: a newer version
        may have written them, and they were not removed."""
        return {query_id: read for query_id, read in self._read() if isinstance(read, str)}

    def _read(self) -> list[tuple[str, Install | str]]:
        if self._manifest.is_untouched:
            return []
        rows = self._manifest.all("SELECT id, command FROM installs ORDER BY id")
        return [(query_id, _read(command, _install)) for query_id, command in rows]

    def counts(self) -> list[Count]:
        """Each installer's newest, as far as they can be read: others have them, too."""
        if self._manifest.is_untouched:
            return []
        rows = self._manifest.all("SELECT count FROM counts ORDER BY installer")
        read = [_read(count, _counts.decode) for (count,) in rows]
        return [count for count in read if isinstance(count, Count)]


def kept(install: Install) -> bytes:
    """As it lies on disk: field by field, its query flat; and as ever where nothing was altered."""
    fields = msgspec.structs.asdict(install) | {"query": FlatQuery.of(install.query).as_written()}
    if not install.alters:
        del fields["alters"]
    return msgspec.msgpack.encode({"type": "Install", **fields})


def _install(word: bytes) -> Install:
    fields = msgspec.msgpack.decode(word)
    kept_query, proof = fields.pop("query"), fields.get("proof")
    if proof is not None:
        kept_query |= _signed_fields(proof[0])
    for alter in fields.get("alters", ()):
        if alter["proof"] is not None:
            alter["settings"] |= _signed_settings(alter["proof"][0])
    query = msgspec.convert(kept_query, FlatQuery).query()
    return msgspec.convert({**fields, "query": query}, Install)


def _signed_fields(word: bytes) -> dict[str, Any]:
    """The query's as its operator signed it, which begins the word. Whoever kept the install may
    have been of an older version than this one, and have let go of words that it did not know."""
    said = msgspec.msgpack.decode(word)
    is_query = isinstance(said, list) and said and isinstance(said[0], dict)
    return said[0] if is_query else {}


def _signed_settings(word: bytes) -> dict[str, Any]:
    """The same of settings, which end the word."""
    said = msgspec.msgpack.decode(word)
    is_settings = isinstance(said, list) and len(said) > SETTINGS_AT
    is_settings = is_settings and isinstance(said[SETTINGS_AT], dict)
    return said[SETTINGS_AT] if is_settings else {}


def _read(word: bytes, read: Callable[[bytes], T]) -> T | str:
    """What the word says, or why it can't be understood."""
    try:
        return read(word)
    except Exception as error:  # whatever a value raises that refuses to be wrong
        return f"{type(error).__name__}: {str(error)[:200]}"
