"""Statements as people write them: CREATE SOURCE, CREATE STREAM, their options, and refusals that
point into the text.

Reads with sqlglot, decides nothing about what runs where. Open ``statements`` first; ``sql_text``
is the one door to sqlglot.

It may touch what ``sql`` may, and of the rooms beside it ``types``.
"""
