"""``headwater try``: a question about files that are there, through the whole way, to the end.

Open ``try_query`` first; ``one_spark`` is what it is compared with.

It may touch what ``local`` may, and of the rooms beside it ``look``.
"""
