"""Who has said a word: signed by its speaker, and believed by nobody without that.

A machine is handed these. In an agent they are ECDSA over bytes (``net/identity/signing.py``), in
the simulator a key is an object that only its owner has. The rest of the overlay is the same in
both.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from headwater.algebra.summary import Summary
from headwater.algebra.words.absence import Absence
from headwater.algebra.words.acknowledgement import AckLeaf, Acknowledgement
from headwater.algebra.words.proof import Proof
from headwater.algebra.words.site_state import SiteState
from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Command, Count, Install

T = TypeVar("T")


class Signatures(Protocol):
    """What one member can sign, and how it looks at what others have signed."""

    def sign_state(self, state: SiteState, /) -> SiteState:
        """The same, with this member's proof."""

    def sign_ack(self, ack: Acknowledgement, /) -> Acknowledgement:
        """The same, with this member's proof of its head and the digests of its leaves. Its age is
        no part of the word."""

    def sign_update(self, summary: Summary, /) -> Summary:
        """The same, with this member's proof: it is its own update of its own pane. What changes
        on the way (age, lane, route) is no part of the word."""

    def sign_absence(self, absence: Absence, /) -> Absence:
        """The same, with this member's proof. Its age is no part of the word."""

    def is_absence_of(self, site: str, absence: Absence, /) -> bool:
        """Whether this site has said exactly that of its links."""

    def is_state_of(self, site: str, state: SiteState, /) -> bool:
        """Whether this site has said exactly that."""

    def is_update_of(self, site: str, summary: Summary, /) -> bool:
        """Whether this site has made exactly that update; its coverage names no other site."""

    def sign_plan(self, install: Install, /) -> Install:
        """The same, with this member's proof of the trees."""

    def sign_count(self, count: Count, /) -> Count:
        """The same, with this member's proof."""

    def is_ack_of(self, root: str, ack: Acknowledgement, /) -> bool:
        """Whether this root has said exactly this head."""

    def is_leaf_of(self, head: Acknowledgement, leaf: AckLeaf, /) -> bool:
        """Whether it is the leaf that stands in this head, which is the root's own."""

    def is_plan_of(self, site: str, install: Install, /) -> bool:
        """Whether the trees are this site's word."""

    def is_count_of(self, installer: str, count: Count, /) -> bool:
        """Whether this installer has said exactly that."""

    def is_command_of(
        self, operator: str, command: Command | SiteBudget, /, *, is_counted: bool
    ) -> bool:
        """Whether this operator has commanded exactly that. Of a command that is counted, also
        with a certificate that has ended since."""

    def is_of_present_key(self, proof: Proof | None, /) -> bool:
        """Whether this member would sign with the same key now. One that was renewed since is
        valid for a while, and what it has signed is not believed afterwards."""


def _as_it_is(self: Unsigned, word: T, /) -> T:
    return word


def _believed(self: Unsigned, /, *_: object, **__: object) -> bool:
    return True


class Unsigned:
    """Nobody signs and everybody is believed: where all sites are one program, or for a machine
    that is looked at alone."""

    sign_state = sign_ack = sign_update = sign_plan = sign_count = sign_absence = _as_it_is
    is_state_of = is_update_of = is_ack_of = is_leaf_of = is_plan_of = is_count_of = _believed
    is_command_of = is_of_present_key = is_absence_of = _believed


UNSIGNED = Unsigned()
