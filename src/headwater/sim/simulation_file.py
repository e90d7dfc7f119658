"""A simulation as a small file: a world, a query, a workload, clocks, troubles.

::

    seed = 7
    duration = 180

    [world]
    kind = "transit-stub"
    sites = 680

    [[faults]]
    kind = "nodes"
    share = 0.2
    from = 60
    until = 120

All times are seconds. What is left out has a default; what is wrong is refused with its place,
what was wanted, what came, and what there is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from headwater.errors import ConfigurationError
from headwater.overlay.config import OverlayConfig

WorldKind = Literal["transit-stub", "planetlab", "seattle", "wondernetwork", "plane"]
ClockKind = Literal["perfect", "uniform", "normal", "planetlab"]
FaultKind = Literal[
    "nodes",
    "links",
    "rolling",
    "churn",
    "partition",
    "one-way",
    "lossy",
    "slow",
    "straggler",
    "clock",
    "restart",
    "disk-loss",
    "slow-machine",
]
Checks = Literal["full", "light"]
TimeName = Literal["event", "age"]
SITES_MAX = 20_000
MEASURED: tuple[WorldKind, ...] = ("planetlab", "seattle", "wondernetwork")
FULL_SITES_MAX = 100
"""Up to so many sites, checks are full unless the file says otherwise."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every table refuses what it does not know."""


class WorldPart(_Table, frozen=True):
    kind: WorldKind = "transit-stub"
    sites: int | None = None
    """None: as many as a measured world has, or 100."""
    seed: int | None = None
    """Of the world alone; None: the simulation's."""
    data: str = ""
    """The directory of measured latencies; relative to the file."""
    slice: int = 1
    jitter: float = 0.25
    """Delays are longer by up to this share, by chance."""
    undialable: float = 0.0
    """The share of sites that nobody can dial."""


class QueryPart(_Table, frozen=True):
    window: float = 1.0
    slide: float | None = None
    """None: as long as the window."""
    trees: int = 4
    branching: int = 16
    deadline: float = 4.0
    time: TimeName = "event"
    """What places a record: its own timestamp, or its age and the root's clock."""
    disorder: float = 0.0
    lateness: float = 600.0
    revise_every: float = 1.0
    install_at: float = 2.0
    begin_after: float = 10.0
    """After the install, so that sites have it when the first window begins."""
    answer_takes: float = 0.1
    """What Spark needs for an answer at the root."""


class WorkloadPart(_Table, frozen=True):
    records_per_s: float = 1.0
    """At each site."""
    arrivals: Literal["even", "poisson"] = "even"
    late_share: float = 0.0
    late: float = 10.0
    """Late records come up to this long after their time."""
    poll_every: float = 1.0
    """How often a site looks for new input."""
    polls: Literal["free", "aligned"] = "free"
    """Free: each site in a rhythm of its own. Aligned: all within a tenth of a second after each
    multiple of ``poll_every`` on their own clocks, as an operator that closes windows by time."""
    batch_takes: float = 0.1
    """What Spark needs for a batch at a site, at most."""


class ClocksPart(_Table, frozen=True):
    kind: ClockKind = "perfect"
    scale: float = 1.0
    """Offsets are multiplied by this."""
    spread: float = 0.1
    """Uniform: the largest offset. Normal: the standard deviation."""
    drift_ppm: float = 0.0
    """Each clock runs faster or slower by up to so many millionths."""


class RoutingPart(_Table, frozen=True):
    last_resort: bool = True
    striping: bool = True
    aggregation: bool = True
    """False: relays pass everything on unmerged."""
    placement: Literal["coordinates", "regions"] = "coordinates"


class FaultPart(_Table, frozen=True, rename={"from_s": "from", "until_s": "until"}):
    kind: FaultKind
    from_s: float = 30.0
    until_s: float | None = None
    """None: to the end."""
    share: float | None = None
    """Of the sites, or of the trees' links."""
    names: tuple[str, ...] = ()
    """Sites; for kinds of links, pairs as "child-parent"."""
    shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4)
    """Rolling: one after the other."""
    down: float = 60.0
    """Rolling: how long each lasts."""
    up: float = 60.0
    """Rolling: how long all is well in between."""
    every: float = 10.0
    """Churn: how often some come back and others go."""
    swap: float = 0.5
    """Churn: the share of those gone that come back each time."""
    how: Literal["disconnect", "crash"] = "disconnect"
    bytes_per_s: float = 2_000.0
    lost: float = 0.05
    delay: float = 2.0
    """Straggler: by how much a batch takes longer."""
    factor: float = 100.0
    """Slow machine: how many times as long everything takes that its agent handles."""
    step: float = 5.0
    """Clock: by how much it is set."""
    down_for: float = 5.0
    """Restart and disk loss: until the process is back."""


class SimulationFile(_Table, frozen=True):
    seed: int = 1
    duration: float = 120.0
    checks: Checks | None = None
    world: WorldPart = WorldPart()
    query: QueryPart = QueryPart()
    workload: WorkloadPart = WorkloadPart()
    clocks: ClocksPart = ClocksPart()
    routing: RoutingPart = RoutingPart()
    overlay: dict[str, float] = {}
    """Of the overlay's tuning: see ``OverlayConfig``."""
    faults: tuple[FaultPart, ...] = ()

    def __post_init__(self) -> None:
        for where, problem in _problems(self):
            raise ConfigurationError(f"{where}: {problem}")


def read_simulation(path: Path) -> SimulationFile:
    """The file, checked; a relative data directory counts from it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{path}: can't be read: {error.strerror}; name a simulation's file"
        ) from None
    simulation = parse_simulation(text, where=str(path))
    if simulation.world.data:
        data = (path.parent / simulation.world.data).resolve()
        world = msgspec.structs.replace(simulation.world, data=str(data))
        simulation = msgspec.structs.replace(simulation, world=world)
    return simulation


def parse_simulation(text: str, *, where: str = "simulation") -> SimulationFile:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{where}: not a TOML file, and one is wanted: {error}") from None
    _refuse_unknown(content, where)
    try:
        return msgspec.convert(content, SimulationFile)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{where}: {_as_text(error, content)}") from None
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


_TABLES: dict[str, type[msgspec.Struct]] = {
    "world": WorldPart,
    "query": QueryPart,
    "workload": WorkloadPart,
    "clocks": ClocksPart,
    "routing": RoutingPart,
    "faults": FaultPart,
}


def _refuse_unknown(content: Mapping[str, Any], where: str) -> None:
    """Before anything else, because a misspelt name is the most frequent mistake."""
    _refuse(f"{where}:", content, [field.encode_name for field in _fields(SimulationFile)])
    for name, table in content.items():
        kind = _TABLES.get(name)
        entries = table if isinstance(table, list) else [table]
        known = [field.encode_name for field in _fields(kind)] if kind else []
        if name == "overlay":
            known = list(OverlayConfig.__struct_fields__)
        for number, entry in enumerate(entries, start=1):
            if isinstance(entry, dict) and known:
                of = f" {number}" if isinstance(table, list) else ""
                _refuse(f"{where}: [{name}]{of}:", entry, known)


def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _refuse(where: str, content: Mapping[str, Any], known: list[str]) -> None:
    for name in content:
        if name not in known:
            raise ConfigurationError(f"{where} unknown {name!r}; there are: {', '.join(known)}")


def _as_text(error: msgspec.ValidationError, content: Mapping[str, Any]) -> str:
    """What came, and where, beside msgspec's own words; the choices where there are some."""
    text, _, path = str(error).partition(" - at `$.")
    place = path.rstrip("`")
    came = _at(content, place)
    choices = {
        "query.time": TimeName,
        "world.kind": WorldKind,
        "clocks.kind": ClockKind,
        "checks": Checks,
    }
    kind: Any = FaultKind if place.endswith("kind") and "faults" in place else choices.get(place)
    wanted = f"; there are: {', '.join(get_args(kind))}" if kind is not None else ""
    return f"{place or 'file'}: {text[0].lower()}{text[1:]}, got {came!r}{wanted}"


def _at(content: Any, place: str) -> Any:
    for part in place.replace("[", ".").replace("]", "").split("."):
        if isinstance(content, list):
            content = content[int(part)]
        elif isinstance(content, dict):
            content = content.get(part)
    return content


def _problems(file: SimulationFile) -> list[tuple[str, str]]:
    query, world, found = file.query, file.world, []

    def wanted(is_good: bool, where: str, text: str, came: object) -> None:
        if not is_good:
            found.append((where, f"wanted {text}, got {came}"))

    wanted(file.duration > 0, "duration", "more than 0 seconds", file.duration)
    if world.sites is not None:
        wanted(2 <= world.sites <= SITES_MAX, "world.sites", f"2 to {SITES_MAX}", world.sites)
    wanted(0 <= world.undialable < 1, "world.undialable", "a share from 0 to 1", world.undialable)
    wanted(query.window > 0, "query.window", "more than 0 seconds", query.window)
    slide = query.window if query.slide is None else query.slide
    wanted(0 < slide <= query.window, "query.slide", "more than 0, at most the window", slide)
    wanted(1 <= query.trees <= 16, "query.trees", "1 to 16", query.trees)
    wanted(query.branching >= 1, "query.branching", "at least 1", query.branching)
    wanted(query.deadline > 0, "query.deadline", "more than 0 seconds", query.deadline)
    rate = file.workload.records_per_s
    wanted(rate > 0, "workload.records_per_s", "more than 0", rate)
    wanted(
        file.routing.striping,
        "routing.striping",
        "true: panes are always striped over the trees; a query with trees = 1 has one way",
        file.routing.striping,
    )
    begin_s = query.install_at + query.begin_after
    wanted(
        file.duration > begin_s + query.window,
        "duration",
        f"more than query.install_at + begin_after + window = {begin_s + query.window:g}",
        file.duration,
    )
    for number, fault in enumerate(file.faults, start=1):
        found += [(f"[[faults]] {number}", problem) for problem in _problems_with(fault, file)]
    return found


NEEDS_WHOM = (
    "nodes",
    "links",
    "partition",
    "one-way",
    "lossy",
    "slow",
    "straggler",
    "clock",
    "restart",
    "disk-loss",
    "slow-machine",
    "churn",
)


def _problems_with(fault: FaultPart, file: SimulationFile) -> list[str]:
    found = []
    if fault.kind in NEEDS_WHOM and (fault.share is None) == (not fault.names):
        found.append(
            f"{fault.kind}: wanted either share or names, got share = {fault.share}, "
            f"names = {list(fault.names)}"
        )
    if fault.share is not None and not 0 < fault.share < 1:
        found.append(f"{fault.kind}: wanted a share between 0 and 1, got {fault.share}")
    until_s = file.duration if fault.until_s is None else fault.until_s
    if not 0 <= fault.from_s < until_s:
        found.append(f"{fault.kind}: wanted from before until, got {fault.from_s} and {until_s}")
    if fault.from_s >= file.duration:
        found.append(f"{fault.kind}: begins at {fault.from_s} s, after the end at {file.duration}")
    if fault.kind == "slow-machine" and not fault.factor > 1:
        found.append(f"slow-machine: wanted a factor above 1, got {fault.factor}")
    if fault.kind == "lossy" and not 0 < fault.lost < 1:
        found.append(f"lossy: wanted lost as a share between 0 and 1, got {fault.lost}")
    return found
