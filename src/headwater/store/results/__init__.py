"""Published answers as files that anything can read.

Open ``publication`` first.
"""
