"""The commands that a site knows, on disk: live queries, the vector, its own counter.

A removed query leaves nothing but the vector, which says "all commands of this installer up to n":
an id at or below it that is not live is removed, so removals need no tombstones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from headwater.overlay.outputs import CommandAccepted, VectorAdvanced
from headwater.plan.command import Install
from headwater.store.disk import Disk
from headwater.store.manifest import Manifest, Schema

COMMANDS_SCHEMA = Schema(
    name="commands",
    application_id=0x4857434D,
    migrations=(
        (
            "CREATE TABLE installs (id TEXT PRIMARY KEY, command BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE vector (installer TEXT PRIMARY KEY, counter INTEGER NOT NULL) "
            "WITHOUT ROWID",
            "CREATE TABLE counters (site TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID",
        ),
    ),
)


class CommandStore:
    """One for each site. Safe to use from several threads."""

    def __init__(self, directory: Path, *, disk: Disk | None = None) -> None:
        """Open the file ``commands.sqlite`` in this directory, made if needed."""
        self._manifest = Manifest.open(directory / "commands.sqlite", COMMANDS_SCHEMA, disk=disk)

    def close(self) -> None:
        self._manifest.close()

    def refuse_if_broken(self) -> None:
        """Raises ``StoreBroken`` where only opening it anew helps."""
        self._manifest.refuse_if_broken()

    def write(self, news: Sequence[CommandAccepted | VectorAdvanced]) -> None:
        """Make commands and their vectors durable, in order, in one transaction."""
        with self._manifest.transaction():
            for one in news:
                if isinstance(one, CommandAccepted):
                    self._accept(one)
                self._advance(one.vector)

    def _accept(self, accepted: CommandAccepted) -> None:
        command = accepted.command
        if isinstance(command, Install):
            self._manifest.run(
                "INSERT OR REPLACE INTO installs VALUES (?, ?)",
                (str(command.query.id), msgspec.msgpack.encode(command)),
            )
        else:
            self._manifest.run("DELETE FROM installs WHERE id = ?", (str(command.id),))

    def _advance(self, vector: Mapping[str, int]) -> None:
        self._manifest.run_many(
            "INSERT INTO vector VALUES (?, ?) ON CONFLICT DO UPDATE "
            "SET counter = max(counter, excluded.counter)",
            vector.items(),
        )

    def next_counter(self, site: str) -> int:
        """A number for a command of this site: higher than all before, also after a crash.

        It is above the vector too: a site that lost its disk learns from its peers how far its
        former self had counted, and must not use a number twice.
        """
        with self._manifest.transaction():
            (number,) = self._manifest.one(
                "SELECT 1 + max(coalesce((SELECT last FROM counters WHERE site = ?1), 0), "
                "coalesce((SELECT counter FROM vector WHERE installer = ?1), 0))",
                (site,),
            )
            self._manifest.run("INSERT OR REPLACE INTO counters VALUES (?, ?)", (site, number))
        return int(number)

    def live(self) -> list[Install]:
        """The queries that were installed and not removed."""
        rows = self._manifest.all("SELECT command FROM installs ORDER BY id")
        return [msgspec.msgpack.decode(command, type=Install) for (command,) in rows]

    def vector(self) -> dict[str, int]:
        """Installer to the number up to which all of its commands are known."""
        return dict(self._manifest.all("SELECT installer, counter FROM vector"))
