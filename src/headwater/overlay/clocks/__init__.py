"""What time it is at a root, as its neighbours vote and its signatures prove.

Open ``clock_votes`` first.

It may touch what ``overlay`` may, and no room beside it.
"""
