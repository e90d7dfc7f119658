"""Lines and files into typed records, in the JVM: the same for sites, the reference and tests.

SQL texts over frames; no Python code runs for a record. Open ``parse`` first, then ``fields``.

It may touch what ``spark`` may, and of the rooms beside it ``workers``.
"""
