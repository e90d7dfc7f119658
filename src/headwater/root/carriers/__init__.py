"""Checking carriers from behind: digests compared, contradictions disputed, pieces replaced, alarms
kept.

Open ``disputes`` first, then ``agreements``.

It may touch what ``root`` may, and no room beside it.
"""
