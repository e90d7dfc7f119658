"""Queries that nobody thought of: the split gives what one Spark gives, or a small case is printed.

A case is a random query over random records, dealt to sites, batches and panes, and merged in a
random order. It is drawn from one number, so that it can be had again. Open ``case`` first, then
``draw``, which makes one, ``run``, which answers it both ways, and ``reduce``, which makes one that
fails as small as it can be.
"""
