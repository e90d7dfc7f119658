"""Records in the simulator: numbered, so that counting twice leaves a mark.

Open ``bag`` first.
"""
