"""Checks of what is peculiar to one kind of query: levels, states that grow, and sessions.

Open ``check_levels.py`` first.

It may touch what ``check`` may, and no room beside it.
"""
