"""Panes that are asked, on Spark: what a question makes of a stream's rows. Open ``cube_job``."""
