"""Checks of what is peculiar to one kind of query: levels, states that grow, and sessions.

They touch what checkers touch. Open ``check_levels.py`` first.
"""
