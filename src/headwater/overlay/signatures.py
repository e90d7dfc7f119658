"""Who has said a word: signed by its speaker, and believed by nobody without that.

A machine is handed these. In an agent they are ECDSA over bytes (``net/signing.py``), in the
simulator a key is an object that only its owner has. The rest of the overlay is the same in both.
"""

from __future__ import annotations

from typing import Protocol

from headwater.algebra.acknowledgement import Acknowledgement
from headwater.algebra.site_state import SiteState


class Signatures(Protocol):
    """What one member can sign, and how it looks at what others have signed."""

    def sign_state(self, state: SiteState) -> SiteState:
        """The same, with this member's proof."""

    def sign_ack(self, ack: Acknowledgement) -> Acknowledgement:
        """The same, with this member's proof. Its age is no part of the word."""

    def is_state_of(self, site: str, state: SiteState) -> bool:
        """Whether this site has said exactly that."""

    def is_ack_of(self, root: str, ack: Acknowledgement) -> bool:
        """Whether this root has said exactly that."""


class Unsigned:
    """Nobody signs and everybody is believed: for a machine that is looked at alone."""

    def sign_state(self, state: SiteState) -> SiteState:
        return state

    def sign_ack(self, ack: Acknowledgement) -> Acknowledgement:
        return ack

    def is_state_of(self, site: str, state: SiteState) -> bool:
        return True

    def is_ack_of(self, root: str, ack: Acknowledgement) -> bool:
        return True


UNSIGNED = Unsigned()
