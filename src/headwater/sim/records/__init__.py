"""Records in the simulator: numbered, so that counting twice leaves a mark.

Open ``bag`` first.

It may touch what ``sim`` may, and of the rooms beside it ``world``.
"""
