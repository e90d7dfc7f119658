"""Where everybody is: the own coordinate from round trips, and a table of all others'.

Open ``coordinates`` first.

It may touch what ``overlay`` may, and of the rooms beside it ``links`` and ``ways``.
"""
