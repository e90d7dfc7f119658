"""What a simulation measures, for people and programs.

Open ``gauge`` first.
"""
