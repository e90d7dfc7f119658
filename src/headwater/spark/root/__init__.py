"""The root part of queries: rows of merged panes in, finished answers out.

Open ``root_part`` first.
"""
