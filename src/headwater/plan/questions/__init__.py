"""Questions about the past: queries that end at once, answered from cubes where these have it.

Pure values, as all of ``plan``. ``ask`` is where to begin.

It may touch what ``plan`` may, and of the rooms beside it ``altered``.
"""
