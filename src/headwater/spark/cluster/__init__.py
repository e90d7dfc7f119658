"""Spark's own cluster under a site or a root: settings, what is refused before, whose failure it
is.

Open ``cluster`` first.

It may touch what ``spark`` may, and of the rooms beside it ``lines``.
"""
