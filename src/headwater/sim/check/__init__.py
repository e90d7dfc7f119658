"""The rules that every simulated run is held to, and the truth that they are held against.

Open ``truth`` first, then ``checkers``.

It may touch what ``sim`` may, and of the rooms beside it ``faults``, ``records`` and ``world``.
"""
