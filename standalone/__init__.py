"""Spark's own standalone cluster on this machine, for the tests and the benchmarks of clusters."""
