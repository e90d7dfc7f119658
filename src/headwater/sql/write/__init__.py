"""A tree as SQL again: for sites, for the root, for the reference, and for people.

Open ``write_site_sql`` first, then ``write_root_sql``; ``select_sql`` is what they have in common.
``judge_groups`` finds groups that can't be finished.

It may touch what ``sql`` may, and of the rooms beside it ``read``, ``rules``, ``tree`` and
``types``.
"""
