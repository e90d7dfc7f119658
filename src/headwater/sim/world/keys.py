"""Keys in the simulator: objects that only their owners have, so that nobody can forge a word.

A proof holds the key and the word that was signed with it. Whoever has a proof can hand it on,
replay it, or put it beside another word, which shows; making one takes the key.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.summary import Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import SiteState
from headwater.algebra.words.update_proof import UpdateProof
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Alter, Command, Count, Install, Remove

OPERATOR = "olga"
"""Who commands in simulated federations."""


class SimulatedKey:
    """One for each site, for ever: where a disk is lost, the certificate is put in place again."""


class SimulatedProof(Proof, frozen=True):
    """What was signed, and with which key."""

    said: object = None
    by: SimulatedKey | None = None


class SimulatedDigest(bytes):
    """Stands for one leaf and no other: what it is of can be looked at, and nothing else."""

    of: AckLeaf

    def __new__(cls, of: AckLeaf) -> SimulatedDigest:
        digest = super().__new__(cls)
        digest.of = of
        return digest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimulatedDigest) and self.of == other.of

    def __hash__(self) -> int:
        return hash(self.of)


class SimulatedUpdateProof(UpdateProof, frozen=True):
    """The same for an update of one pane."""

    said: object = None
    by: SimulatedKey | None = None


def simulated_proof(by: SimulatedKey, said: object) -> SimulatedProof:
    return SimulatedProof(b"", b"", b"", said=said, by=by)


class SimulatedSignatures:
    """What ``Signatures`` are here; ``keys`` are looked at, and only ``own`` is signed with."""

    def __init__(self, own: SimulatedKey, keys: dict[str, SimulatedKey]) -> None:
        self._own = own
        self._keys = keys

    def sign_state(self, state: SiteState) -> SiteState:
        return msgspec.structs.replace(state, proof=self._sign(_state(state)))

    def sign_absence(self, absence: Absence) -> Absence:
        return msgspec.structs.replace(absence, proof=self._sign(_absence(absence)))

    def sign_update(self, summary: Summary) -> Summary:
        proof = SimulatedUpdateProof(
            b"", b"", summary.pane, summary.more, said=_update(summary), by=self._own
        )
        return msgspec.structs.replace(summary, proof=proof)

    def sign_ack(self, ack: Acknowledgement) -> Acknowledgement:
        digests = tuple(SimulatedDigest(leaf) for leaf in ack.leaves)
        whole = msgspec.structs.replace(ack, digests=digests)
        return msgspec.structs.replace(whole, proof=self._sign(_ack(whole)))

    def sign_plan(self, install: Install) -> Install:
        return msgspec.structs.replace(install, plan_proof=self._sign(_plan(install)))

    def sign_count(self, count: Count) -> Count:
        return msgspec.structs.replace(count, proof=self._sign(_count(count)))

    def sign_command(self, command: Command) -> Command:
        """As an operator, whose key this is."""
        command = msgspec.structs.replace(command, operator=OPERATOR)
        return msgspec.structs.replace(command, proof=self._sign(_command(command)))

    def has_signed(self, proof: Proof | UpdateProof | None) -> bool:
        """Whether it is a proof of its own."""
        return isinstance(proof, SimulatedProof | SimulatedUpdateProof) and proof.by is self._own

    def is_state_of(self, site: str, state: SiteState) -> bool:
        return self._is_by(site, state.proof, _state(state))

    def is_absence_of(self, site: str, absence: Absence) -> bool:
        return self._is_by(site, absence.proof, _absence(absence))

    def is_update_of(self, site: str, summary: Summary) -> bool:
        proof, key = summary.proof, self._keys.get(site)
        return (
            isinstance(proof, SimulatedUpdateProof)
            and key is not None
            and proof.by is key
            and proof.holds_for(summary.pane, summary.last)
            and proof.said == _update(summary)
        )

    def is_ack_of(self, root: str, ack: Acknowledgement) -> bool:
        return self._is_by(root, ack.proof, _ack(ack))

    def is_leaf_of(self, head: Acknowledgement, leaf: AckLeaf) -> bool:
        digest = head.digest_of(leaf.number)
        return isinstance(digest, SimulatedDigest) and digest.of == leaf

    def is_plan_of(self, site: str, install: Install) -> bool:
        return self._is_by(site, install.plan_proof, _plan(install))

    def is_count_of(self, installer: str, count: Count) -> bool:
        return self._is_by(installer, count.proof, _count(count))

    def is_command_of(
        self, operator: str, command: Command | SiteBudget, *, is_counted: bool
    ) -> bool:
        if isinstance(command, SiteBudget):
            return False  # nobody commands one here
        return operator == OPERATOR and self._is_by(operator, command.proof, _command(command))

    def is_of_present_key(self, proof: Proof | None) -> bool:
        return isinstance(proof, SimulatedProof) and proof.by is self._own

    def _sign(self, said: object) -> SimulatedProof:
        return simulated_proof(self._own, said)

    def _is_by(self, name: str, proof: Proof | None, said: object) -> bool:
        key = self._keys.get(name)
        return (
            isinstance(proof, SimulatedProof)
            and key is not None
            and proof.by is key
            and proof.said == said
        )


# What is signed: the word without its proof, and without what grows on the way.


def _state(state: SiteState) -> object:
    return msgspec.structs.replace(state, proof=None)


def _absence(absence: Absence) -> object:
    return msgspec.structs.replace(absence, proof=None, age_s=0.0)


def _update(summary: Summary) -> object:
    """The panes are in the proof. Rows are handed on as the object that they are, so that nobody
    compares what is the same."""
    return ("update", summary.query, summary.coverage, summary.rows)


def _ack(ack: Acknowledgement) -> object:
    return msgspec.structs.replace(ack, proof=None, age_s=0.0, late_s=0.0, leaves=())


def _plan(install: Install) -> object:
    return ("plan", install.query.id, install.plan_version, install.trees)


def _count(count: Count) -> object:
    return msgspec.structs.replace(count, proof=None)


def _command(command: Command) -> object:
    if isinstance(command, Remove | Alter):
        return msgspec.structs.replace(command, proof=None)
    return ("install", command.query, command.roster_version, command.operator)
