"""What an operator writes down for one agent: a TOML file, checked when it is read.

Paths are relative to the file, so a directory with a configuration, certificates and state can be
moved as it is. A key that does not exist is refused, with the keys that do: a limit that was
misspelt must not silently stay at its default.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from headwater.agent.asking.ask_config import AskConfig
from headwater.agent.care.host import HostConfig
from headwater.agent.control.rights import OperatorRights
from headwater.agent.input.declarations import SourceDeclaration, read_declarations
from headwater.algebra.byte_rate import bytes_per_s_of
from headwater.edge.batches.batch_times import BatchLimits
from headwater.edge.config import EdgeConfig
from headwater.errors import ConfigurationError
from headwater.net.identity.roster_text import PORT_MAX
from headwater.net.identity.toml_hint import hint
from headwater.overlay.config import OverlayConfig
from headwater.overlay.links.link_budgets import CONTROL_SHARE_MAX, LinkBudgets
from headwater.plan.roster import Roster
from headwater.root.config import RootConfig
from headwater.store.cube.row_limit import GROWING_ROWS_MAX
from headwater.store.cube.update_maker import SUMMARY_BYTES_MAX
from headwater.store.owner_alone import Readers

T = TypeVar("T", bound=msgspec.Struct)


def _check_port(name: str, port: int) -> None:
    if not 0 <= port <= PORT_MAX:
        raise ValueError(f"{name}: wanted a port from 0 to {PORT_MAX}, got {port}")


class ListenConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 for all."""
    port: int = 0
    """The port that the roster names for this site."""

    def __post_init__(self) -> None:
        _check_port("listen.port", self.port)


class TlsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ca: str = "certs/ca.pem"
    """The federation's CA; several certificates while one is replaced by another."""
    certificate: str = "certs/site.pem"
    """This site's own."""
    key: str = "certs/site.key"
    """Its key, readable by the agent's user alone."""
    deny: str = "certs/denied"
    """Serials of certificates that are refused, one a line. No file: nobody is, and the agent's log
    says so at the start."""


class SparkSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``mode = "none"`` makes a relay: it carries and merges, but reads and answers nothing."""

    mode: str = "local"
    """``local``: this agent starts a Spark; ``none``: it has none."""
    master: str = "local[*]"
    """Spark's master: a number of cores here, or a cluster."""
    memory: str = "512m"
    """The driver's heap; with a local master that is all the heap there is."""
    settings: dict[str, str] = {}
    """Any setting of Spark; they win over ours."""
    shared: str | None = None
    """With a cluster, which needs it: a directory that this machine and all executors see under the
    same path. What passes between them lies there for as long as it takes."""
    secret: str | None = None
    """With a standalone cluster that is not on loopback, which needs it: the file with the
    cluster's secret, readable by the agent's user alone."""
    query_batch_s_max: float = 300.0
    """A query's job in a batch that takes longer is cancelled: the panes of the batch are declined
    (limit), and it counts as a failure."""
    answer_s_max: float = 600.0
    """How long Spark may take for the answers of a query; then the job is cancelled, and tried
    again later. After ``over_limit_max`` of the root in a row the query is suspended there."""

    def __post_init__(self) -> None:
        for name in ("answer_s_max", "query_batch_s_max"):
            if getattr(self, name) <= 0:
                raise ValueError(f"spark.{name}: wanted more than 0, got {getattr(self, name)}")
        if self.shared is not None and "://" in self.shared:
            raise ValueError(
                f"spark.shared: wanted a directory, got {self.shared!r}; an object store has to be "
                "mounted, here and at all workers, under the same path"
            )
        if self.mode not in ("local", "none"):
            raise ValueError(f'spark.mode: wanted "local" or "none", got {self.mode!r}')


class SourcesConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where this site lets queries read: files of declared sources, as they are declared, and
    everything else below ``data`` and ``open``, which are for free use. There a query says itself
    what a file's columns are, so no column is protected. Any other path is refused."""

    data: str = "data"
    """What relative paths in ``CREATE SOURCE`` are relative to; for free use."""
    open: tuple[str, ...] = ()
    """Further directories for free use, for absolute paths."""
    declared: tuple[SourceDeclaration, ...] = ()
    """Tables ``[[sources.declared]]``: sources with a level for each column, see below."""
    declared_only: bool = False
    """Whether declared sources are all that is read here: nothing is for free use."""
    poll_s: float = 1.0
    """How often files are looked at, beside the moments at which panes close."""
    spool_bytes_max: int = 2 << 30
    """Input that is taken and not yet committed; beyond, files wait where they are."""
    set_aside_bytes_max: int = 512 << 20
    """Of that, what streams with ``shed`` may have set aside, and half of it at most; beyond, the
    oldest is given up, and its panes are declined (shed)."""
    batch_bytes_max: int = 64 << 20
    """Input of one Spark batch."""
    batch_rows_max: int = 4_000_000
    """Rows that may be expected to come out of one batch, of all queries together, by what came out
    of those before: where they give more, less goes in."""
    batch_s_max: float = 0.5
    """Input waits for the next close of a pane, unless reading it would take longer than this."""
    batch_wait_s_max: float = 15.0
    """And no longer than this, so that progress within long panes, late records and malformed lines
    are seen."""
    catch_up_share: float = 0.5
    """Of its time, what reading the past for late queries may take while live queries have work."""

    def __post_init__(self) -> None:
        if not 0.0 < self.catch_up_share <= 1.0:
            raise ValueError(
                "sources.catch_up_share: wanted more than 0 and at most 1, got "
                f"{self.catch_up_share}"
            )
        above_0 = ("poll_s", "batch_rows_max", "batch_s_max", "batch_wait_s_max")
        for name in (*above_0, "set_aside_bytes_max"):
            if getattr(self, name) <= 0:
                raise ValueError(f"sources.{name}: wanted more than 0, got {getattr(self, name)}")

    @property
    def batch_limits(self) -> BatchLimits:
        return BatchLimits(self.batch_s_max, self.batch_wait_s_max, self.catch_up_share)


class PolicyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What this site refuses, whoever asks."""

    installers: tuple[str, ...] = ()
    """Sites whose queries are admitted; empty: all of the federation."""
    operators: tuple[OperatorRights, ...] = ()
    """Tables ``[[policy.operators]]``: who may do what here, see below; none: every operator
    everything, and every viewer read."""


SUMMARY_BYTES_MIN = 4 << 10
"""Smaller updates would be mostly what stands around their rows."""


class CubeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    retention_s: float = 7 * 86_400.0
    """How long panes are kept after their last write; also the default lateness of queries."""
    retention_bytes: int = 10 << 30
    """What they may take on disk; beyond, the oldest acknowledged panes go first."""
    growing_rows_max: int = GROWING_ROWS_MAX
    """Rows that a pane of one query may have where that grows with the values in the data, as in
    count(DISTINCT x); beyond, the pane is declined (limit)."""
    summary_bytes_max: int = SUMMARY_BYTES_MAX
    """What has more bytes, before they are packed, leaves as several updates. On a narrow link
    nothing overtakes one that has begun to leave, so there smaller ones let others pass."""

    def __post_init__(self) -> None:
        if not SUMMARY_BYTES_MIN <= self.summary_bytes_max <= SUMMARY_BYTES_MAX:
            raise ValueError(
                f"cube.summary_bytes_max: wanted {SUMMARY_BYTES_MIN} to {SUMMARY_BYTES_MAX}, "
                f"got {self.summary_bytes_max}"
            )
        if self.growing_rows_max <= 0:
            raise ValueError(
                f"cube.growing_rows_max: wanted more than 0, got {self.growing_rows_max}"
            )


def _rate_of(name: str, text: str | None) -> float | None:
    try:
        return None if text is None else bytes_per_s_of(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


class LinkToConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What this agent may send to one neighbour, by its name in the roster. Of this and the budget
    of all links the least counts."""

    budget: str
    """Bits or bytes a second, as in `[links]`."""


class LinksConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What this agent may send over its links, as the interface counts it: with frames, TLS, TCP
    and IP headers, acknowledgements and handshakes. Without a budget: whatever TCP carries."""

    budget: str | None = None
    """Of all links together: ``200 kbit/s``, ``25 kB/s``, ``1.5 Mbit/s``; absent: no limit."""
    control_share_max: float = CONTROL_SHARE_MAX
    """Of a budget, for heartbeats, acknowledgements, states and commands while data wait."""
    to: dict[str, LinkToConfig] = {}
    """Tables ``[links.to.NAME]``: budgets of single links, see below."""

    def __post_init__(self) -> None:
        if not 0.0 < self.control_share_max < 1.0:
            raise ValueError(
                "links.control_share_max: wanted more than 0 and less than 1, got "
                f"{self.control_share_max}"
            )
        _ = self.budgets

    @property
    def budgets(self) -> LinkBudgets:
        of_links = {
            name: _rate_of(f"links.to.{name}.budget", one.budget) or 0.0
            for name, one in self.to.items()
        }
        return LinkBudgets(_rate_of("links.budget", self.budget), of_links, self.control_share_max)


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    site: str
    """Who this agent is: a name of the roster, and of its certificate."""
    directory: str = "state"
    """Everything that must survive: cube, spool, commands, answers."""
    roster: str = "roster.signed"
    """The list of sites, signed by an operator (``headwater certs roster``); the same at every
    agent."""
    results_readers: Readers = Readers.OWNER
    """Who on this machine may read the answers in ``results`` below ``directory``: ``owner``,
    ``group`` (the agent's own) or ``all``. Everything else is for the agent's user alone."""
    listen: ListenConfig = ListenConfig()
    tls: TlsConfig = TlsConfig()
    spark: SparkSettings = SparkSettings()
    sources: SourcesConfig = SourcesConfig()
    policy: PolicyConfig = PolicyConfig()
    cube: CubeConfig = CubeConfig()
    links: LinksConfig = LinksConfig()
    overlay: OverlayConfig = OverlayConfig()
    edge: EdgeConfig = EdgeConfig()
    root: RootConfig = RootConfig()
    ask: AskConfig = AskConfig()
    host: HostConfig = HostConfig()
    branching: int = 8
    """How many neighbours a member of a tree has below it, about."""
    trees: int = 4
    """Trees of a query, and of the federation: more survive more failures, for more heartbeats."""
    replan_every_s: float = 600.0
    """How often the root of a query looks whether its trees still fit the network."""
    metrics_port: int | None = None
    """Prometheus metrics on this port of loopback; absent: none."""

    def __post_init__(self) -> None:
        if self.replan_every_s <= 0:
            raise ConfigurationError(f"wanted replan_every_s > 0, got {self.replan_every_s}")
        if self.metrics_port is not None:
            _check_port("metrics_port", self.metrics_port)

    @classmethod
    def load(cls, path: Path) -> AgentConfig:
        """The configuration at ``path``, its relative paths made absolute."""
        config = _decode(path, cls)._at(path.resolve().parent)
        try:
            config._check_sources()
        except ConfigurationError as error:
            raise ConfigurationError(f"{path}: {error}") from error
        return config

    def require_budgets(self, roster: Roster) -> None:
        """That links' budgets name neighbours, and let them live. Raises
        ``ConfigurationError``."""
        others = [site.name for site in roster.sites if site.name != self.site]
        least = min(len(others), self.trees)
        self.links.budgets.require_enough(others, link_count=least)

    def _at(self, here: Path) -> AgentConfig:
        """With paths relative to this directory made absolute."""
        config = self

        def absolute(text: str) -> str:
            return str(here / text)

        def absolute_if_any(text: str | None) -> str | None:
            return None if text is None else absolute(text)

        return msgspec.structs.replace(
            config,
            directory=absolute(config.directory),
            roster=absolute(config.roster),
            tls=TlsConfig(*(absolute(p) for p in msgspec.structs.astuple(config.tls))),
            spark=msgspec.structs.replace(
                config.spark,
                shared=absolute_if_any(config.spark.shared),
                secret=absolute_if_any(config.spark.secret),
            ),
            sources=msgspec.structs.replace(
                config.sources,
                data=absolute(config.sources.data),
                open=tuple(absolute(p) for p in config.sources.open),
            ),
        )

    def _check_sources(self) -> None:
        """Declared sources, and that nobody reads their lines where the agent keeps them."""
        sources = self.sources
        declared = read_declarations(sources.declared, data=sources.data)
        state = os.path.realpath(self.directory)
        for free in () if sources.declared_only else (sources.data, *sources.open):
            if declared and Path(state).is_relative_to(os.path.realpath(free)):
                raise ConfigurationError(
                    f"sources: {free} is for free use, and directory ({self.directory}), where the "
                    "lines of declared sources are kept, lies in it; move one of them"
                )


def _decode(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: can't be read: {error.strerror}; name an agent.toml"
        ) from error
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        wanted = "; ".join(filter(None, (str(error), hint(kind, str(error)))))
        raise ConfigurationError(f"{path}: {wanted}") from error
