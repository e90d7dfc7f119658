"""Questions about the past: queries that end at once, answered from cubes where these have it.

Pure values, as all of ``plan``. ``ask`` is where to begin.
"""
