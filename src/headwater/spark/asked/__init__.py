"""Panes that are asked, on Spark: what a question makes of a stream's rows. Open ``cube_job``.

It may touch what ``spark`` may, and of the rooms beside it ``jvm`` and ``root``.
"""
