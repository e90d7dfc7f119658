"""Agents that greet each other compare their rosters, over real TLS on loopback."""

from typing import Any

import msgspec
import pytest

from headwater.net import notices


@pytest.mark.parametrize("dialler", ["alpha", "bravo"])
def test_two_rosters_of_one_version_make_no_link_and_both_sides_hear_why(
    live: Any, kit: Any, dialler: str
) -> None:
    async def test(federation: Any) -> None:
        _, heard_by_alpha = await federation.start("alpha")
        _, heard_by_bravo = await federation.start("bravo", roster_digest=b"another")
        (other,) = {"alpha", "bravo"} - {dialler}
        federation.networks[dialler].dial(other)
        dialled = federation.networks[other]
        await kit.eventually(lambda: dialled.stats().refused.get("other roster") == 1)
        await kit.eventually(
            lambda: federation.networks[dialler].stats().refused.get("refused us") == 1
        )
        assert heard_by_alpha.ups == heard_by_bravo.ups == []
        texts = dict(federation.notices)
        assert f"{dialler} has another roster of version 1" in texts["other roster"]
        assert f"{other} says: other roster: {dialler} has another roster" in texts["refused us"]

    live(test)


def test_who_is_dialled_says_its_roster_too(live: Any, kit: Any) -> None:
    """An agent that does not compare must not decide for one that does."""

    async def test(federation: Any) -> None:
        alpha, _ = await federation.start("alpha")
        bravo, heard_by_bravo = await federation.start("bravo", roster_digest=b"another")
        alpha._decide_roster = lambda hello: None
        bravo.dial("alpha")
        await kit.eventually(lambda: bravo.stats().refused.get("other roster") == 1)
        assert heard_by_bravo.ups == []

    live(test)


def test_different_versions_make_a_link_and_the_older_one_is_told_at_both_sides(
    live: Any, kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "NOTICE_EVERY_S", 0.0)

    async def test(federation: Any) -> None:
        newer = msgspec.structs.replace(kit.roster(), version=2)
        _, heard_by_alpha = await federation.start("alpha", roster=newer, roster_digest=b"new")
        bravo, heard_by_bravo = await federation.start("bravo")
        bravo.dial("alpha")
        await heard_by_alpha.until(lambda ear: ear.ups == ["bravo"])
        await heard_by_bravo.until(lambda ear: ear.ups == ["alpha"])
        told = [text for kind, text in federation.notices if kind == "older roster"]
        assert len(told) == 2, "once for a link, not for each of its connections"
        assert any("bravo has version 1 of the roster, which is older" in text for text in told)
        assert any("alpha has version 2 of the roster, and this agent 1" in text for text in told)

    live(test)
