"""A site's panes on disk: partial rows from Spark in, numbered updates out, exactly once.

Open ``cube`` first, then ``batch_commit`` and ``update_maker``.

It may touch what ``store`` may, and of the rooms beside it ``aside`` and ``input``.
"""
