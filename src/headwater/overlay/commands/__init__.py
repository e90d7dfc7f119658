"""Commands at a peer: given, flooded, received, reconciled, and the queries that are live by them.

Open ``commands`` first.

It may touch what ``overlay`` may, and of the rooms beside it ``links`` and ``ways``.
"""
