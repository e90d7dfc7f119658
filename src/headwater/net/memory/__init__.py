"""The wide area within one process: the same bytes with delays and cuts, or values handed over.

Open ``memory_network`` first.

It may touch what ``net`` may, and of the rooms beside it ``identity``, ``transport`` and
``values``.
"""
