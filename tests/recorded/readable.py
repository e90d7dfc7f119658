"""Values of agents as plain data that people read, and that a later version is held against.

What a recording says must be found again, with the same value; what a later version has beside it
is its own business (``missing_in``). So fields may be added, and a field that is gone or has
changed its meaning is seen.
"""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from headwater.agent.stores import RESULTS, SiteStores
from headwater.net.transport.hello import PROTOCOL, PROTOCOL_OLDEST
from headwater.plan.flat_query import FlatQuery
from headwater.plan.query import Query
from headwater.store.commands import COMMANDS_SCHEMA
from headwater.store.cube.cube_schema import CUBE_SCHEMA
from headwater.store.ledger.root_schema import ROOT_SCHEMA
from headwater.store.results.results import ResultsReader

BYTES_SHOWN_MAX = 40
"""Longer ones are shown by their digest."""
MISSING_NAMED_MAX = 8
RECORDED_AS = {"RootPulse": "RootSign"}
"""Values that have another name in our code since: their bytes have none."""


def readable(value: Any) -> Any:
    """Plain data, as JSON has it."""
    if isinstance(value, Query):
        return {**readable(FlatQuery.of(value)), "is": "Query"}
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        shown = {k: readable(v) for k, v in fields.items() if v is not msgspec.UNSET}
        name = type(value).__name__
        return {"is": RECORDED_AS.get(name, name), **shown}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return _shown_bytes(value)
    if isinstance(value, pa.Table):
        return {"columns": [f"{f.name} {f.type}" for f in value.schema], "rows": _rows(value)}
    if isinstance(value, dict):
        return {str(key): readable(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [readable(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(readable(one) for one in value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def _shown_bytes(value: bytes) -> str:
    if len(value) <= BYTES_SHOWN_MAX:
        return value.hex()
    return f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()[:16]}"


def _rows(table: pa.Table) -> list[list[str]]:
    columns = [[str(value) for value in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def missing_in(found: Any, recorded: Any, *, at: str = "") -> list[str]:
    """What a recording says and is not there, or not the same: places, with both values."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        gone = [f"{at}.{key}: gone" for key in recorded if key not in found]
        both = [key for key in recorded if key in found]
        inner = (missing_in(found[key], recorded[key], at=f"{at}.{key}") for key in both)
        return [*gone, *(one for each in inner for one in each)][:MISSING_NAMED_MAX]
    if isinstance(recorded, list) and isinstance(found, list) and len(found) == len(recorded):
        pairs = enumerate(zip(found, recorded, strict=True))
        lists = (missing_in(one, other, at=f"{at}[{n}]") for n, (one, other) in pairs)
        return [one for each in lists for one in each][:MISSING_NAMED_MAX]
    same = found == recorded and type(found) is type(recorded)
    return [] if same else [f"{at}: recorded {_short(recorded)}, found {_short(found)}"]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}…"


def laid_out(value: Any, depth: int = 4) -> str:
    """JSON with a line for each thing down to this depth: changes of a recording can be read."""
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, sort_keys=True)
    inner = (f"{json.dumps(k)}: {laid_out(v, depth - 1)}" for k, v in sorted(value.items()))
    return "{\n" + ",\n".join(inner) + "\n}"


def formats() -> dict[str, int]:
    """The numbers of the formats that this version writes."""
    return {
        "protocol": PROTOCOL,
        "oldest protocol": PROTOCOL_OLDEST,
        "commands": COMMANDS_SCHEMA.newest,
        "cube": CUBE_SCHEMA.newest,
        "root ledger": ROOT_SCHEMA.newest,
    }


def inventory_of(directory: Path, site: str) -> dict[str, Any]:
    """All that an agent takes up from its directory, and what it has published."""
    stores = SiteStores(directory, site=site, clock=lambda: 0.0)
    try:
        return {
            "incarnation": stores.cube.incarnation,
            "root incarnation": stores.ledger.incarnation,
            "installs": _by(stores.commands.live(), lambda one: str(one.query.id)),
            "counts": _by(stores.commands.counts(), lambda one: one.installer),
            "cube": _by(stores.cube.restore(), lambda one: one.query),
            "updates": _updates(stores),
            "waiting cuts": {name: _waiting(stores, name) for name in stores.cube.cuts.names()},
            "ledger": {query: _ledger(stores, query) for query in stores.ledger.queries()},
            "alarms": readable(stores.ledger.alarms()),
            "answers": _answers(directory / RESULTS),
        }
    finally:
        stores.close()


def _by(found: list[Any], key: Any) -> dict[str, Any]:
    return {key(one): readable(one) for one in found}


def _updates(stores: SiteStores) -> dict[str, Any]:
    """The rows of each update, as the cube would send them again."""
    return {
        f"{kept.query} pane {pane.pane} update {number}": readable(
            stores.cube.rows(kept.query, pane.pane, ((number, number),))
        )
        for kept in stores.cube.restore()
        for pane in kept.panes
        for number in range(1, pane.updates + 1)
    }


def _waiting(stores: SiteStores, source: str) -> dict[str, Any]:
    """Lines that are cut and in no committed batch."""
    state = stores.cube.cuts.state(source)
    files = stores.cube.cuts.files(state)
    return {
        "committed": state.committed_cut,
        "cut": state.last_cut,
        "read through": {file.path: file.position for file in files},
    }


def _ledger(stores: SiteStores, query: str) -> dict[str, Any]:
    kept = stores.ledger.restore(query)
    panes = sorted({one.pane for one in kept.summaries if one.has_rows})
    last, kept_rows = kept.last_number, stores.ledger.rows
    rows = {
        str(pane): [readable(one) for one in kept_rows.pane_parts(query, pane, kept_through=last)]
        for pane in panes
    }
    return {"kept": readable(kept), "rows": rows}


def _answers(directory: Path) -> dict[str, Any]:
    if not directory.is_dir():
        return {}
    found = {}
    for stream in sorted(path.name for path in directory.iterdir()):
        reader = ResultsReader(directory / stream)
        found[stream] = {
            f"{seq} window {envelope.window}": {
                "envelope": readable(envelope),
                "rows": readable(reader.answer(seq, envelope)),
            }
            for seq in reader.publications()
            for envelope in reader.envelopes(seq)
        }
    return found
