"""The past of a source, for queries that come late: which bytes, from which files, each once.

Open ``past_input.py`` first.

It may touch what ``store`` may, and of the rooms beside it ``follow``, ``input`` and ``recognise``.
"""
