"""Malformed lines at a site: why they are, and that values of protected columns stay unseen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from feeder_kit import Site, running, until, with_site

from headwater.agent.config import SourcesConfig
from headwater.agent.input import feeder
from headwater.agent.input.declarations import SourceDeclaration
from headwater.agent.input.site_sources import SiteSources
from headwater.algebra.words.malformed import Malformed
from headwater.reading.outcome import Batch, SiteOutcome

MANY = Malformed(reason="bytes: wanted bigint", lines=3, came="many", sample="12:00,/a,many")
FEW = Malformed(reason="wanted 3 fields, got 1", lines=1, came=None, sample="broken")


async def commit(site: Site, *kinds: Malformed, lines: int, unparsed: int, **more: Any) -> None:
    """One more batch."""
    state = site.cube.cuts.state("weblog")
    cut = state.committed_cut + 1
    site.write(f"line {cut}")
    await site.until_cut("weblog", cut)
    followed = site.feeder.followed["weblog"]
    wanted = followed.line_count + lines
    epoch = site.feeder.inbox.new_epoch("weblog")
    outcome = SiteOutcome((), lines - unparsed, unparsed, kinds, lines=lines, **more)
    site.feeder.inbox.commit(Batch("weblog", epoch, 0, cut), outcome)
    await until(lambda: followed.line_count == wanted)


def declared(level: str) -> SourceDeclaration:
    """The source of the kit's query, with a level for its columns."""
    from store_kit import query_of

    source = query_of(counter=1).program.source
    columns = ", ".join(f"{one.name} {one.type}" for one in source.columns)
    options = f"format = '{source.format}', path = 'weblog*.log', time = '{source.time_column}'"
    levels = {one.name: level for one in source.columns}
    return SourceDeclaration(f"CREATE SOURCE weblog ({columns}) WITH ({options})", levels)


@with_site
async def test_reasons_of_all_batches_add_up(site: Site) -> None:
    await site.install(1)
    await commit(site, MANY, FEW, lines=10, unparsed=4)
    await commit(site, MANY, lines=5, unparsed=3)
    followed = site.feeder.followed["weblog"]
    assert followed.malformed == (msgspec.structs.replace(MANY, lines=6), FEW)
    assert (followed.line_count, followed.record_count, followed.unparsed_count) == (15, 8, 7)


def test_too_many_are_a_notice_once_and_a_remark_without_values(tmp_path: Path) -> None:
    told: list[tuple[str, ...]] = []

    def remarked(source: str, remarks: tuple[Any, ...]) -> None:
        told.append(tuple(remark.kind for remark in remarks))

    async def run() -> None:
        async with running(tmp_path, remarked=remarked) as site:
            await site.install(1)
            await commit(site, FEW, lines=100, unparsed=1)
            assert site.feeder.remarks(site.query(1)) == ()
            for _ in range(3):
                await commit(site, MANY, lines=10, unparsed=3)
            (kind,) = {kind for kind, _ in site.notices if kind != "no file"}
            assert kind == "malformed"
            assert len([kind for kind, _ in site.notices if kind == "malformed"]) == 1
            (remark,) = site.feeder.remarks(site.query(1))
            assert "bytes: wanted bigint" in remark.text
            assert "many" not in remark.text.replace(MANY.reason, "")
            assert told[-1] == ("malformed",)
            assert site.feeder.line_counts() == {"weblog": (130, 10)}
            assert site.feeder.remark_counts() == {"malformed": 1}

    asyncio.run(run())


@pytest.mark.parametrize(("level", "is_shown"), [("free", True), ("aggregated", False)])
def test_where_a_column_is_protected_no_value_is_kept_or_logged(
    tmp_path: Path, level: str, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comma too many, and it stands where another column is."""

    async def run() -> None:
        async with running(tmp_path, declared=(declared(level),)) as site:
            await site.install(1)
            await commit(site, MANY, FEW, lines=10, unparsed=4)
            kinds = site.feeder.followed["weblog"].malformed
            assert [kind.reason for kind in kinds] == [MANY.reason, FEW.reason]
            assert [kind.sample is not None for kind in kinds] == [is_shown] * 2
            assert (kinds[0].came == "many") is is_shown

    logged: list[str] = []
    log = SimpleNamespace(info=lambda event, **more: logged.append(f"{event} {more}"))
    monkeypatch.setattr(feeder, "log", log)
    asyncio.run(run())
    said = "\n".join(logged)
    assert "bytes: wanted bigint" in said
    assert ("broken" in said) is is_shown


def test_a_source_that_the_site_would_refuse_shows_nothing(tmp_path: Path) -> None:
    from store_kit import query_of

    sources = SiteSources(SourcesConfig(data=str(tmp_path), declared_only=True))
    assert not sources.is_free(query_of(counter=1).program.source)
    assert SiteSources(SourcesConfig(data=str(tmp_path))).is_free(
        query_of(counter=1).program.source
    )
