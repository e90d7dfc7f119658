"""A site reads a source once for all its queries, by its name: no query gets another's lines."""

from __future__ import annotations

import msgspec
import pytest
from query_kit import changed
from tests.node.test_admission_everywhere import (
    GOOD,
    OTHER,
    count_of,
    drive,
    install,
    node_at,
    words,
)

from headwater.node import effects as do
from headwater.node.node import Node
from headwater.overlay.messages import CommandMessage, CommandsKnown
from headwater.plan.query import Query
from headwater.plan.sources.source import SourceFormat


def elsewhere(query: Query, **changes: object) -> Query:
    """A source of the same name over other files, or read in another way."""
    source = msgspec.structs.replace(query.program.source, **changes)
    return changed(query, source=source)


def begun(effects: list[do.Effect]) -> list[str]:
    return [one.query.id.name for one in effects if isinstance(one, do.Installed)]


def linked() -> Node:
    node = node_at("s1")
    node.restore(commands=[], counts=[], now_s=10.0)
    node.link_up("s0", now_s=10.0)
    return node


@pytest.mark.parametrize(
    "change",
    [{"path": "free.log"}, {"options": (("delimiter", ";"),)}, {"format": SourceFormat.TSV}],
)
def test_a_source_of_the_same_name_waits_until_nobody_reads_the_first(
    change: dict[str, object],
) -> None:
    node = linked()
    node.receive("s0", CommandMessage(install(GOOD)), now_s=11.0)
    assert begun(drive(node)) == ["slow"]
    node.receive("s0", CommandMessage(install(elsewhere(OTHER, **change))), now_s=23.0)
    effects = drive(node)
    assert begun(effects) == []
    (said,) = words(effects, "waits")
    assert "slow@s2#1 reads another source called 'hits' here" in said
    assert list(node.waits()) == [str(OTHER.id)]
    known = CommandsKnown((count_of(2, OTHER),), (str(OTHER.id),))  # the first one was removed
    node.receive("s0", known, now_s=24.0)
    node.tick(now_s=25.0)
    effects = [one for one in node.take() if isinstance(one, do.Withdrawn | do.Installed)]
    assert [type(one) for one in effects] == [do.Withdrawn, do.Installed]
    assert begun(effects) == ["other"]
    assert node.waits() == {}


def test_the_same_source_in_other_words_does_not_wait() -> None:
    node = linked()
    node.receive("s0", CommandMessage(install(GOOD)), now_s=11.0)
    node.receive("s0", CommandMessage(install(elsewhere(OTHER, text="-- hm"))), now_s=12.0)
    assert begun(drive(node)) == ["slow", "other"]


def test_it_waits_after_a_start_as_well() -> None:
    node = node_at("s1")
    both = [install(GOOD), install(elsewhere(OTHER, path="free.log"))]
    node.restore(commands=both, counts=[count_of(2, GOOD, OTHER)], now_s=10.0)
    assert begun(drive(node)) == ["slow"]
