"""``headwater demo``: a minute in the life of a federation, checked, and the logs that it reads.

Open ``demo`` first.

It may touch what ``local`` may, and of the rooms beside it ``trial``.
"""
