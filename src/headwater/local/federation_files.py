"""What lies in a federation's directory."""

ROSTER_TEXT = "roster.toml"
"""The roster as people change it."""
ROSTER = "roster.signed"
"""And as agents and commands read it."""
