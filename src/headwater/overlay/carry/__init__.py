"""Summaries and states on their way up, acknowledgements on their way down.

Open ``carrier`` first, then ``time_space_list``, where summaries of one pane meet and become one.

It may touch what ``overlay`` may, and of the rooms beside it ``clocks``, ``commands``, ``links``
and ``ways``.
"""
