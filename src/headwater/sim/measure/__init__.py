"""What a simulation measures, for people and programs.

Open ``gauge`` first.

It may touch what ``sim`` may, and of the rooms beside it ``check``, ``faults``, ``records`` and
``world``.
"""
