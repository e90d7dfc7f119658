"""The tuning of early sending: every limit and threshold, with its reason."""

from __future__ import annotations

import msgspec

from headwater.errors import ConfigurationError


class EarlyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checked when made."""

    outbox_keys_max: int = 500_000
    """Keys of one pane that are followed one by one, at some 120 bytes each; beyond, the smallest
    are put aside. Also keys that are remembered from earlier panes."""
    partition: str = "error"
    pick: str = "gain"
    past_weight: float = 0.5
    """Of what was known in the mean with a new pane: the last three or four panes count."""
    past_panes: float = 2.0
    """How many panes of observation the past of a known key is worth."""
    new_panes: float = 0.15
    """The same for a key that was never seen, at half of the mean rate: most new keys are small."""
    silence_arrivals: float = 2.0
    """A key that was silent for s has a rate of at most this ÷ s."""
    gain_min: float = 0.02
    """Keys that must go are not sent below this: they probably would have to go again."""
    idle_gain_min: float = 0.3
    """Keys that need not go yet are sent into idle room from this on."""
    contest_panes: int = 4
    """Over so many panes two picks are compared."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not isinstance(value, str) and value <= 0:
                raise ConfigurationError(f"early sending: wanted {name} > 0, got {value}")
