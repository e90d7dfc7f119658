"""Queries of a batch in one Spark job: one statement, and what becomes of its rows.

Open ``joint_sql`` first, then ``strands`` and ``joint_run``.

It may touch what ``site`` may, and no room beside it.
"""
