"""Rows between Spark and Python: few through the driver, many as files.

Open ``collect`` first.
"""
