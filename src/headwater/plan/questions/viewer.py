"""Who has signed a question, where that was a viewer.

A command names its operator. Viewers sign questions, where a site's policy lets them, and are named
with their role, which no operator's name can have in it: an agent that knows nothing of this finds
no such operator, and takes no word of theirs.
"""

from __future__ import annotations

from headwater.plan.altered.site_budget import SiteBudget
from headwater.plan.command import Command, Install

VIEWER = "viewer/"


def signer_name(name: str, *, is_viewer: bool) -> str:
    """
    >>> signer_name("ann", is_viewer=False), signer_name("walter", is_viewer=True)
    ('ann', 'viewer/walter')
    """
    return f"{VIEWER}{name}" if is_viewer else name


def viewer_of(signer: str) -> str | None:
    """The viewer's own name; None: it is an operator.

    >>> viewer_of("viewer/walter"), viewer_of("ann")
    ('walter', None)
    """
    return signer.removeprefix(VIEWER) if signer.startswith(VIEWER) else None


def may_sign(signer: str, command: Command | SiteBudget) -> bool:
    """A viewer's word is a question, and nothing else, whatever any policy says."""
    is_question = isinstance(command, Install) and command.query.asked is not None
    return is_question or viewer_of(signer) is None
