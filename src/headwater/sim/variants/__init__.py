"""Other ways that the papers describe, to compare with; no product runs them.

It may touch what ``sim`` may, and of the rooms beside it ``world``.
"""
