"""The root part of queries: rows of merged panes in, finished answers out.

Open ``root_part`` first.

It may touch what ``spark`` may, and of the rooms beside it ``jvm``, ``rows`` and ``site``.
"""
