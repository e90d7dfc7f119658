"""Batches at a site: one stream for each source, the site parts of all its queries on each batch.

Open ``site_host`` first, then ``source_stream`` and ``batch``.

It may touch what ``spark`` may, and of the rooms beside it ``cluster``, ``jvm``, ``lines``,
``rows`` and ``workers``.
"""
