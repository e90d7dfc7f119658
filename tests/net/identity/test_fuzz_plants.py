"""The fuzzer's target ``envelopes`` finds a signature that nobody looks at: mistakes are planted in
the agents' own check, one at a time, and each must be found within a bounded number of inputs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.algebra.words.proof import Proof
from headwater.net.identity import signing
from headwater.net.identity.signing import KeySignatures, Kind, MemoryKeys

ROOT = Path(__file__).parents[3]
INPUTS_MAX = 120
SEED = 11

Plant = Callable[[pytest.MonkeyPatch], None]


def _unlooked(check: str) -> Plant:
    return lambda patch: patch.setattr(KeySignatures, check, lambda *_, **__: True)


def _any_kind(patch: pytest.MonkeyPatch) -> None:
    true = KeySignatures._is_by
    patch.setattr(
        KeySignatures,
        "_is_by",
        lambda self, who, _, *word: any(true(self, who, kind, *word) for kind in Kind),
    )


def _any_federation(patch: pytest.MonkeyPatch) -> None:
    true = signing._verifies

    def verifies(public: Any, signature: bytes, text: bytes) -> bool:
        head, kind, _, word = text.split(b"\0", 3)
        elsewhere = b"\0".join((head, kind, b"elsewhere", word))
        return true(public, signature, text) or true(public, signature, elsewhere)

    patch.setattr(signing, "_verifies", verifies)


def _any_member(patch: pytest.MonkeyPatch) -> None:
    def of(self: MemoryKeys, _: str, proof: Proof) -> Any:
        return next((key for (_, name), key in self._keys.items() if name == proof.key), None)

    patch.setattr(MemoryKeys, "of", of)


def _any_bytes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(signing, "_verifies", lambda *_: True)


PLANTS: dict[str, Plant] = {
    "states": _unlooked("is_state_of"),
    "acknowledgements": _unlooked("is_ack_of"),
    "leaves": _unlooked("is_leaf_of"),
    "plans": _unlooked("is_plan_of"),
    "counts": _unlooked("is_count_of"),
    "commands": _unlooked("is_command_of"),
    "updates": _unlooked("is_update_of"),
    "any kind": _any_kind,
    "any federation": _any_federation,
    "any member": _any_member,
    "any bytes": _any_bytes,
}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its inputs and its world are made before anything is planted."""
    monkeypatch.syspath_prepend(ROOT)
    from fuzz.targets import TARGETS

    found = TARGETS["envelopes"]
    found.run(found.good()[0])
    return found


@pytest.mark.parametrize("plant", PLANTS)
def test_a_signature_that_nobody_looks_at_is_found(
    target: Any, monkeypatch: pytest.MonkeyPatch, plant: str
) -> None:
    PLANTS[plant](monkeypatch)
    inputs, chance = target.good(), random.Random(SEED)
    found = next(
        (tried for tried in range(INPUTS_MAX) if _is_found(target, target.draw(inputs, chance))),
        None,
    )
    assert found is not None, f"{INPUTS_MAX} inputs have not shown it"


def _is_found(target: Any, data: bytes) -> bool:
    try:
        target.run(data)
    except AssertionError:
        return True
    return False
