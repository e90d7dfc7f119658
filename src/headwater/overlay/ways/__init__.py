"""Which way leads on from a peer: its trees, signs of life of the roots, and the last resort.

Open ``router`` first, the one place that decides, then ``staged_policy``.

It may touch what ``overlay`` may, and of the rooms beside it ``clocks``, ``commands`` and
``links``.
"""
