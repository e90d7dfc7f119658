"""The word by which a message says that something went beyond its share of an agent."""

OVER_LIMIT = "limit: "
"""What was ended for that says so with this word first."""
