"""Checks of what is peculiar to one kind of query: levels, and states that grow.

They touch what checkers touch. Open ``check_levels.py`` first.
"""
