"""Shedding at simulated sites: what lies aside on a disk, and who reads it. Open
``aside_spark``."""
