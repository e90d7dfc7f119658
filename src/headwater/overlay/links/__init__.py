"""The neighbours of a peer: links kept, heartbeats exchanged, silence noticed.

Open ``neighbours`` first.

It may touch what ``overlay`` may, and of the rooms beside it ``coordinates`` and ``ways``.
"""
