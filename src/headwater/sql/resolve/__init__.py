"""A SELECT with every name resolved, its window found and its groups told from its records: a tree.

Open ``resolve_select`` first.

It may touch what ``sql`` may, and of the rooms beside it ``read``, ``tree`` and ``types``.
"""
