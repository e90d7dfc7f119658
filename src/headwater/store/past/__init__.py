"""The past of a source, for queries that come late: which bytes, from which files, each once.

May touch the disk and the manifest, through the rooms beside it. Open ``past_input.py`` first.
"""
