"""Rewrites of what a stream asks, one function a file; ``compile`` has them in one tuple, in order.

Open ``split_aggregates`` first: what sites compute and the root finishes. ``divisible`` is no rule:
it says which trees several roots can share.

It may touch what ``sql`` may, and of the rooms beside it ``read``, ``tree`` and ``types``.
"""
