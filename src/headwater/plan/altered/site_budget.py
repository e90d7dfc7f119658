"""What an operator has told one agent to send at most: a command that no other agent needs.

It goes to that agent alone, and counts instead of what its file says until another one comes, also
after a restart. Commands of an agent are numbered, so that an old one can't be given again.
"""

from __future__ import annotations

import msgspec

from headwater.algebra.bounds import Name, Number
from headwater.algebra.byte_rate import BYTES_PER_S_MAX, rate_text
from headwater.algebra.words.proof import Proof

ALL_LINKS = ""


class SiteBudget(msgspec.Struct, frozen=True):
    site: str
    """Whose."""
    to: str
    """To which neighbour; ``ALL_LINKS``: all links together."""
    number: int
    """Above those of all former ones of this agent."""
    bytes_per_s: float | None
    """None: no limit, or ``is_by_file``."""
    is_by_file: bool = False
    """As the agent's file says again."""
    operator: str = ""
    proof: Proof | None = None

    def fault(self) -> str | None:
        rate = self.bytes_per_s
        if rate is not None and not 0.0 < rate <= BYTES_PER_S_MAX:
            most = rate_text(BYTES_PER_S_MAX)
            return f"budget: wanted more than 0 and at most {most}, got {rate} bytes a second"
        if rate is not None and self.is_by_file:
            return "budget: wanted a rate, or what the file says, got both"
        return None


class BudgetWord(msgspec.Struct, frozen=True, array_like=True):
    """What is signed of it."""

    site: Name
    to: Name
    number: Number
    bytes_per_s: float | None
    is_by_file: bool
    operator: Name


def budget_word(budget: SiteBudget) -> bytes:
    return msgspec.msgpack.encode(
        BudgetWord(
            budget.site,
            budget.to,
            budget.number,
            budget.bytes_per_s,
            budget.is_by_file,
            budget.operator,
        )
    )


def budget_in(word: bytes, proof: Proof | None = None) -> SiteBudget:
    """Raises ``msgspec.MsgspecError``."""
    said = msgspec.msgpack.decode(word, type=BudgetWord)
    return SiteBudget(
        said.site, said.to, said.number, said.bytes_per_s, said.is_by_file, said.operator, proof
    )
